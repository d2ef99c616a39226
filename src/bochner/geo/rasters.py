"""Rasters: GeoTIFF files as grids, and their values at the pixels of another grid or at places."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import BochnerError, CheckWarning, InputError, MissingExtraError, warn
from bochner.geo import limits
from bochner.geo.crs import as_crs, crs_text, is_geographic, transform
from bochner.geo.cube_bands import is_cube_file, opened_band
from bochner.geo.grids import RasterGrid, Window, unwrapped
from bochner.geo.missing_codes import told_of_code

RESAMPLING = ("bilinear", "nearest", "cubic", "average", "sum", "mode", "classes")
# Stands for the plane of the user where neither raster nor grid has a CRS; nothing is re-projected then.
_PLANE = "EPSG:3857"

Raster = str | os.PathLike[str] | Any


def dataset_grid(dataset: Any) -> RasterGrid:
    """The grid of an open rasterio dataset; one without georeference is refused."""
    if dataset.transform.is_identity and dataset.crs is None:
        raise InputError(
            f"{Path(dataset.name).name} has no georeference (no CRS, and its pixels count from 0); add one, for "
            f"example with: gdal_edit.py -a_srs EPSG:4326 -a_ullr LEFT TOP RIGHT BOTTOM FILE"
        )
    return RasterGrid(tuple(dataset.transform)[:6], dataset.height, dataset.width, dataset.crs)


def sample_raster(
    raster: Raster, grid: RasterGrid, window: Window | None = None, *, band: int = 1, resampling: str | None = None
) -> FloatArray:
    """Values of a raster at the pixels of a grid, or of a window of it, (rows, columns); NaN where it has none.

    The raster is re-projected and resampled: `bilinear` by default, `nearest` if it holds integers. `classes` are the
    codes of the nearest pixels, also of a raster with a colour table, which is refused otherwise: its codes are no
    amounts. An open rasterio dataset may be given for its file.
    """
    part = grid if window is None else grid.part(window)
    with opened_raster(raster) as dataset:
        method = _method(dataset, band, resampling)
        values = _warped(dataset, part, band, method)
        for turn in _other_turns(part, dataset):
            moved = _moved(part, turn)
            values = np.where(np.isnan(values), _warped(dataset, moved, band, method), values)
        return values if method == "classes" else _unpacked(dataset, band, values)


def raster_at(
    raster: Raster, coords: ArrayLike, crs: Any = None, *, band: int = 1, resampling: str | None = None
) -> FloatArray:
    """Values of a raster at places (n, 2) of a CRS, (n,); NaN where it has none.

    `bilinear` by default (next to a gap, of the pixels that have a value), `nearest` if the raster holds integers,
    `classes` for the codes of one with a colour table, as in `sample_raster`.
    """
    places = as_coords(coords, 2)
    with opened_raster(raster) as dataset:
        method = _method(dataset, band, resampling, ("bilinear", "nearest", "classes"))
        own = as_crs(dataset.crs)
        if own is not None and crs is not None:
            places = transform(places, crs, own)
        if is_geographic(own):
            places = np.column_stack([unwrapped(places[:, 0], dataset.bounds.left), places[:, 1]])
        row, col = _pixels(dataset, places)
        values = _interpolated(dataset, band, row, col, method != "bilinear")
        if method == "classes":
            return values
        values = _unpacked(dataset, band, values)
        _warn_of_code(dataset, values)
        return values


def _warn_of_code(dataset: Any, values: FloatArray) -> None:
    """Warn where a raster holds a code for missing values that it does not declare."""
    mend = "declare it as the nodata value of the file, e.g. gdal_edit.py -a_nodata."
    told = told_of_code(f"the raster {Path(dataset.name).name}", values, mend, "places")
    if told is not None:
        warn(told, CheckWarning)


@contextmanager
def opened_raster(raster: Raster) -> Iterator[Any]:
    """An open rasterio dataset of a GeoTIFF or of a variable of a cube; one that is open is passed on, and stays so."""
    if not isinstance(raster, (str, os.PathLike)):
        yield raster
        return
    rasterio, path = _rasterio(), Path(raster)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    if is_cube_file(path):
        with opened_band(raster, rasterio) as dataset:
            yield dataset
        return
    try:
        with warnings.catch_warnings():  # a raster without georeference is an error of ours, where it matters
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            dataset = rasterio.open(path)
    except rasterio.errors.RasterioIOError as error:
        raise InputError(f"{path} cannot be read as a raster ({str(error).splitlines()[0]}); check the file.") from None
    with dataset:
        yield dataset


def band_names(dataset: Any) -> list[str]:
    """Descriptions of the bands; band1, band2, ... where there is none or it would be taken twice."""
    names: list[str] = []
    for number, text in enumerate(dataset.descriptions, start=1):
        name = (text or "").strip()
        names.append(name if name and name not in {"x", "y", *names} else f"band{number}")
    return names


def read_band(dataset: Any, band: int, window: Window | None = None) -> FloatArray:
    """A band of an open dataset as float64, unpacked by its scale and offset, NaN where it has no value."""
    return _unpacked(dataset, band, _read(dataset, band, window or (0, dataset.height, 0, dataset.width)))


def read_codes(dataset: Any, band: int) -> FloatArray:
    """A band of an open dataset as it is stored: of classes, their codes; NaN where it has no value."""
    return _read(dataset, band, (0, dataset.height, 0, dataset.width))


def has_colours(dataset: Any, band: int = 1) -> bool:
    """Whether a band of an open dataset holds codes of a colour table: classes, and no amounts."""
    return bool(dataset.colorinterp[band - 1].name == "palette")


def holds_classes(raster: Raster, band: int = 1) -> bool:
    """Whether a band of a raster has a colour table."""
    with opened_raster(raster) as dataset:
        return has_colours(dataset, band)


def categories(codes: FloatArray) -> Any:
    """Codes of classes as a pandas categorical, missing where there is none."""
    import pandas as pd

    known = np.unique(codes[np.isfinite(codes)]).astype(np.int64)
    return pd.Categorical.from_codes(np.where(np.isfinite(codes), np.searchsorted(known, codes), -1), known.tolist())


def _read(dataset: Any, band: int, window: Window) -> FloatArray:
    row0, row1, col0, col1 = window
    with _read_of(dataset):
        values = dataset.read(band, window=((row0, row1), (col0, col1)), masked=True)
    if np.iscomplexobj(values):
        raise InputError(f"{Path(dataset.name).name} holds complex numbers; needed are real ones.")
    return np.ma.filled(values.astype(np.float64), np.nan)


def _unpacked(dataset: Any, band: int, values: FloatArray) -> FloatArray:
    """Values by the scale and the offset of a band; codes of a colour table are refused, as they are no amounts."""
    if has_colours(dataset, band):
        raise InputError(
            f"{Path(dataset.name).name} holds classes (band {band} has a colour table), and amounts are needed here; "
            f"give it for a covariate that is a category, or make a raster of 0 and 1 for each class."
        )
    scale, offset = dataset.scales[band - 1], dataset.offsets[band - 1]
    return values if scale == 1 and offset == 0 else values * scale + offset


def _warped(dataset: Any, part: RasterGrid, band: int, method: str) -> FloatArray:
    from affine import Affine
    from rasterio import band as band_of
    from rasterio.enums import Resampling
    from rasterio.warp import reproject

    own, wanted = dataset.crs, crs_text(part.crs)
    if (own is None) != (wanted is None):
        which = f"{Path(dataset.name).name} has" if own is None else "the grid has"
        raise InputError(f"{which} no CRS, so raster and grid cannot be laid over each other; add it to the file.")
    nodata = dataset.nodatavals[band - 1]
    floating = np.issubdtype(np.dtype(dataset.dtypes[band - 1]), np.floating)
    values = np.full(part.shape, np.nan)
    with _read_of(dataset):
        reproject(
            band_of(dataset, band),
            values,
            src_crs=own or _PLANE,
            src_nodata=np.nan if nodata is None and floating else nodata,
            dst_transform=Affine(*part.transform),
            dst_crs=wanted or _PLANE,
            dst_nodata=np.nan,
            resampling=Resampling["nearest" if method == "classes" else method],
        )
    return values


@contextmanager
def _read_of(dataset: Any) -> Iterator[None]:
    """Errors of GDAL while it reads or re-projects, as one of ours."""
    rasterio = _rasterio()
    try:
        yield
    except (rasterio.errors.RasterioError, rasterio._err.CPLE_BaseError, ValueError, MemoryError) as error:
        if isinstance(error, BochnerError):
            raise
        raise InputError(
            f"{Path(dataset.name).name} cannot be read, or not brought to the places asked for "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}); check the file and its CRS."
        ) from None


def _method(dataset: Any, band: int, asked: str | None, known: tuple[str, ...] = RESAMPLING) -> str:
    if not 1 <= band <= dataset.count:
        raise InputError(f"{Path(dataset.name).name} has {dataset.count} band(s); there is no band {band}.")
    if asked is not None and asked not in known:
        raise InputError(f"resampling is {asked!r}; needed is one of {', '.join(known)}.")
    packed = dataset.scales[band - 1] != 1
    whole = np.issubdtype(np.dtype(dataset.dtypes[band - 1]), np.integer) and not packed
    return asked or ("nearest" if whole else "bilinear")


def _other_turns(part: RasterGrid, dataset: Any) -> list[float]:
    """Whole turns of longitude after which the grid meets the raster again: 190 E is 170 W."""
    if not is_geographic(part.crs) or not is_geographic(as_crs(dataset.crs)):
        return []
    left, _, right, _ = part.bounds
    return [
        turn for turn in (-360.0, 360.0) if left + turn < dataset.bounds.right and right + turn > dataset.bounds.left
    ]


def _moved(part: RasterGrid, turn: float) -> RasterGrid:
    a, b, c, d, e, f = part.transform
    return RasterGrid((a, b, c + turn, d, e, f), part.height, part.width, part.crs)


def _pixels(dataset: Any, places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Row and column of places, whole numbers at the centres of pixels."""
    a, b, c, d, e, f = tuple(dataset.transform)[:6]
    col, row = np.linalg.solve(np.array([[a, b], [d, e]]), (places - (c, f)).T)
    return row - 0.5, col - 0.5


