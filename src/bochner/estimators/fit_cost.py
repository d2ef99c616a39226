"""Cost of a fit: about how long it takes on one core and how much memory, from what is known before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.estimators import limits
from bochner.families import Family


@dataclass(frozen=True)
class FitCost:
    """Seconds of one core, and bytes beyond what the process holds."""

    seconds: float
    memory_bytes: int


def fit_cost(n_rows: int, dim: int, n_trend: int, family: Family, *, learns: bool, searches: bool = True) -> FitCost:
    """What a fit of rows in memory will take, as `benchmarks/fit_estimates.py` and `benchmarks/zoo.py` measured others.

    Parameters
    ----------
    n_rows, dim, n_trend : int
        Rows, coordinates and fixed effects.
    family : Family
        Of the response.
    learns : bool
        Whether hyperparameters are learned.
    searches : bool
        Whether the kernel is the library's choice: several are learned then.
    """
    seconds = _seconds(n_rows, family) * (limits.WIDE_FACTOR if dim > 2 else 1.0)
    if not family.observes_eta and n_rows > limits.FEW_TIMED_ROWS:
        seconds += limits.TREND_SECONDS * n_trend * n_rows / 1e4
    if not searches:
        seconds *= limits.ONE_KERNEL_SHARE
    return FitCost(seconds if learns else seconds * limits.SOLVED_SHARE, _bytes(n_rows))


def _seconds(n_rows: int, family: Family) -> float:
    """Seconds of one core, between those measured, and in proportion to the rows beyond."""
    rows, seconds = np.array(_GAUSSIAN if family.observes_eta else _OTHERS).T
    found = float(np.exp(np.interp(np.log(n_rows), np.log(rows), np.log(seconds))))
    return found * max(n_rows / rows[-1], 1.0) * (limits.REWEIGHTED_FACTOR if family.reweighted else 1.0)


# rows, and seconds of one core that a fit took (`benchmarks/panel.py`, `benchmarks/fit_estimates.py`)
_GAUSSIAN = ((30, 0.8), (150, 1.6), (400, 2.5), (1_500, 4.0), (3_000, 4.5), (10_000, 7.0), (30_000, 13.0))
_OTHERS = ((60, 1.5), (150, 2.2), (400, 5.5), (800, 14.0), (1_500, 10.0), (4_000, 14.0), (30_000, 30.0))


def _bytes(n_rows: int) -> int:
    if n_rows <= limits.FEW_TIMED_ROWS:
        return int(limits.PROGRAM_BYTES + limits.DENSE_BYTES * n_rows**2)
    return int(limits.WAVES_BYTES + limits.WAVES_ROW_BYTES * n_rows)
