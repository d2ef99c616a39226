"""Layers of a page on the pixels of a grid."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.report.gridded import gridded_layers

pd = pytest.importorskip("pandas")
pytest.importorskip("rasterio")
pytest.importorskip("pyproj")


def test_a_map_of_one_day_has_kilometres_too():
    """Time is no reason to draw degrees as lengths; a date and its days are one map."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"lon": rng.uniform(10, 13, 60), "lat": rng.uniform(45, 48, 60)})
    table["date"] = pd.date_range("2024-03-01", periods=60)
    model = SpatialRegressor(Matern(100.0), noise_variance=0.1, tune=None).fit(table, np.sin(table["lon"]))
    day, date = (gridded_layers(model, None, {"date": when}, resolution="50km") for when in (31, "2024-04-01"))
    assert_allclose(day.km_per_unit, (111.2 * np.cos(np.radians(46.5)), 111.2), rtol=0.02)
    assert_allclose(day.mean_eta, date.mean_eta)
