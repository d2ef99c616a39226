"""Inputs of a map: covariates, offset, trials and exposure, each a number, an array or a raster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import BochnerWarning, InputError, warn
from bochner.geo import RasterGrid, Window, sample_raster
from bochner.geo.cube_bands import named_band

SIZES = ("trials", "exposure")

Input = float | FloatArray | str | os.PathLike[str] | Any
Known = Mapping[str, Any]
"""Covariates, further coordinates, offset, trials and exposure by name: one number for all places, or one for each."""


@dataclass(frozen=True)
class Inputs:
    """What is known at every pixel of a grid, beside its place.

    Attributes
    ----------
    grid : RasterGrid
    fixed : mapping of str to float
        Inputs that are the same everywhere; of a category, one of its levels.
    layers : mapping of str to array or raster
        Inputs that differ from pixel to pixel.
    levels : mapping of str to sequence
        Classes that the model knows, of inputs whose layers hold classes and no amounts.
    """

    grid: RasterGrid
    fixed: Mapping[str, Any]
    layers: Mapping[str, Any]
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, grid: RasterGrid, given: Mapping[str, Input], levels: Mapping[str, Sequence[Any]] | None = None
    ) -> Inputs:
        fixed: dict[str, Any] = {}
        layers: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, (str, os.PathLike)) and str(value) in (levels or {}).get(name, ()):
                fixed[name] = str(value)
            elif isinstance(value, (str, os.PathLike)):
                layers[name] = existing_raster(name, Path(value), (levels or {}).get(name))
            elif np.ndim(value) == 0:
                fixed[name] = _number(name, value)
            else:
                layers[name] = _layer(name, value, grid)
        return cls(grid, fixed, layers, levels or {})

    def read(self, window: Window) -> dict[str, FloatArray]:
        """Layers in a window, (height, width) each; NaN where one has no value."""
        return {name: self._layer(name, layer, window) for name, layer in self.layers.items()}

    @property
    def has_classes(self) -> bool:
        """Whether a class differs from pixel to pixel: between two of them nothing can be interpolated."""
        return any(name in self.levels for name in self.layers)

    def _layer(self, name: str, layer: Any, window: Window) -> FloatArray:
        row0, row1, col0, col1 = window
        if isinstance(layer, np.ndarray):
            values: FloatArray = layer[row0:row1, col0:col1]
        else:
            values = sample_raster(layer, self.grid, window, resampling="classes" if name in self.levels else None)
        return self._known(name, values) if name in self.levels else values

    def _known(self, name: str, codes: FloatArray) -> FloatArray:
        """Codes of classes, NaN for those of which the model knows nothing."""
        codes_known = [float(level) for level in self.levels[name] if _is_code(level)]
        strange = np.isfinite(codes) & ~np.isin(codes, codes_known)
        if strange.any():
            warn(
                f"{name!r} has classes on the map that no training row has ({_listed(np.unique(codes[strange]))}): "
                f"their pixels are left empty. Merge them with classes that were seen, or give rows of them.",
                BochnerWarning,
            )
        return np.where(strange, np.nan, codes)


def _is_code(level: Any) -> bool:
    return not isinstance(level, str) or level.isdecimal()


def _listed(codes: FloatArray, most: int = 8) -> str:
    shown = ", ".join(f"{code:g}" for code in codes[:most])
    return shown if len(codes) <= most else f"{shown} and {len(codes) - most} more"


def offset_of(known: Known) -> FloatArray | float:
    """The offset out of what is known at some places; 0 if it is not."""
    return known.get("offset", 0.0)


def size_of(known: Known, n: int) -> FloatArray | None:
    """Trials or exposure of n places, whichever is known; None if neither is."""
    size = next((known[name] for name in SIZES if name in known), None)
    return None if size is None else np.broadcast_to(np.asarray(size, dtype=np.float64), (n,))


def existing_raster(name: str, path: Path, levels: Sequence[Any] | None) -> str | os.PathLike[str]:
    """A file of an input, which may name a band; one that is not there is refused by what the input could be."""
    if not path.exists() and levels is not None:
        raise InputError(f"{name!r} is {str(path)!r}, neither one of its levels, {list(levels)}, nor a raster.")
    if not path.exists():
        raise InputError(f"the raster of {name!r}, {path}, does not exist; check the name of the file.")
    return named_band(path, name)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}; needed is a number, an array or a raster.") from None
    if not np.isfinite(number):
        raise InputError(f"{name} is {number}; needed is a finite number.")
    return number


def _layer(name: str, value: Any, grid: RasterGrid) -> FloatArray:
    layer = np.squeeze(np.asarray(value, dtype=np.float64))
    if layer.shape != grid.shape:
        raise InputError(
            f"the array of {name!r} has shape {np.shape(value)}; needed is that of the grid, {grid.shape}."
        )
    return layer
