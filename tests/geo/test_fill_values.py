"""Arrays that were opened without decoding: their fill values are no values."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.geo.stacks import Stack


@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
@pytest.mark.parametrize("dtype", ["f4", "i2"])
def test_fill_values_are_gaps(name, dtype):
    xr = pytest.importorskip("xarray")
    values = np.arange(12).reshape(3, 4).astype(dtype)
    values[1, 2] = -999
    image = xr.DataArray(values, {"y": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0, 3.0]}, ("y", "x"), attrs={name: -999})
    stack = Stack.of(image)
    assert np.flatnonzero(np.isnan(stack.images)).tolist() == [6]
    assert name not in stack.array.attrs and image.attrs == {name: -999}  # decoded, and what was given is as it was
