"""Rasters go into the page and come back."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.report.raster import pack, unpack


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (40, 33)])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1e6, 1e-3), (5e-9, 6e-9)])
def test_round_trip_within_half_a_step(shape, low, high):
    raster = np.random.default_rng(0).uniform(low, high, size=shape)
    packed = pack(raster)
    # 65,534 steps, half a step of rounding and that of the numbers themselves
    assert_allclose(unpack(packed, shape), raster, rtol=1e-12, atol=0.5001 * packed["step"])
    assert packed["step"] <= (high - low) / 65_534 or np.ptp(raster) == 0


def test_blank_pixels_stay_blank():
    raster = np.add.outer(np.arange(20.0), np.arange(30.0))
    raster[3:9, 4:20] = np.nan
    assert_array_equal(np.isnan(unpack(pack(raster), raster.shape)), np.isnan(raster))


def test_a_constant_comes_back_exactly():
    assert_array_equal(unpack(pack(np.full((3, 4), 7.25)), (3, 4)), np.full((3, 4), 7.25))


def test_smooth_rasters_are_small():
    x = np.linspace(0, 6, 300)
    raster = np.sin(np.add.outer(x, 2 * x))
    assert len(base64.b64decode(pack(raster)["data"])) < 0.75 * 2 * raster.size
