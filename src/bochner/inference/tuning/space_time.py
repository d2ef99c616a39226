"""Space and time: fields in which time is no further direction of space.

A Matern field of space and time together forgets places and times at one rate; many real ones do not. A product of a
kernel in space and one in time has its own smoothness in either, and what lasts at a place (its height, its street)
is a field of space alone.
"""

from __future__ import annotations

import numpy as np

from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern, OnAxes, Separable


def space_time_fields(single: Tuned, coarse: Search, fine: Search) -> list[tuple[str, Tuned]]:
    """Candidates beside one Matern field: a product of space and time, and the same with a part that lasts."""
    dim = len(fine.scale.extent)
    lengths = np.ones(dim) * np.asarray(single.kernel.length_scale)  # type: ignore[attr-defined]
    space, time = float(np.exp(np.mean(np.log(lengths[:-1])))), float(lengths[-1])
    variance, noise = float(single.kernel.variance), single.noise_variance  # type: ignore[attr-defined]
    drafts = []
    for nu in limits.SPACE_TIME_SMOOTHNESS:
        # one length in space: its axes have one unit; rough in time, as weather is
        product = Separable(Matern(space, variance, nu=nu), Matern(time, nu=0.5))
        drafts.append(_climbed(product, noise, coarse))
    best = max(drafts, key=lambda t: t.value)
    lasting = _climbed(_with_lasting(best.kernel, space), best.noise_variance, coarse)
    found = [("a product of space and time", best)]
    if lasting.value > best.value + limits.WORTH_LASTING:
        found.append(("a product of space and time and a field that lasts", lasting))
    return [
        (name, fine.maximise(t.kernel, t.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)) for name, t in found
    ]


def _climbed(kernel: Kernel, noise: float, search: Search) -> Tuned:
    return search.maximise(kernel, noise, limits.COARSE_ITERATIONS, limits.SETTLED)


def _with_lasting(product: Kernel, space: float) -> Kernel:
    """Half of the variance passes, half of it lasts."""
    variance = float(product.variance)  # type: ignore[attr-defined]
    return product.scaled(0.5) + OnAxes(Matern(space / 2, 0.5 * variance, nu=0.5), without=-1)
