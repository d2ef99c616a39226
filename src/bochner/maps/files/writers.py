"""Writers by the ending of a file: a new format is one file with a `Writer`, and one call of `register_writer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from bochner import spelling
from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.formats import MAPS
from bochner.geo import RasterGrid
from bochner.maps.files.base import Writer
from bochner.maps.files.geotiff import GeoTiffWriter
from bochner.maps.files.netcdf import NetCdfWriter
from bochner.maps.files.zarr_store import ZarrWriter
from bochner.maps.grids.bands import Band
from bochner.outputs import completed, told_as_output

Place = Callable[[Path], AbstractContextManager[Path]]
WRITERS: dict[str, type[Writer]] = {}
"""Writers by the ending of a file, in lower case."""


def register_writer(writer: type[Writer], *suffixes: str) -> None:
    """Let maps be written to files of these endings, ``".tif"`` say; the last writer of an ending is taken."""
    for suffix in suffixes:
        if not suffix.startswith(".") or len(suffix) < 2:
            raise InputError(f"suffix={suffix!r}; needed is the ending of a file with its point, e.g. '.tif'.")
        WRITERS[suffix.lower()] = writer
        spelling.learn(MAPS, suffix.lower())


register_writer(GeoTiffWriter, ".tif", ".tiff")
register_writer(NetCdfWriter, ".nc", ".nc4")
register_writer(ZarrWriter, ".zarr")


def write_whole(
    path: Path, grid: RasterGrid, bands: Sequence[Band], values: FloatArray, attributes: Mapping[str, str],
    dtype: str = "float32", into: Place = completed,
) -> None:  # fmt: skip
    """Write bands (k, height, width) that are all at hand, into the place that `into` gives for a path."""
    kind = writer_for(path)
    with into(path) as partial, told_as_output(path):
        writer = kind(partial, grid, bands, dtype)
        try:
            writer.write(grid.whole, values)
            writer.close(attributes)
        except BaseException:
            with suppress(Exception):
                writer.abandon()
            raise


def writer_for(path: Path) -> type[Writer]:
    """Writer of a file, by its ending; refuses an unknown ending, a missing folder, a folder in the way."""
    kind = WRITERS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {', '.join(WRITERS)}.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the output {path.name} does not exist; make it first.")
    if path.is_dir() and not kind.may_replace(path):
        raise InputError(f"{path} is a folder and no map that could be replaced; give another name.")
    return kind
