"""Cosines and sines of many phases, compiled: NumPy and the C library take them one by one, and ten times as long.

A phase comes in turns. Whole turns and the nearest quarter are taken off, which is exact, and on the eighth of a turn
that is left on either side Taylor's series has an error below rounding.
"""

# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from bochner.neighbours.compiled_loops import compiled

TURN = 2 * math.pi
S3, S5, S7, S9, S11, S13, S15 = ((-1) ** k / math.factorial(2 * k + 1) for k in range(1, 8))
C2, C4, C6, C8, C10, C12, C14, C16 = ((-1) ** k / math.factorial(2 * k) for k in range(1, 9))


@compiled
def waves(turns, amplitude, out):
    """Amplitude (m,) times cosine and times sine of phases in turns (n, m), side by side into out (n, 2 m)."""
    m = turns.shape[1]
    for i in range(len(turns)):
        phase, cosines, sines = turns[i], out[i, :m], out[i, m:]
        for j in range(m):
            left = phase[j] - np.rint(phase[j])
            quarter = np.rint(4.0 * left)
            x = TURN * (left - 0.25 * quarter)
            q = x * x
            sine = x + x * q * (S3 + q * (S5 + q * (S7 + q * (S9 + q * (S11 + q * (S13 + q * S15))))))
            cosine = 1.0 + q * (C2 + q * (C4 + q * (C6 + q * (C8 + q * (C10 + q * (C12 + q * (C14 + q * C16)))))))
            # whether a quarter is odd, and the signs by quarter: two tuples in one line would not be vectors
            odd = abs(quarter) == 1.0
            along = sine if odd else cosine
            across = cosine if odd else sine
            down = -1.0 if abs(quarter) == 2.0 else 1.0
            a = down * amplitude[j]
            cosines[j] = -a * along if quarter == 1.0 else a * along
            sines[j] = -a * across if quarter == -1.0 else a * across
