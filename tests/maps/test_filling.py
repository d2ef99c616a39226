"""Filling gaps: raster in, raster out, on the same pixels."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.geo import RasterGrid, grid_like, read_places
from bochner.kernels import Matern
from bochner.maps import map_to_file
from tests.maps.surveys import write_raster

rasterio = pytest.importorskip("rasterio")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A satellite image with a cloud, in UTM, and the truth beneath."""
    grid = RasterGrid((250.0, 0.0, 501_125.5, 0.0, -250.0, 4_649_750.25), 40, 50, "EPSG:32633")
    x, y = (grid.centres() - [501_125.5, 4_649_750.25]).T / 1000
    truth = (290 + 4 * np.sin(x / 2) + 3 * np.cos(y / 2)).reshape(grid.shape)
    cloudy = truth.copy()
    cloudy[12:24, 18:33] = np.nan
    return write_raster(tmp_path_factory.mktemp("image") / "image.tif", grid, cloudy), cloudy, truth


@pytest.fixture(scope="module")
def model(image):
    places = read_places(image[0])
    target = next(name for name in places.names if name not in places.coords)
    places = places.complete([target])
    table = places.numbers([*places.coords, target])
    model = SpatialRegressor(Matern(3000.0, nu=2.5), noise_variance=1e-4, tune=None, coords=list(places.coords))
    return model.fit(table, table[target])


@pytest.mark.parametrize("keep", [True, False], ids=["gaps only", "every pixel"])
def test_gaps_are_filled_on_the_same_pixels(image, model, keep, tmp_path):
    """The output has the georeference of the input, no gaps, and the truth in them within a few sd."""
    path, cloudy, truth = image
    options = {"observed": path} if keep else {}
    report = map_to_file(model, grid_like(path), tmp_path / "filled.tif", dtype="float64", **options)
    with rasterio.open(path) as before, rasterio.open(tmp_path / "filled.tif") as after:
        assert before.transform == after.transform
        assert before.crs == after.crs and before.shape == after.shape and before.bounds == after.bounds
        mean, sd = after.read()
    gap = np.isnan(cloudy)
    assert np.isfinite(mean).all()
    assert np.abs(mean - truth)[gap].max() < 1.0
    if keep:
        assert (mean[~gap] == cloudy[~gap]).all() and (sd[~gap] == 0).all()
        assert report.tally.n_observed == (~gap).sum() and report.tally.n_predicted == gap.sum()
        assert "keep their observed value" in str(report)
    else:
        assert np.abs(mean - truth)[~gap].max() < 0.1 and (sd > 0).all()


def test_observed_pixels_have_certain_bands(image, model):
    """Exceedance of an observed value is 0 or 1, its quantiles are itself."""
    from bochner.maps import predict_on_grid

    path, cloudy, _ = image
    ((_, bands),) = predict_on_grid(model, grid_like(path), observed=path, exceed=290.0, quantiles=0.9)
    kept = np.isfinite(cloudy)
    assert set(np.unique(bands[2][kept])) == {0.0, 1.0}
    assert (bands[2][kept] == (cloudy[kept] > 290)).all()
    assert (bands[3][kept] == cloudy[kept]).all()
    assert ((bands[2][~kept] >= 0) & (bands[2][~kept] <= 1)).all()