def _interpolated(dataset: Any, band: int, row: FloatArray, col: FloatArray, nearest: bool) -> FloatArray:
    values = np.full(len(row), np.nan)
    inside = (row >= -0.5) & (row <= dataset.height - 0.5) & (col >= -0.5) & (col <= dataset.width - 0.5)
    step = max(1, limits.MAX_RASTER_PIXELS // dataset.width)
    for top in range(0, dataset.height, step):
        here = np.flatnonzero(inside & (np.floor(row + 0.5).clip(0, dataset.height - 1) // step == top // step))
        if len(here):
            values[here] = _interpolated_block(dataset, band, row[here], col[here], nearest)
    return values


def _interpolated_block(dataset: Any, band: int, row: FloatArray, col: FloatArray, nearest: bool) -> FloatArray:
    row0, col0 = max(0, int(np.floor(row.min()))), max(0, int(np.floor(col.min())))
    row1, col1 = min(dataset.height, int(row.max()) + 2), min(dataset.width, int(col.max()) + 2)
    block = _read(dataset, band, (row0, row1, col0, col1))
    # beyond the outermost centres the edge goes on as it is
    r, c = (row - row0).clip(0, len(block) - 1), (col - col0).clip(0, block.shape[1] - 1)
    if nearest:
        return block[_near(r, len(block)), _near(c, block.shape[1])]
    total, share = np.zeros(len(r)), np.zeros(len(r))
    for i, part_r in ((np.floor(r).astype(int), 1 - r % 1), (np.ceil(r).astype(int), r % 1)):
        for j, part_c in ((np.floor(c).astype(int), 1 - c % 1), (np.ceil(c).astype(int), c % 1)):
            value, weight = block[i, j], part_r * part_c * np.isfinite(block[i, j])
            total, share = total + np.where(weight > 0, value, 0) * weight, share + weight
    # a place inside a gap stays without value, though a corner of it may have one
    own = np.isfinite(block[_near(r, len(block)), _near(c, block.shape[1])])
    return np.divide(total, share, out=np.full(len(r), np.nan), where=own & (share > 0))


def _near(position: FloatArray, size: int) -> Any:
    return np.floor(position + 0.5).astype(int).clip(0, size - 1)


def _rasterio() -> Any:
    try:
        import rasterio
        import rasterio._err
        import rasterio.errors
    except ImportError as error:
        raise MissingExtraError(
            "reading rasters needs rasterio; install it with: pip install 'bochner[geo]'"
        ) from error
    return rasterio
