"""Arrays that Dask computes give maps that Dask computes: the same numbers, when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.maps.grids.gridmap import GridMap

xarray = pytest.importorskip("xarray")
arrays = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def images() -> Any:
    """Three images of 15 x 21 pixels with gaps, latitude falling."""
    rng = np.random.default_rng(0)
    time, lat, lon = np.arange(3.0), np.linspace(3, 0, 15), np.linspace(0, 4, 21)
    t, y, x = np.meshgrid(time, lat, lon, indexing="ij")
    values = np.sin(x) + np.cos(y) + 0.2 * t + 0.05 * rng.normal(size=x.shape)
    values[rng.uniform(size=x.shape) < 0.4] = np.nan
    values[1, :6, :8] = 1.0  # a chunk without a gap
    coords = {"time": time, "lat": lat, "lon": lon}
    return xarray.DataArray(values, coords, ("time", "lat", "lon"), "temp", {"units": "K"})


@pytest.fixture(scope="module")
def model(images: Any) -> SpatialRegressor:
    table = images.to_dataframe().reset_index().dropna()
    kernel = Matern(nu=1.5, length_scale=[150.0, 150.0, 2.0])
    model = SpatialRegressor(kernel, noise_variance=0.01, tune=None, features="lattice", n_frequencies=80)
    return model.fit(table[["lon", "lat", "time"]], table["temp"])


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Windows of maps that were computed."""
    calls: list[Any] = []
    compute = GridMap.compute
    monkeypatch.setattr(GridMap, "compute", lambda self, window: calls.append(window) or compute(self, window))
    return calls


@pytest.mark.parametrize("chunks", [{"time": 1, "lat": 6, "lon": 8}, {"time": 2, "lat": 1, "lon": 21}])
def test_a_lazy_stack_is_filled_when_it_is_asked_for(
    chunks: dict[str, int], images: Any, model: SpatialRegressor, computed: list[Any]
) -> None:
    lazy, spread = model.fill(images.chunk(chunks), return_std=True)
    assert not computed and isinstance(lazy.data, arrays.Array)
    assert lazy.chunksizes == images.chunk(chunks).chunksizes
    whole, sd = model.fill(images, return_std=True)
    np.testing.assert_allclose(lazy.values, whole.values, rtol=1e-9)
    np.testing.assert_allclose(spread.values, sd.values, rtol=1e-9)
    assert lazy.dims == whole.dims and lazy.attrs == whole.attrs and spread.name == sd.name == "temp_sd"
    computed.clear()
    lazy.isel(time=0, lat=slice(0, 1), lon=slice(0, 5)).compute()
    assert len(computed) <= 2  # only the chunk that was asked for


def test_a_lazy_dataset_comes_back_as_one(images: Any, model: SpatialRegressor) -> None:
    given = images.transpose("lon", "time", "lat").to_dataset().chunk({"lon": 11})
    lazy = model.fill(given)
    whole = model.fill(given.compute())
    assert isinstance(lazy["temp_sd"].data, arrays.Array)
    xarray.testing.assert_allclose(lazy.compute(), whole, rtol=1e-9)


def test_a_map_like_a_lazy_array_is_lazy(images: Any, model: SpatialRegressor, computed: list[Any]) -> None:
    template, options = images.isel(time=0, drop=True), {"covariates": {"time": 1.0}, "exceed": 1.0, "tolerance": None}
    lazy = model.predict_grid(like=template.chunk({"lat": 7, "lon": 21}), **options)
    assert not computed and isinstance(lazy["mean"].data, arrays.Array)
    whole = model.predict_grid(like=template, **options)
    for name in ("mean", "sd", "exceedance_1"):
        np.testing.assert_allclose(lazy[name].values, whole[name].values, rtol=1e-9)
        assert lazy[name].dims == whole[name].dims and lazy[name].attrs == whole[name].attrs


def test_what_is_missing_is_told_at_once(images: Any, model: SpatialRegressor) -> None:
    with pytest.raises(InputError, match="'time'"):
        model.predict_grid(like=images.isel(time=0, drop=True).chunk({"lat": 10}))
    with pytest.raises(InputError, match="'time'"):
        model.fill(images.isel(time=0, drop=True).chunk({"lat": 10}))
