"""How many frequencies: measured against the kernel, before any data is seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import as_finite, positive
from bochner.exceptions import InputError
from bochner.frequencies import limits
from bochner.frequencies.base import Frequencies, Rule
from bochner.kernels import Kernel, total_variance
from bochner.random import generator


class MeasuredError(NamedTuple):
    """Error of the covariance relative to the variance: root mean square and largest."""

    rms: float
    maximum: float


class NumberChosen(NamedTuple):
    """A number of frequencies, its measured RMS error relative to the variance, and why it was taken."""

    n_frequencies: int
    error: float
    reason: str


def measure_error(
    frequencies: Frequencies, kernel: Kernel, extent: ArrayLike, seed: int = 0, n_lags: int = 2000
) -> MeasuredError:
    """Error of the covariance at lags between random places of a box.

    Parameters
    ----------
    frequencies : Frequencies
        Waves to be judged.
    kernel : Kernel
        Shift-invariant kernel that they stand for.
    extent : float or array of shape (dim,)
        Sides of the box, in the unit of the coordinates.
    seed : int
        Seed of the places.
    n_lags : int
        Number of pairs of places; the cost is n_lags cosines per frequency.
    """
    sides = as_finite(extent, "extent")
    if sides.shape not in ((), (1,), (frequencies.dim,)) or (sides < 0).any():
        raise InputError(
            f"extent is {extent!r}; needed is a side >= 0 of the box for each of the {frequencies.dim} coordinates."
        )
    start, end = generator(seed, "lags").random((2, n_lags, frequencies.dim))
    lag = (end - start) * sides
    relative = (frequencies.lag_covariance(lag) - kernel.lag_covariance(lag)) / total_variance(kernel)
    with np.errstate(over="ignore"):  # an infinite error is one, too
        return MeasuredError(float(np.sqrt(np.mean(relative**2))), float(np.max(np.abs(relative))))


def choose_number(
    rule: Rule, kernel: Kernel, dim: int, extent: ArrayLike, tolerance: float, seed: int = 0, maximum: int = 4096
) -> NumberChosen:
    """Smallest power of two of frequencies whose measured error meets the tolerance.

    Frequencies are drawn by `generator(seed, "frequencies")`: a model that draws its own the
    same way has the error that is reported. If no number up to `maximum` meets the
    tolerance, `maximum` is returned, and the reason says so.
    """
    positive(tolerance, "tolerance")
    error = np.inf
    for n in _candidates(maximum):
        frequencies = rule.draw(kernel, n, dim, generator(seed, "frequencies"))
        error = measure_error(frequencies, kernel, extent, seed).rms
        if error <= tolerance:
            return NumberChosen(n, error, _met(n, error, tolerance, maximum))
    return NumberChosen(maximum, error, _missed(maximum, error, tolerance))


def _candidates(maximum: int) -> list[int]:
    powers = [2**j for j in range(limits.FEWEST_WAVES.bit_length() - 1, max(1, maximum).bit_length()) if 2**j < maximum]
    return [*powers, maximum]


def _met(n: int, error: float, tolerance: float, maximum: int) -> str:
    which = (
        "the most allowed"
        if n == maximum
        else "the fewest tried"
        if n == limits.FEWEST_WAVES
        else "the smallest power of two"
    )
    return (
        f"{n} frequencies, {which}: the RMS error of the covariance is {error:.1e} of the variance, "
        f"within the tolerance of {tolerance:.1e}"
    )


def _missed(maximum: int, error: float, tolerance: float) -> str:
    return (
        f"{maximum} frequencies, the most allowed: the RMS error of the covariance is {error:.1e} of the variance, "
        f"above the tolerance of {tolerance:.1e}; allow more, raise the tolerance, or use features='exact'"
    )
