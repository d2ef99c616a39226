"""Refinement: hyperparameters moved to the maximum of the evidence of all rows, where few waves hold the field."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.lattice_evidence import lattice_objective
from bochner.inference.evidence.objective import Objective
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern
from bochner.random import generator
from bochner.resources import blas_threads


@blas_threads()
def refine_on_lattice(found: Tuned, search: Search, obs: Observations, *, reml: bool = True) -> Tuned:
    """Hyperparameters found by a likelihood of neighbours, moved to where the evidence of all rows is largest.

    They stay as they are where waves do not hold the field. Under much noise neighbours see little of a field that
    reaches far, and may have lost it: then others of several reaches are begun from, too.
    """
    refined = _refined(found, search, obs, reml=reml)
    weak = found.noise_variance > limits.MUCH_NOISE * search.scale.variance
    return _weak_field(refined, search, obs, reml=reml) if weak else refined


def _refined(found: Tuned, search: Search, obs: Observations, *, reml: bool) -> Tuned:
    """From where the neighbours led to."""
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


def _weak_field(found: Tuned, search: Search, obs: Observations, *, reml: bool) -> Tuned:
    """The best of fields that begin with several reaches, if all rows find it clearly likelier than the one found."""
    kernel, total = found.kernel, search.scale.variance
    if not isinstance(kernel, Matern):
        return found
    known = search.noise_variance
    starts = [
        (_reaching(kernel, reach, share * total, search.scale.extent), known or (1 - share) * total)
        for reach, share in product(limits.WEAK_REACHES, limits.WEAK_SHARES)
    ]
    # waves for the shortest and largest field hold the others, too
    objective = next(filter(None, (lattice_objective(*start, obs, reml=reml) for start in starts)), None)
    if objective is None:
        return found
    # so weak a field is told as little of as by few rows: with their prior
    on_lattice = replace(search, objective=_away_from_nothing(objective, float(np.sqrt(total))), prior=True)
    values = [on_lattice.value(*start) for start in starts]
    best = _climbed(on_lattice, *starts[int(np.argmax(values))])
    if best.failed:
        return found
    value, now = best.value, on_lattice.value(kernel, found.noise_variance)
    if now <= limits.FAILED_SEARCH:  # a field that waves do not hold
        value, now = (by_some_rows(t, obs, reml=reml) for t in (best, found))
    return replace(best, by_all_rows=True) if value > now + limits.WEAK_GAIN else found


def _away_from_nothing(objective: Objective, sd: float) -> Objective:
    """With a gamma prior of the field's sd, x exp(-x / sd), which vanishes at zero (Chung et al. 2013).

    A field of no variance is often the likeliest by a hair, and says that nothing is in doubt.
    """

    def lifted(kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        value, gradient = objective(kernel, noise_variance)
        variances = np.array([h.role.is_variance for h in kernel.hyperparameters])
        size = np.exp(kernel.theta / 2) / sd
        more = float(np.sum((kernel.theta / 2 - size)[variances]))
        return value + more, gradient + np.r_[0.5 * variances * (1 - size), 0.0]

    return lifted


def _reaching(kernel: Matern, reach: float, variance: float, extent: FloatArray) -> Matern:
    """A field of middling smoothness, if that is learned, that reaches over a part of the extent."""
    own = isinstance(kernel.length_scale, tuple) or unlike(extent)
    length = tuple((reach * extent).tolist()) if own else reach * float(extent.max())
    nu = limits.SELECTED_SMOOTHNESS[0] if kernel.learn_nu else kernel.nu
    return kernel.replace(length_scale=length, variance=variance, nu=nu, rotation=None)


def by_some_rows(tuned: Tuned, obs: Observations, *, reml: bool) -> float:
    """Exact evidence of rows drawn at random, as many as are quick."""
    rows = np.arange(len(obs))
    if len(obs) > limits.JUDGING_ROWS:
        rows = np.sort(generator(0, "judging rows").choice(len(obs), limits.JUDGING_ROWS, replace=False))
    return ExactEvidence(obs[rows], reml).value(tuned.kernel, tuned.noise_variance)


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
