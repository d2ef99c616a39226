"""The contract of a surface: what is interpolated between pixels, and how the bands of a map follow from it."""

from __future__ import annotations

from typing import Protocol

from bochner.arrays import FloatArray
from bochner.maps.grids.inputs import Known


class Surface(Protocol):
    """Some smooth values of every place, from which the bands of a map can be had.

    Attributes
    ----------
    n_values : int
        Values of a place, k.
    """

    @property
    def n_values(self) -> int: ...

    def values(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Values (n, k) at places, whole at the centres of pixels; NaN where there are none."""

    def errors(self, guess: FloatArray, true: FloatArray) -> FloatArray:
        """Error (n,) of interpolated values (n, k), in units of what is tolerated."""

    def to_bands(self, values: FloatArray, known: Known) -> FloatArray:
        """Bands (bands, n) from interpolated values (k, n) and what is known at each of the n pixels."""
