"""Maps on grids: windows of bands one by one, files, and xarray Datasets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, MissingExtraError
from bochner.geo import RasterGrid, Resolution, Window
from bochner.geo.stacks import is_cube, is_lazy
from bochner.maps import limits
from bochner.maps.files.cf import (
    GRID_MAPPING,
    axis_attributes,
    band_attributes,
    check_upright,
    file_attributes,
    mapping_attributes,
)
from bochner.maps.files.provenance import provenance
from bochner.maps.files.window_notes import forget_windows, windows_of
from bochner.maps.files.writers import writer_for
from bochner.maps.grids.bands import Band
from bochner.maps.grids.estimate import MapEstimate, estimate
from bochner.maps.grids.extent import make_grid
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.tally import Tally
from bochner.maps.lazy_maps import chunks_of, lazy_bands
from bochner.maps.mappable import Mappable
from bochner.outputs import completed, told_as_output

Progress = Callable[[int, int], None]
"""Called with the pixels done and their total, after every window."""


@dataclass(frozen=True)
class MapReport:
    """What `map_to_file` did.

    Attributes
    ----------
    path : Path
    grid : RasterGrid
    bands : tuple of str
    tally : Tally
        Pixels by what became of them, and the error of interpolation.
    seconds : float
    """

    path: Path
    grid: RasterGrid
    bands: tuple[str, ...]
    tally: Tally
    seconds: float

    @property
    def pixels_per_second(self) -> float:
        return self.grid.n_pixels / max(self.seconds, 1e-9)

    def __str__(self) -> str:
        tally = self.tally
        parts = [f"{self.path.name}: {self.grid.width:,} x {self.grid.height:,} pixels, bands {', '.join(self.bands)}"]
        if tally.n_outside:
            parts.append(f"{tally.n_outside:,} outside the polygons")
        if tally.n_missing:
            parts.append(f"{tally.n_missing:,} without a covariate left empty")
        if tally.n_observed:
            parts.append(f"{tally.n_observed:,} keep their observed value")
        return "; ".join(parts) + f". {tally.describe()[:1].upper()}{tally.describe()[1:]}"


def predict_on_grid(model: Mappable, grid: RasterGrid, **options: Any) -> Iterator[tuple[Window, FloatArray]]:
    """Bands of a map, window by window, in bounded memory.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted.
    grid : RasterGrid
        Pixels, in any CRS that leads to the model's.
    covariates : mapping of str to raster, number or array, optional
        Every column of the model beside easting and northing. Rasters are resampled to the grid; where one has no
        value the map has none.
    within : GeoDataFrame or path, optional
        Polygons; pixels whose centre lies outside stay empty.
    exceed, quantiles : float or sequence of float
        Thresholds and probabilities; a band for each.
    include_noise : bool
        Make sd, quantiles and exceedance those of a new observation, not of the surface.
    trials, exposure, offset : number, array or raster, optional
        As in `SpatialRegressor.predict`.
    observed : raster or array on the grid, optional
        Where it has a value, the map keeps it (with sd 0), so that only its gaps are filled.
    tolerance : float or None, default 1e-3
        Where the surface is smooth, pixels are interpolated from fewer evaluations of the model, to within this many
        standard deviations (checked tile by tile); None evaluates the model at every pixel.
    memory_limit : int or str, optional
        Bytes that a window may take, e.g. ``"200MB"``; default 400 MiB.

    Yields
    ------
    window : (row0, row1, col0, col1)
    bands : array of shape (k, height, width)
        Mean, sd, exceedances, quantiles; NaN where there is no prediction.
    """
    return GridMap(model, grid, **options).windows()


def map_to_file(
    model: Mappable,
    grid: RasterGrid,
    output: str | os.PathLike[str],
    *,
    dtype: str = "float32",
    progress: Progress | None = None,
    resume: bool = False,
    dask: Any = None,
    **options: Any,
) -> MapReport:
    """Write a map to GeoTIFF (.tif, a valid COG), NetCDF (.nc) or Zarr (.zarr), window by window.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    model, grid, options
        As of `predict_on_grid`.
    output : path
        Its ending chooses the format.
    dtype : str, default "float32"
        ``"float32"`` or ``"float64"``.
    progress : callable, optional
        Called with pixels done and their total after every window.
    resume : bool, default False
        Whether to go on from the windows that an earlier run, which was killed, has left beside the output.
    dask : str or distributed.Client, optional
        Where windows are computed: ``"local"``, the address of a scheduler, or a client; default: here.
    """
    path = Path(output)
    kind = writer_for(path)
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype={dtype!r}; needed is 'float32' or 'float64'.")
    work = GridMap(model, grid, **options)
    begin, done = time.perf_counter(), 0
    with completed(path) as partial:
        with told_as_output(path):
            writer = kind(partial, grid, work.bands, dtype)
        try:
            for window, values in windows_of(work, options, path, resume=resume, dask=dask):
                with told_as_output(path):
                    writer.write(window, values)
                done += values[0].size
                if progress is not None:
                    progress(done, grid.n_pixels)
            said = {**provenance(work.fitted), "computation": work.tally.describe()}
            with told_as_output(path):
                writer.close(said)
        except BaseException:
            with suppress(Exception):  # of a library that cannot close what it cannot write; the first error is told
                writer.abandon()
            raise
    forget_windows(path)
    names = tuple(band.name for band in work.bands)
    return MapReport(path, grid, names, work.tally, time.perf_counter() - begin)


def estimate_map(model: Mappable, grid: RasterGrid, **options: Any) -> MapEstimate:
    """Memory and time that a map will take, from a trial on a few small windows of it.

    Parameters are those of `predict_on_grid`.
    """
    return estimate(GridMap(model, grid, **options))


def predict_grid(
    model: Mappable,
    resolution: str | float | Resolution | None = None,
    *,
    like: Any = None,
    within: Any = None,
    bounds: Sequence[float] | None = None,
    **options: Any,
) -> Any:
    """Map as an xarray Dataset in memory, with CRS and provenance.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted.
    resolution, like, within, bounds
        Where: a side of a pixel (``"5km"``, ``"0.05deg"``, a number in units of the model's CRS), a template raster,
        polygons, a box. By default 200 pixels along the longer side of the data.
    options
        Further options of `predict_on_grid`: `covariates`, `exceed`, `quantiles`, `include_noise`, ...

    Returns
    -------
    xarray.Dataset
        Variables ``mean``, ``sd``, ``exceedance_T``, ``qP`` over ``y`` and ``x``, or over the dimensions of `like`; the
        CRS in ``spatial_ref``. Where Dask computes `like`, it computes the map, in the same chunks.
    """
    grid = make_grid(model, resolution, like=like, within=within, bounds=bounds)
    check_upright(grid)
    if is_cube(like) and is_lazy(like):
        lazy_work, lazy = lazy_bands(model, grid, chunks_of(like), {"within": within, **options})
        return as_dataset(grid, lazy_work.bands, lazy, provenance(lazy_work.fitted))
    if grid.n_pixels > limits.MAX_DATASET_PIXELS:
        raise InputError(
            f"the grid has {grid.n_pixels:,} pixels, more than the {limits.MAX_DATASET_PIXELS:,} that are held in "
            f"memory; take a coarser resolution, or write a file with map_to_file or `bochner map`."
        )
    work = GridMap(model, grid, within=within, **options)
    bands = work.whole()
    return as_dataset(grid, work.bands, bands, {**provenance(work.fitted), "computation": work.tally.describe()})


def as_dataset(grid: RasterGrid, bands: Sequence[Band], values: Any, attributes: dict[str, str]) -> Any:
    """Bands (k, height, width) as an xarray Dataset that rioxarray understands."""
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError("a Dataset needs xarray; install it with: pip install 'bochner[grid]'") from error
    axes, (x, y) = axis_attributes(grid), grid.names
    coords = {
        y: (y, grid.y, axes[y]),
        x: (x, grid.x, axes[x]),
        GRID_MAPPING: ((), 0, mapping_attributes(grid)),
    }
    variables = {band.name: ((y, x), layer) for band, layer in zip(bands, values, strict=True)}
    dataset = xarray.Dataset(variables, coords, file_attributes(attributes, "Map of a spatial model"))
    dataset = dataset.transpose(*grid.dims)
    for band in bands:
        described = band_attributes(band)
        # where rioxarray and to_netcdf look for it
        dataset[band.name].encoding["grid_mapping"] = described.pop("grid_mapping")
        dataset[band.name].attrs.update(described)
    return dataset
