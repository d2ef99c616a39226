"""Drift: beside a slope over the whole region, the field that is near is not to be taken for noise.

One kernel has one smoothness and one range. Where most of the variance is a slope (temperature over latitude, prices
away from a centre) it follows that, far and smooth, and what varies from place to place is left to the noise: the map
loses it, and its intervals do not say so. A sum of a near field and a far, smooth one has room for both.
"""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Matern


def beside_drift(search: Search, single: Tuned, obs: Observations) -> tuple[tuple[Tuned, ...], Choice] | None:
    """Sums of a near field of some smoothness and a far one, the best first, and the single one; None: it is enough."""
    left = _left_by_slopes(obs)
    extent, total = float(search.scale.extent.max()), search.scale.variance
    reach = float(np.max(single.kernel.length_scale)) / extent  # type: ignore[attr-defined]
    if single.failed or left > 1 - limits.SLOPED_SHARE or reach < limits.FOLLOWS_SLOPE:
        return None
    worth = limits.WORTH_NEAR if search.prior else float(np.log(obs.total))
    least = single.value + worth
    far = Matern(limits.DRIFT_REACH * extent, limits.DRIFT_VARIANCE * total, nu=limits.DRIFT_SMOOTHNESS)
    known = search.noise_variance
    near_share, rest = limits.NEAR_PART * left * total, (1 - limits.NEAR_PART) * left * total
    starts = [Matern(limits.NEAR_REACH * extent, near_share, nu=nu) + far for nu in limits.NEAR_SMOOTHNESS]
    rival = Rival(least, dear=True, ledge=single.value - limits.SUM_LEDGE)
    climbs = [search.maximise(k, rest if known is None else known, against=rival) for k in starts]
    found = sorted((t for t in climbs if t.value > least), key=lambda t: -t.value)
    if not found:
        return None
    near = found[0].kernel.leaves()[0]
    text = (
        f"a near Matern field (nu = {near.nu:g}, length scale {near.length_scale:.3g}) beside one that "  # type: ignore[attr-defined]
        f"slopes over the region: they gain {found[0].value - single.value:.1f} > {worth:.1f} over one"
    )
    return (*found, single), Choice("kernel", "near field and drift", text=text)


def _left_by_slopes(obs: Observations) -> float:
    """Share of the variance, beside the trend, that a surface of the second order in the coordinates leaves."""
    coords, root = obs.rows.coords, np.sqrt(obs.weight)
    extent = np.ptp(coords, axis=0)
    unit = (coords - coords.mean(axis=0)) / np.where(extent > 0, extent, 1.0)
    i, j = np.triu_indices(unit.shape[1])
    surface = np.column_stack([obs.rows.trend, np.ones(len(unit)), unit, unit[:, i] * unit[:, j]])
    if len(obs) < limits.ROWS_PER_SLOPE * surface.shape[1]:
        return 1.0
    plain = np.column_stack([obs.rows.trend, np.ones(len(unit))])
    before, after = (_residual(columns * root[:, None], obs.y * root) for columns in (plain, surface))
    return after / before if before > 0 else 1.0


def _residual(columns: FloatArray, y: FloatArray) -> float:
    """Mean square of what columns leave, for each degree of freedom."""
    coef, _, rank, _ = np.linalg.lstsq(columns, y, rcond=None)
    return float(np.sum((y - columns @ coef) ** 2)) / max(len(y) - int(rank), 1)
