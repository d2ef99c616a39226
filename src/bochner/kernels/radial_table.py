"""Tables of functions of the squared distance q: polynomials on eight pieces of every octave.

On a piece [a, 9/8 a] a correlation is analytic, whatever it does at q = 0, so that a polynomial of degree seven
has an error of some 1e-12; the piece is read off the first bits of q. No root, no exponential and no Bessel
function is left in a loop, and every smooth function costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.polynomial import chebyshev

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
    """Table of a function; for q between two numbers, where it is needed once, else for all q, kept for later.

    One that is needed once is asked for at fewer places: a polynomial of degree 15 holds a whole octave of it to 1e-12,
    if it is smooth; else it is asked for as the others are.
    """
    if lowest is None or highest is None:
        return _whole_table(function)
    octaves = np.clip(np.log2([lowest, highest]), limits.FIRST_OCTAVE, limits.LAST_OCTAVE)
    low, high = int(np.floor(octaves[0])), int(np.floor(octaves[1])) + 1
    quick = _quick_table(function, low, high)
    return quick if quick.error <= limits.OCTAVE_ERROR else _table(function, low, high)


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
    samples = _samples(function, q)
    coefficients = samples[:, :, :N_POWERS] @ to_powers  # (functions, pieces, 8)
    off = coefficients @ _BETWEEN ** np.arange(N_POWERS) - samples[:, :, -1]
    return _joined(coefficients, samples[:, -1, N_POWERS - 1], low, off, q[:, -1])


def _quick_table(function: Profile, low: int, high: int) -> RadialTable:
    """The same, by polynomials of whole octaves."""
    u, to_powers, to_between = _octave_nodes()
    q = 2.0 ** np.arange(low, high)[:, None] * (1 + (np.append(u, _BETWEEN) + 1) / 2)
    samples = _samples(function, q)
    known = samples[:, :, :-1]
    coefficients = (known @ to_powers).reshape(len(samples), -1, N_POWERS)
    return _joined(coefficients, samples[:, -1, -2], low, known @ to_between - samples[:, :, -1], q[:, -1])


def _samples(function: Profile, q: FloatArray) -> FloatArray:
    """Value, slope and shape slopes at places q, (functions, ...)."""
    value, decay, *slopes = function.profile(np.sqrt(q).ravel())
    return np.stack([value.reshape(q.shape), decay.reshape(q.shape) / q, *(s.reshape(q.shape) for s in slopes)])


def _joined(coefficients: FloatArray, last: FloatArray, low: int, off: FloatArray, q: FloatArray) -> RadialTable:
    """Coefficients (functions, pieces, 8), with a piece below them and one above; `off`: errors found at places q."""
    off[1] *= q
    below, above = np.zeros((2, len(coefficients), 1, N_POWERS))
    below[0, 0, 0] = 1.0
    above[:, 0, 0] = last
    pieces = np.concatenate([below, coefficients, above], axis=1).transpose(1, 0, 2)
    first = ((low + 1023) << PIECE_BITS) - 1
    return RadialTable(np.ascontiguousarray(pieces), first, float(np.max(np.abs(off), initial=0.0)))


_BETWEEN = 0.31  # between two nodes of every piece


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Chebyshev nodes in [-1, 1], and the matrix from values there to coefficients of powers."""
    u = np.sort(np.cos(np.pi * (np.arange(N_POWERS) + 0.5) / N_POWERS))
    return u, np.linalg.inv(np.vander(u, increasing=True)).T


@cache
def _octave_nodes() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chebyshev nodes of an octave, in [-1, 1]; matrices from values there to the coefficients of its pieces, and to
    the value between.
    """
    m, n = limits.OCTAVE_NODES, 2**PIECE_BITS
    u = np.sort(np.cos(np.pi * (np.arange(m) + 0.5) / m))
    known = np.linalg.inv(chebyshev.chebvander(u, m - 1))
    inner, to_powers = _nodes()
    places = (2 * np.arange(n)[:, None] + 1 + inner) / n - 1  # nodes of the pieces, (n, 8)
    at_places = (chebyshev.chebvander(places, m - 1) @ known).transpose(2, 0, 1)  # (m, n, 8)
    between = chebyshev.chebvander(np.array([_BETWEEN]), m - 1) @ known
    return u, (at_places @ to_powers).reshape(m, -1), np.asarray(between[0])
