"""Cost of a fit: about how long it takes on one core and how much memory, from what is known before it."""

from __future__ import annotations

from dataclasses import dataclass

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
    exact = n_rows <= limits.EXACTLY_TIMED_ROWS
    seconds = _exactly(n_rows, family) if exact else _by_neighbours(n_rows, dim, n_trend, family)
    if not searches:
        seconds *= _one_kernel_share(family, exact=exact)
    return FitCost(seconds if learns else seconds * limits.SOLVED_SHARE, _bytes(n_rows))


def _exactly(n_rows: int, family: Family) -> float:
    """Seconds of climbs on the exact evidence."""
    share = (n_rows / limits.EXACTLY_TIMED_ROWS) ** limits.EXACT_POWER
    if family.observes_eta:
        return limits.EXACT_SECONDS * share
    return (limits.REWEIGHTED_SECONDS if family.reweighted else limits.LAPLACE_SECONDS) * share


def _by_neighbours(n_rows: int, dim: int, n_trend: int, family: Family) -> float:
    """Seconds of climbs on a likelihood of neighbours, and of waves for what is beyond a dense kernel."""
    more = max(n_rows - limits.FEW_TIMED_ROWS, 0) / 1e4
    few, rate = limits.FEW_SECONDS, limits.GAUSSIAN_SECONDS
    if not family.observes_eta:
        few, rate = limits.OTHER_FEW_SECONDS, limits.OTHER_SECONDS + limits.TREND_SECONDS * n_trend
    wide = limits.WIDE_FACTOR if dim > 2 else 1.0
    # beyond some ten thousand rows tuning is by a sample of them, and the rest is linear at a lower rate
    later = min(more, 3.0) + max(more - 3.0, 0.0) * limits.LATER_SHARE
    return wide * _factor(family) * (few + rate * later)


def _factor(family: Family) -> float:
    """How much dearer than others a family other than the Gaussian is, of many rows."""
    if family.observes_eta:
        return 1.0
    if family.binary or family.reweighted:
        return limits.SIMPLE_SHARE
    return limits.DISPERSION_FACTOR if family.has_dispersion and family.dispersion is None else 1.0


def _one_kernel_share(family: Family, *, exact: bool) -> float:
    if exact:  # few counts or classes choose among kernels by a grid, which costs next to nothing
        return limits.ONE_KERNEL_SHARE if family.observes_eta or family.reweighted else 1.0
    return limits.ONE_OF_MANY_SHARE if family.observes_eta else limits.ONE_OF_OTHERS_SHARE


def _bytes(n_rows: int) -> int:
    if n_rows <= limits.FEW_TIMED_ROWS:
        return int(limits.PROGRAM_BYTES + limits.DENSE_BYTES * n_rows**2)
    return int(limits.WAVES_BYTES + limits.WAVES_ROW_BYTES * n_rows)
