"""The contract of a writer: a map into one format of file, window by window."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bochner.arrays import FloatArray
from bochner.exceptions import MissingExtraError
from bochner.geo import RasterGrid, Window
from bochner.maps.grids.bands import Band


class Writer(ABC):
    """A map on its way into a file: windows in any order, then `close` with what is to be said of them.

    Parameters
    ----------
    path : Path
        File to write, in a folder of its own: anything beside it is thrown away.
    grid : RasterGrid
    bands : sequence of Band
    dtype : str
        ``"float32"`` or ``"float64"``.
    """

    @abstractmethod
    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None: ...

    @abstractmethod
    def write(self, window: Window, values: FloatArray) -> None:
        """Write bands (k, height, width)."""

    @abstractmethod
    def close(self, attributes: Mapping[str, str]) -> None:
        """Write the attributes, and finish the file."""

    def abandon(self) -> None:
        """Close what is open; the file is not finished."""
        return None

    @classmethod
    def may_replace(cls, folder: Path) -> bool:
        """Whether a folder is a map of this format, which a new one may take the place of."""
        return False


def module(name: str, what: str, extra: str) -> Any:
    """A library that a format needs, or an error that names the extra to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"writing {what} needs {name}, which is not installed; pip install 'bochner[{extra}]'."
        ) from error
