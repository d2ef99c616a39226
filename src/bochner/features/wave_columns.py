"""Cosines and sines of many places at many frequencies, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features.limits import STRIPE_BYTES
from bochner.neighbours.compiled import wave_loops


def wave_columns(coords: FloatArray, omega: FloatArray, amplitude: FloatArray, dtype: Any = np.float64) -> FloatArray:
    """Amplitude (m,) times cos omega'x, and times sin omega'x, of places x (n, dim): (n, 2 m)."""
    m = len(amplitude)
    per_turn, out = omega.T / (2 * np.pi), np.empty((len(coords), 2 * m), dtype=dtype)
    loops, size = wave_loops(len(coords) * m), max(1, STRIPE_BYTES // (8 * max(m, 1)))
    for i in range(0, len(coords), size):
        # the phase grows with the coordinates: whole turns are removed in float64, before any rounding to float32
        turns, part = coords[i : i + size] @ per_turn, out[i : i + size]
        if loops is not None:
            loops.waves(turns, amplitude, part)
            continue
        turns -= np.rint(turns)
        turns *= 2 * np.pi
        phase = turns.astype(dtype, copy=False)
        for wave, columns in ((np.cos, part[:, :m]), (np.sin, part[:, m:])):
            wave(phase, out=columns)
            columns *= amplitude.astype(dtype, copy=False)
    return out
