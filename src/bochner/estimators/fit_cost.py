"""Cost of a fit: about how long it takes on one core and how much memory, from what is known before it."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.estimators import limits


@dataclass(frozen=True)
class FitCost:
    """Seconds of one core, and bytes beyond what the process holds."""

    seconds: float
    memory_bytes: int


def fit_cost(n_rows: int, dim: int, n_trend: int, *, gaussian: bool, learns: bool, searches: bool = True) -> FitCost:
    """What a fit of rows in memory will take, as `benchmarks/fit_estimates.py` and `benchmarks/zoo.py` measured others.

    Parameters
    ----------
    n_rows, dim, n_trend : int
        Rows, coordinates and fixed effects.
    gaussian, learns : bool
        Whether the response is Gaussian, and whether hyperparameters are learned.
    searches : bool
        Whether the kernel is the library's choice: several are learned then.
    """
    exact = n_rows <= limits.EXACTLY_TIMED_ROWS
    seconds = _exactly(n_rows, gaussian) if exact else _by_neighbours(n_rows, dim, n_trend, gaussian)
    if not searches:
        seconds *= limits.ONE_KERNEL_SHARE if exact else limits.ONE_OF_MANY_SHARE
    return FitCost(seconds if learns else seconds * limits.SOLVED_SHARE, _bytes(n_rows))


def _exactly(n_rows: int, gaussian: bool) -> float:
    """Seconds of climbs on the exact evidence."""
    share = (n_rows / limits.EXACTLY_TIMED_ROWS) ** limits.EXACT_POWER
    return limits.EXACT_SECONDS * share if gaussian else limits.LAPLACE_SECONDS + limits.OTHER_EXACT_SECONDS * share


def _by_neighbours(n_rows: int, dim: int, n_trend: int, gaussian: bool) -> float:
    """Seconds of climbs on a likelihood of neighbours, and of waves for what is beyond a dense kernel."""
    more = max(n_rows - limits.FEW_TIMED_ROWS, 0) / 1e4
    rate = limits.GAUSSIAN_SECONDS if gaussian else limits.OTHER_SECONDS + limits.TREND_SECONDS * n_trend
    wide = limits.WIDE_FACTOR if dim > 2 else 1.0
    # beyond some ten thousand rows tuning is by a sample of them, and the rest is linear at a lower rate
    later = min(more, 3.0) + max(more - 3.0, 0.0) * limits.LATER_SHARE
    return wide * (limits.FEW_SECONDS + rate * later)


def _bytes(n_rows: int) -> int:
    if n_rows <= limits.FEW_TIMED_ROWS:
        return int(limits.PROGRAM_BYTES + limits.DENSE_BYTES * n_rows**2)
    return int(limits.WAVES_BYTES + limits.WAVES_ROW_BYTES * n_rows)
