"""Opening: anything that can be read in parts, as a source; one line for each kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bochner import spelling
from bochner.exceptions import InputError
from bochner.formats import PARTS
from bochner.sources import cube_source, limits, parquet_source, raster_source
from bochner.sources.array_source import ArraySource
from bochner.sources.base import Source
from bochner.sources.batch_source import REFUSED, Batches
from bochner.sources.csv_source import CsvSource
from bochner.sources.cube_source import CubeSource
from bochner.sources.dask_source import DaskSource
from bochner.sources.parquet_source import ParquetSource
from bochner.sources.raster_source import RasterSource

Opener = Callable[[list[Path], str, int], Source]

ENDINGS: dict[str, Opener] = {}


def register_source(opener: Opener, *endings: str) -> None:
    """Let files of some endings be read in parts: `opener(paths, label, part_rows)` gives their source."""
    for ending in endings:
        ENDINGS[ending] = opener
        spelling.learn(PARTS, ending)


register_source(ParquetSource, *parquet_source.ENDINGS)
register_source(lambda paths, label, rows: CsvSource(paths, label, _text_bytes(rows)), ".csv")
register_source(lambda paths, label, rows: CubeSource(str(_only(paths)), label, rows), *cube_source.ENDINGS)
register_source(lambda paths, label, rows: RasterSource(_only(paths), rows), *raster_source.ENDINGS)


def _text_bytes(rows: int) -> int:
    """Bytes of a text that hold about so many rows; no fewer than its head."""
    return max(limits.CSV_BYTES * rows // limits.PART_ROWS, limits.CSV_HEAD)


def is_source(data: Any) -> bool:
    """Whether data are read in parts, and are no table or array in memory."""
    if isinstance(data, (Source, str, os.PathLike)) or isinstance(data, Iterator) or callable(data):
        return True
    if _kind(data).startswith(("dask.", "dask_expr.", "xarray.")):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(_is_path_or_batch(one) for one in data)


def open_source(data: Any, y: Any = None, part_rows: int = limits.PART_ROWS, *, drop_bad: bool = False) -> Source:
    """Source of a path, a folder, a list of files, a Dask or xarray object, arrays, or batches with a restart.

    Parameters
    ----------
    data : anything that can be read in parts, and again
        Parquet, CSV, NetCDF, Zarr or GeoTIFF files, folders of the first two, memmaps, xarray and Dask objects, a
        function that begins an iterable of record batches, a list of such batches.
    y : array, optional
        Response of the rows of an array.
    part_rows : int
        Rows to be read at once.
    drop_bad : bool
        Leave out rows that are amiss (text for a number, more positives than trials); otherwise they are refused.
    """
    if isinstance(data, Source):
        return data
    source = _source_of(data, y, part_rows)
    source.drop_bad = drop_bad
    return source


def _source_of(data: Any, y: Any, part_rows: int) -> Source:
    if isinstance(data, (str, os.PathLike)):
        return _opened(_files(Path(data)), str(data), part_rows)
    if isinstance(data, Iterator):
        raise InputError(REFUSED)
    if callable(data):
        return Batches(data)
    kind = _kind(data)
    if kind.startswith(("dask.", "dask_expr.")):
        return DaskSource(_dask_frame(data, y))
    if kind.startswith("xarray."):
        cube = data if hasattr(data, "data_vars") else data.to_dataset(name=data.name or "value")
        return CubeSource(cube, "the xarray object", part_rows)
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return _opened([path for one in data for path in _files(Path(one))], f"{len(data)} files", part_rows)
    if isinstance(data, (list, tuple)):
        return Batches(data)
    if isinstance(data, np.ndarray):
        return ArraySource.of_matrix(data, y, part_rows=part_rows)
    if hasattr(data, "columns"):
        arrays = {str(name): np.asarray(data[name]) for name in data.columns}
        return ArraySource(arrays | ({} if y is None else {"y": np.asarray(y)}), "the table", part_rows)
    raise InputError(
        f"a {type(data).__name__} cannot be read in chunks; give a file, a folder, a memmap, an xarray or Dask object, "
        f"or a function that begins record batches."
    )


def _opened(paths: list[Path], label: str, part_rows: int) -> Source:
    return ENDINGS[paths[0].suffix.lower()](paths, label, part_rows)


def _files(path: Path) -> list[Path]:
    """Files of a path: itself, or all of one kind in a folder and below, sorted."""
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the file.")
    if path.suffix.lower() in ENDINGS and (path.is_file() or path.suffix.lower() == ".zarr"):
        return [path]
    if path.is_file():
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {', '.join(ENDINGS)}, or a folder of them.")
    found = sorted(
        one
        for one in path.rglob("*")
        if one.is_file() and one.suffix.lower() in ENDINGS and not one.name.startswith(("_", "."))
    )
    kinds = sorted({one.suffix.lower() for one in found})
    if not found:
        raise InputError(f"the folder {path} has no file that ends in {', '.join(ENDINGS)}; check its name.")
    if len(kinds) > 1:
        raise InputError(f"the folder {path} holds files that end in {kinds}; needed is one kind. Name one by one.")
    return found


def _only(paths: Sequence[Path]) -> Path:
    if len(paths) > 1:
        raise InputError(f"{len(paths)} files were given, {paths[0].name} first; of rasters and cubes, give one.")
    return paths[0]


def _dask_frame(data: Any, y: Any) -> Any:
    if hasattr(data, "to_delayed") and hasattr(data, "columns"):
        return data if y is None else data.assign(y=y)
    if getattr(data, "ndim", 0) == 2:
        arrays: Any = import_module("dask.array")
        frames: Any = import_module("dask.dataframe")
        columns = [f"x{j}" for j in range(data.shape[1])]
        if y is not None:
            data, columns = arrays.concatenate([data, y[:, None]], axis=1), [*columns, "y"]
        return frames.from_dask_array(data.rechunk({1: -1}), columns=columns)
    raise InputError(f"a {type(data).__name__} of Dask has no rows and columns; give a data frame or a matrix.")


def _kind(data: Any) -> str:
    return f"{type(data).__module__}."


def _is_path_or_batch(one: Any) -> bool:
    return isinstance(one, os.PathLike) or (hasattr(one, "schema") and hasattr(one, "column"))
