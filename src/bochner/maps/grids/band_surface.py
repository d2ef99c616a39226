"""BandSurface: the bands of a map as a smooth function of the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.maps.grids.bands import Band, band_values
from bochner.maps.grids.inputs import Known
from bochner.maps.grids.pixels import Pixels


@dataclass(frozen=True)
class BandSurface:
    """The bands of a map, at places where all inputs are constants.

    Parameters
    ----------
    pixels : Pixels
    bands : sequence of Band
        Mean and sd first.
    known : mapping of str to float
        Value of every column beside the coordinates; offset, trials or exposure, if there are any.
    tolerance : float
        Error that is allowed, in standard deviations (of a probability: in itself).
    """

    pixels: Pixels
    bands: Sequence[Band]
    known: Known
    tolerance: float

    @property
    def n_values(self) -> int:
        """Values of a place: one for each band."""
        return len(self.bands)

    def values(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Bands, the sd squared, (n, k): a variance is smoother than its root."""
        coords = self.pixels.coords(rows, cols)
        out = np.full((len(coords), self.n_values), np.nan)
        valid = np.isfinite(coords).all(axis=1)
        if valid.any():
            out[valid] = band_values(self.bands, self.pixels.law(coords[valid], self.known))
            out[:, 1] **= 2
        return out

    def errors(self, guess: FloatArray, true: FloatArray) -> FloatArray:
        """Largest error of the bands of each place, in units of the tolerance."""
        return band_errors(self.bands, _with_sd(guess), _with_sd(true)) / self.tolerance

    def to_bands(self, values: FloatArray, known: Known) -> FloatArray:
        """The same values, in place: what is known was the same everywhere."""
        values[1] = np.sqrt(np.maximum(values[1], 0))
        for band, layer in zip(self.bands, values, strict=True):
            if band.is_probability:
                np.clip(layer, 0, 1, out=layer)
        return values


def band_errors(bands: Sequence[Band], guess: FloatArray, true: FloatArray) -> FloatArray:
    """Largest error of the bands (n, k) of each place: in standard deviations, of probabilities in themselves."""
    unit = np.column_stack([np.ones(len(true)) if band.is_probability else true[:, 1] for band in bands])
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.abs(guess - true) / unit).max(axis=1)


def _with_sd(values: FloatArray) -> FloatArray:
    out = values.copy()
    out[:, 1] = np.sqrt(np.maximum(out[:, 1], 0))
    return out
