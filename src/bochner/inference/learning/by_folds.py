"""Hyperparameters that predict given folds best: ``tune="spatial-cv"``, or a splitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import optimize

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.families import Family
from bochner.inference.fits.folds import Fold, HeldOut, held_out_locally, with_weight
from bochner.inference.learning.evidence import FAILURES, Theta
from bochner.inference.learning.ladder import exact_rows
from bochner.inference.learning.search import Found
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.schemes.whole_kernel import exact_mode, iterative_mode
from bochner.kernels import Kernel
from bochner.posterior import Latent
from bochner.posterior.response import Response
from bochner.validation import crps

Score = Callable[[Kernel, float], float]


def by_folds(task: Task, scheme: Scheme, found: Found) -> tuple[Found, Choice]:
    """The mode moved to where held-out rows are predicted best, and what is said of it."""
    mode = found.modes[0]
    folds, kept = with_weight(task.responses.weight, task.folds)
    assert folds is not None
    if task.gaussian:
        score = _crps_score(task, scheme, task.responses.observations()[kept], folds)
    else:
        score = _log_score(task, scheme, _family(task, found.theta), found.theta, kept, folds)
    low, high = found.form.bounds.T
    moving = np.arange(found.form.n_sizes)

    def loss(z: FloatArray) -> float:
        theta = found.at(np.r_[z, mode.x[len(moving) :]])
        try:
            value = score(theta.kernel, theta.noise)
        except FAILURES:
            return 1e10
        return -value if np.isfinite(value) else 1e10

    # no further from the mode of the evidence than 3 in any entry
    near = np.column_stack([np.maximum(low, mode.x - 3.0), np.minimum(high, mode.x + 3.0)])[moving]
    options = {"maxiter": 20, "eps": 1e-3}
    result = optimize.minimize(loss, mode.x[moving], method="L-BFGS-B", bounds=near, options=options)
    if result.fun < loss(mode.x[moving]):
        found = replace(found, modes=[replace(mode, x=np.r_[result.x, mode.x[len(moving) :]])])
    name = "CRPS" if task.gaussian else "log score"
    text = f"{name} of {len(folds)} held-out blocks, begun at the best {task.settings.criterion}"
    return found, Choice("tuning", "held-out blocks", text=f"{text}; score {min(result.fun, loss(mode.x[moving])):.4g}")


def _family(task: Task, theta: Theta) -> Family:
    family = task.responses.family
    return family if theta.dispersion is None else family.replace(dispersion=theta.dispersion)


def _crps_score(task: Task, scheme: Scheme, obs: Observations, folds: Sequence[Fold]) -> Score:
    """Minus the CRPS, in units of the response's sd."""
    unit = np.sqrt(task.scale.variance)

    def score(kernel: Kernel, noise_variance: float) -> float:
        held = _held_out(task, scheme, kernel, noise_variance, obs, folds)
        sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[held.index])
        return -crps(obs.y[held.index], held.mean, sd, sample_weight=obs.weight[held.index]) / unit

    return score


def _log_score(
    task: Task, scheme: Scheme, family: Family, start: Theta, kept: IntArray, folds: Sequence[Fold]
) -> Score:
    """The mean log score of new observations."""
    responses = replace(task.responses[kept], family=family)
    many = len(responses) > exact_rows(gaussian=False)
    # of very many rows the mode hardly depends on the hyperparameters: it is found once
    fixed = iterative_mode(start.kernel, start.noise, responses).obs if many else None

    def score(kernel: Kernel, noise_variance: float) -> float:
        obs = exact_mode(kernel, noise_variance, responses).obs if fixed is None else fixed
        held = _held_out(task, scheme, kernel, noise_variance, obs, folds)
        i = held.index
        variance = held.variance + noise_variance + responses.error[i]
        eta = Latent((held.mean + responses.offset[i])[None], variance[None], np.ones(1))
        law = Response(family, eta, responses.size[i], new=True)
        return float(np.average(law.log_density(responses.y[i]), weights=responses.weight[i]))

    return score


def _held_out(
    task: Task, scheme: Scheme, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]
) -> HeldOut:
    if len(obs) > exact_rows(gaussian=True):
        return held_out_locally(kernel, obs, noise_variance, folds)
    return scheme.held_out(task, kernel, noise_variance, obs, folds)
