"""Refinement: hyperparameters moved to the maximum of the evidence of all rows, where few waves hold the field."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.inference.evidence.lattice_evidence import lattice_objective
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern
from bochner.resources import blas_threads


@blas_threads()
def refine_on_lattice(found: Tuned, search: Search, obs: Observations, *, reml: bool = True) -> Tuned:
    """Hyperparameters found by a likelihood of neighbours, moved to where the evidence of all rows is largest.

    They stay as they are where waves do not hold the field.
    """
    start = found.kernel
    if isinstance(start, Matern) and start.learn_nu and start.nu > limits.MAX_TOLD_SMOOTHNESS:
        start = _rougher(start)  # neighbours under noise cannot tell how smooth: nu has drifted
    objective = None
    extent = float(search.scale.extent.max())
    if isinstance(start, Matern) and np.max(start.length_scale) > extent:  # nor, of a smooth field, how far it reaches
        start = _shortened(start, extent)
        # waves for a field half as long leave the search room
        objective = lattice_objective(_shortened(start, 0.5 * extent), found.noise_variance, obs, reml=reml)
    if objective is None:
        objective = lattice_objective(start, found.noise_variance, obs, reml=reml)
    if objective is None:
        return found
    on_lattice = replace(search, objective=objective)
    refined = _climbed(on_lattice, start, found.noise_variance)
    better = refined.value > on_lattice.evaluate(found.kernel, found.noise_variance)[0]
    return replace(refined, by_all_rows=True) if better else found


def _climbed(search: Search, start: Kernel, noise_variance: float) -> Tuned:
    """The best near a start; in short steps where the first long one leaves what the waves hold, and ends the climb."""
    refined = search.maximise(start, noise_variance, limits.REFINEMENT_ITERATIONS, limits.SETTLED)
    if not np.array_equal(refined.kernel.theta, start.theta):
        return refined
    near = replace(search, reach=limits.CAREFUL_REACH)
    return near.maximise(start, noise_variance, limits.REFINEMENT_ITERATIONS, limits.SETTLED)


def _rougher(kernel: Matern) -> Matern:
    """The kernel of smoothness 3/2 with the same curvature at zero: k = 1 - nu / (nu - 1) (r / l)^2 / 2 + ..."""
    longer = float(np.sqrt(3 * (kernel.nu - 1) / kernel.nu))
    scale = kernel.length_scale
    lengths = tuple(longer * v for v in scale) if isinstance(scale, tuple) else longer * scale
    return kernel.replace(nu=1.5, length_scale=lengths)


def _shortened(kernel: Matern, longest: float) -> Matern:
    """The kernel with length scales up to one, and slopes of the same variance, which is about v / l^2."""
    factor = longest / float(np.max(kernel.length_scale))
    scale = kernel.length_scale
    lengths = tuple(factor * v for v in scale) if isinstance(scale, tuple) else factor * scale
    return kernel.replace(length_scale=lengths, variance=factor**2 * kernel.variance)
