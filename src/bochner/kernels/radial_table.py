"""Tables of functions of the squared distance q: polynomials on eight pieces of every octave.

On a piece [a, 9/8 a] a correlation is analytic, whatever it does at q = 0, so that a polynomial of degree seven
has an error of some 1e-12; the piece is read off the first bits of q. No root, no exponential and no Bessel
function is left in a loop, and every smooth function costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import limits
from bochner.kernels.radial_form import Profile

PIECE_BITS = 3  # of the mantissa that, with the exponent, number the pieces: eight per octave
N_POWERS = 8  # coefficients of a polynomial


@dataclass(frozen=True)
class RadialTable:
    """Value, slope (decay / q) and shape slopes of a function of q.

    Attributes
    ----------
    coefficients : (n_pieces, n_functions, 8)
        Of powers of u in [-1, 1], rising. The first piece stands for all smaller q, where the function is one, the
        last for all larger q, where it is what it was at the end.
    first : int
        Number, by its first bits, of the first piece.
    error : float
        Largest difference found at a place between the nodes of each piece; slopes count by what they change.
    """

    coefficients: FloatArray
    first: int
    error: float


def radial_table(function: Profile, lowest: float | None = None, highest: float | None = None) -> RadialTable:
    """Table of a function; for q between two numbers, where it is needed once, else for all q, kept for later."""
    if lowest is None or highest is None:
        return _whole_table(function)
    octaves = np.clip(np.log2([lowest, highest]), limits.FIRST_OCTAVE, limits.LAST_OCTAVE)
    return _table(function, int(np.floor(octaves[0])), int(np.floor(octaves[1])) + 1)


@lru_cache(maxsize=64)
def _whole_table(function: Profile) -> RadialTable:
    return _table(function, limits.FIRST_OCTAVE, limits.LAST_OCTAVE)


def _table(function: Profile, low: int, high: int) -> RadialTable:
    """Pieces of the octaves 2^low ... 2^high, with one below them and one above."""
    n = 2**PIECE_BITS
    octave = np.repeat(np.arange(low, high), n)
    start = 1 + np.tile(np.arange(n) / n, high - low)
    u, to_powers = _nodes()
    places = np.append(u, _BETWEEN)
    # the last entry of each piece is no node: it tells the error
    q = (2.0**octave * start)[:, None] * (1 + (places + 1) / (2 * n * start[:, None]))
    value, decay, *slopes = function.profile(np.sqrt(q).ravel())
    samples = np.stack([value.reshape(q.shape), decay.reshape(q.shape) / q, *(s.reshape(q.shape) for s in slopes)])
    coefficients = samples[:, :, :N_POWERS] @ to_powers  # (functions, pieces, 8)
    off = coefficients @ _BETWEEN ** np.arange(N_POWERS) - samples[:, :, -1]
    off[1] *= q[:, -1]
    below, above = np.zeros((2, len(samples), 1, N_POWERS))
    below[0, 0, 0] = 1.0
    above[:, 0, 0] = samples[:, -1, N_POWERS - 1]
    pieces = np.concatenate([below, coefficients, above], axis=1).transpose(1, 0, 2)
    first = ((low + 1023) << PIECE_BITS) - 1
    return RadialTable(np.ascontiguousarray(pieces), first, float(np.max(np.abs(off), initial=0.0)))


_BETWEEN = 0.31  # between two nodes of every piece


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Chebyshev nodes in [-1, 1], and the matrix from values there to coefficients of powers."""
    u = np.sort(np.cos(np.pi * (np.arange(N_POWERS) + 0.5) / N_POWERS))
    return u, np.linalg.inv(np.vander(u, increasing=True)).T
