"""Cost of a fit: about how long it takes on one core and how much memory, from what is known before it."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.estimators import limits


@dataclass(frozen=True)
class FitCost:
    """Seconds of one core, and bytes beyond what the process holds."""

    seconds: float
    memory_bytes: int


def fit_cost(
    n_rows: int, dim: int, n_trend: int, *, gaussian: bool, learns: bool, searches: bool = True, n_wanted: int = 0
) -> FitCost:
    """What a fit of rows in memory will take, as `benchmarks/fit_estimates.py` and the zoo measured others."""
    few = min(n_rows, limits.FEW_TIMED_ROWS) / limits.FEW_TIMED_ROWS
    seconds = limits.FEW_SECONDS * few**2
    more = max(n_rows - limits.FEW_TIMED_ROWS, 0) / 1e4
    if more:
        rate = limits.GAUSSIAN_SECONDS if gaussian else limits.OTHER_SECONDS + limits.TREND_SECONDS * n_trend
        wide = limits.WIDE_FACTOR if dim > 2 else 1.0
        # beyond some ten thousand rows tuning is by a sample of them, and the rest is linear at a lower rate
        seconds += wide * rate * (min(more, 3.0) + max(more - 3.0, 0.0) * limits.LATER_SHARE)
    return FitCost(seconds if learns else seconds * limits.SOLVED_SHARE, _bytes(n_rows))


def _bytes(n_rows: int) -> int:
    return int(110 * n_rows**2 if n_rows <= 3000 else 3e8 + 1000 * n_rows)
