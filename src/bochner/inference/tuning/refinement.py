"""Refinement: hyperparameters moved to the maximum of the evidence of all rows, where few waves hold the field."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.inference.evidence.lattice_evidence import lattice_objective
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Matern


def refine_on_lattice(found: Tuned, search: Search, obs: Observations, *, reml: bool = True) -> Tuned:
    """Hyperparameters found by a likelihood of neighbours, moved to where the evidence of all rows is largest.

    They stay as they are where waves do not hold the field.
    """
    start = found.kernel
    if isinstance(start, Matern) and start.learn_nu and start.nu > limits.MAX_TOLD_SMOOTHNESS:
        start = _rougher(start)  # neighbours under noise cannot tell how smooth: nu has drifted
    objective = lattice_objective(start, found.noise_variance, obs, reml=reml)
    if objective is None:
        return found
    on_lattice = replace(search, objective=objective)
    refined = on_lattice.maximise(start, found.noise_variance, limits.REFINEMENT_ITERATIONS, limits.SETTLED)
    better = refined.value > on_lattice.evaluate(found.kernel, found.noise_variance)[0]
    return replace(refined, by_all_rows=True) if better else found


def _rougher(kernel: Matern) -> Matern:
    """The kernel of smoothness 3/2 with the same curvature at zero: k = 1 - nu / (nu - 1) (r / l)^2 / 2 + ..."""
    longer = float(np.sqrt(3 * (kernel.nu - 1) / kernel.nu))
    scale = kernel.length_scale
    lengths = tuple(longer * v for v in scale) if isinstance(scale, tuple) else longer * scale
    return kernel.replace(nu=1.5, length_scale=lengths)
