"""Simulated surveys, rasters and polygons that the tests of the maps share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.geo import RasterGrid
from bochner.kernels import Matern

GRID = RasterGrid((0.01, 0.0, 0.0, 0.0, -0.01, 1.0), 100, 100)


def survey(n: int = 80, seed: int = 0) -> pd.DataFrame:
    """Places in the unit square, an elevation, a smooth response and counts out of trials."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(2, n))
    frame = pd.DataFrame({"x": x, "y": y, "elevation": hills(x, y)})
    surface = np.sin(5 * x) + np.cos(4 * y) + frame["elevation"] / 400
    frame["response"] = surface + 0.1 * rng.standard_normal(n)
    frame["trials"] = rng.integers(10, 40, n)
    frame["positive"] = rng.binomial(frame["trials"], 1 / (1 + np.exp(1.5 - surface)))
    return frame


def hills(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Elevation in metres, rough between pixels."""
    return 300 + 150 * np.sin(9 * x) * np.sin(7 * y) + 60 * np.sin(50 * x + 31 * y)


def hills_on(grid: RasterGrid) -> np.ndarray:
    """Elevation at the pixels of a grid."""
    return hills(*grid.centres().T).reshape(grid.shape)


@cache
def gaussian(nu: float = 1.5) -> SpatialRegressor:
    """An exact Gaussian model without covariates."""
    data = survey()
    model = SpatialRegressor(Matern(0.4, nu=nu), noise_variance=0.01, tune=None, coords=["x", "y"])
    return model.fit(data, data["response"])


@cache
def with_elevation() -> SpatialRegressor:
    """The same with a covariate."""
    data = survey()
    model = SpatialRegressor(
        Matern(0.4), noise_variance=0.01, tune=None, coords=["x", "y"], covariates=["elevation"]
    )  # fmt: skip
    return model.fit(data, data["response"])


@cache
def averaged() -> SpatialRegressor:
    """A model averaged over hyperparameters, with a covariate."""
    data = survey(40)
    return SpatialRegressor(Matern(0.4), coords=["x", "y"], covariates=["elevation"]).fit(data, data["response"])


@cache
def prevalence() -> SpatialRegressor:
    """A binomial model with a covariate."""
    data = survey()
    model = SpatialRegressor(
        Matern(0.4), family="binomial", noise_variance=0.05, tune=None, coords=["x", "y"], covariates=["elevation"]
    )  # fmt: skip
    return model.fit(data, data["positive"], trials=data["trials"])


@cache
def waves() -> SpatialRegressor:
    """Waves of a lattice, which forget the rows."""
    data = survey(300)
    model = SpatialRegressor(
        Matern(0.5, nu=2.5), features="lattice", n_frequencies=80, noise_variance=0.01, tune=None, coords=["x", "y"]
    )
    return model.fit(data, data["response"])


def write_raster(path: Path, grid: RasterGrid, values: np.ndarray, nodata: float = -9999.0) -> Path:
    """A GeoTIFF with the values of a grid; NaN becomes nodata."""
    import rasterio
    from affine import Affine

    from bochner.geo import crs_text

    with rasterio.open(
        path, "w", driver="GTiff", height=grid.height, width=grid.width, count=1, dtype="float64",
        crs=crs_text(grid.crs), transform=Affine(*grid.transform), nodata=nodata,
    ) as file:  # fmt: skip
        file.write(np.where(np.isfinite(values), values, nodata), 1)
    return path
