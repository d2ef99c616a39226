"""Layers of the map: the predictive law on a grid of pixels, ready for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.diagnostics import Diagnostics, Region
from bochner.estimators import Fitted, SpatialRegressor
from bochner.exceptions import InputError
from bochner.features import Rows
from bochner.layout import Layout
from bochner.report import limits

Extent = tuple[float, float, float, float]


@dataclass(frozen=True)
class MapLayers:
    """Mean and sd of the linear predictor on a grid: all that a map of any threshold needs.

    Attributes
    ----------
    mean_eta, sd_eta : arrays of shape (rows, columns)
        From north to south and from west to east; NaN where the map is to be blank.
    extent : (west, south, east, north)
        Outer edges of the grid, in the coordinates of the map.
    crs : str, optional
        Coordinate reference system, as it is to be named.
    names : tuple of str
        Names of the coordinates that point east and north.
    km_per_unit : tuple of float, optional
        Kilometres in one unit of each, where that is known: scale bar and areas.
    note : str
        How the map was made, in a sentence for its reader.
    cover : array of shape (rows, columns), optional
        What of the map is shown, as a smooth field: its outline runs where this passes one half. Default: all pixels
        that are not blank.
    """

    mean_eta: FloatArray
    sd_eta: FloatArray
    extent: Extent
    crs: str | None = None
    names: tuple[str, str] = ("x", "y")
    km_per_unit: tuple[float, float] | None = None
    note: str = ""
    cover: FloatArray | None = None

    def __post_init__(self) -> None:
        mean, sd = (np.asarray(part, dtype=np.float64) for part in (self.mean_eta, self.sd_eta))
        if mean.ndim != 2 or mean.shape != sd.shape or not mean.size:
            raise InputError(f"mean_eta is {mean.shape} and sd_eta {sd.shape}; needed are two arrays (rows, columns).")
        known = np.isfinite(mean) & np.isfinite(sd)
        if not known.any():
            raise InputError("the map has no pixel with both a mean and an sd; check the extent and the mask.")
        west, south, east, north = self.extent
        if not (west < east and south < north):
            raise InputError(f"extent={self.extent}; needed is (west, south, east, north) with west < east.")
        object.__setattr__(self, "mean_eta", np.where(known, mean, np.nan))
        object.__setattr__(self, "sd_eta", np.where(known, np.maximum(sd, 0.0), np.nan))

    @property
    def shape(self) -> tuple[int, int]:
        return self.mean_eta.shape[0], self.mean_eta.shape[1]

    @property
    def known(self) -> np.ndarray:
        """Pixels that are shown."""
        known = np.isfinite(self.mean_eta)
        return known if self.cover is None else known & (self.cover >= 0.5)

    def centres(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates of the columns from west to east and of the rows from north to south."""
        return centres(self.extent, self.shape)

    def thinned(self, longest: int = limits.LONGEST_SIDE) -> MapLayers:
        """The same map with at most so many pixels along a side: single pixels are kept, laws are not averaged."""
        if max(self.shape) <= longest:
            return self
        shape = [max(1, round(n * longest / max(self.shape))) for n in self.shape]
        row, column = (((np.arange(k) + 0.5) * n / k).astype(int) for k, n in zip(shape, self.shape, strict=True))
        pick = np.ix_(row, column)
        cover = None if self.cover is None else self.cover[pick]
        return replace(self, mean_eta=self.mean_eta[pick], sd_eta=self.sd_eta[pick], cover=cover)


def predict_layers(model: SpatialRegressor, diagnostics: Diagnostics, n_pixels: int | None = None) -> MapLayers:
    """Map of a model over the region of its data, covariates at their means.

    Coordinates beyond the two of the map are held at their medians. Pixels far from data are left blank.
    """
    region, fitted = diagnostics.region, model.fitted_
    extent = map_extent(region)
    shape = _shape(region, n_pixels or affordable_pixels(fitted))
    x, y = centres(extent, shape)
    xx, yy = np.meshgrid(x, y)
    cover = region.nearness(xx.ravel(), yy.ravel())
    near = cover >= limits.FRINGE
    east, north = region.axes
    coords = np.tile(np.asarray(region.middle), (int(near.sum()), 1))
    coords[:, east], coords[:, north] = xx.ravel()[near], yy.ravel()[near]
    patches = fitted.model.mixture.patches(limits.MAP_TOLERANCE)
    eta = fitted.latent(rows_at(fitted, coords, diagnostics.covariate_means), patches=patches)
    layers = np.full((2, near.size), np.nan)
    layers[:, near] = eta.mean, eta.sd
    mean_eta, sd_eta = layers.reshape(2, *shape)
    return MapLayers(
        mean_eta,
        sd_eta,
        extent=extent,
        crs=region.crs,
        names=(region.names[east], region.names[north]),
        km_per_unit=region.km_per_unit,
        note=_note(region, diagnostics, fitted.layout),
        cover=cover.reshape(shape),
    )


def rows_at(fitted: Fitted, coords: FloatArray, covariates: Mapping[str, float]) -> Rows:
    """Rows at places (n, dim), as the user has them, with every covariate at one value."""
    values = np.array([covariates[name] for name in fitted.layout.columns.covariate_names])
    return fitted.layout.rows_at(coords, np.tile(values, (len(coords), 1)))


def affordable_pixels(fitted: Fitted) -> int:
    """Pixels whose law takes a second or two."""
    each = sum(component.cost.work for component in fitted.model.mixture.components)
    return int(np.clip(limits.MAX_MAP_WORK / max(each, 1.0), limits.MIN_PAGE_PIXELS, limits.MAX_PAGE_PIXELS))


def map_extent(region: Region) -> Extent:
    """Outer edges of the map of a region."""
    (west, south), (east, north) = (
        (corner[region.axes[0]], corner[region.axes[1]]) for corner in (region.low, region.high)
    )
    return west, south, east, north


def centres(extent: Extent, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Coordinates of the columns from west to east and of the rows from north to south."""
    west, south, east, north = extent
    n_rows, n_columns = shape
    x = west + (east - west) * (np.arange(n_columns) + 0.5) / n_columns
    return x, north - (north - south) * (np.arange(n_rows) + 0.5) / n_rows


def _shape(region: Region, n_pixels: int) -> tuple[int, int]:
    """Rows and columns of about n_pixels that are square on the ground."""
    west, south, east, north = map_extent(region)
    km = region.km_per_unit or (1.0, 1.0)
    width, height = (east - west) * km[0], (north - south) * km[1]
    side = np.sqrt(width * height / n_pixels)
    longest = int(np.sqrt(limits.MAX_PAGE_PIXELS)) * 2
    return tuple(int(np.clip(round(length / side), 1, longest)) for length in (height, width))  # type: ignore[return-value]


def _note(region: Region, diagnostics: Diagnostics, layout: Layout) -> str:
    parts = []
    if diagnostics.covariates:
        values = ", ".join(f"{name} = {s.mean:.4g}" for name, s in diagnostics.covariates.items())
        parts.append(
            f"No covariate rasters were given: the map is drawn with every covariate at its mean over the data "
            f"({values}), so it shows the spatial field and not the pattern of the covariates."
        )
    rest = [j for j in range(region.dim) if j not in region.axes]
    if rest:
        values = ", ".join(f"{region.names[j]} = {layout.written(region.names[j], region.middle[j])}" for j in rest)
        parts.append(f"It is a slice at {values}, the median of the data.")
    parts.append("Places far from data are left blank.")
    if region.crs is not None and len(region.crs) < 30:
        parts.append(f"Coordinates are in {region.crs}.")
    return " ".join(parts)
