"""The score of held-out blocks as a function of the kernel: what ``tune="spatial-cv"`` maximises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from bochner.arrays import IntArray
from bochner.families import Family
from bochner.inference.fits.folds import Fold, HeldOut, with_weight
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.schemes.exact_kernel import exact_mode
from bochner.inference.schemes.iterative_kriging import iterative_mode
from bochner.inference.tuning.limits import MAX_EXACT_TUNING_ROWS
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Kernel
from bochner.posterior import Latent
from bochner.posterior.response import Response
from bochner.validation import crps

Score = Callable[[Kernel, float], float]


def fold_score(task: Task, scheme: Scheme, family: Family, start: Tuned) -> tuple[Score, str, int]:
    """Score to be maximised, its name, and the number of folds.

    Gaussian: minus the CRPS, in units of the response's sd. Other families: the mean log score of new observations.
    """
    folds, kept = with_weight(task.responses.weight, task.folds)
    assert folds is not None
    if task.gaussian:
        obs = task.responses.observations()[kept]
        return _crps_score(task, scheme, obs, folds), "CRPS", len(folds)
    return _log_score(task, scheme, family, start, kept, folds), "log score", len(folds)


def _crps_score(task: Task, scheme: Scheme, obs: Observations, folds: Sequence[Fold]) -> Score:
    unit = np.sqrt(task.scale.variance)

    def score(kernel: Kernel, noise_variance: float) -> float:
        held = _held_out(task, scheme, kernel, noise_variance, obs, folds)
        sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[held.index])
        return -crps(obs.y[held.index], held.mean, sd, sample_weight=obs.weight[held.index]) / unit

    return score


def _log_score(
    task: Task, scheme: Scheme, family: Family, start: Tuned, kept: IntArray, folds: Sequence[Fold]
) -> Score:
    responses = replace(task.responses[kept], family=family)
    many = len(responses) > MAX_EXACT_TUNING_ROWS
    # of very many rows the mode hardly depends on the hyperparameters: it is found once
    fixed = iterative_mode(start.kernel, start.noise_variance, responses).obs if many else None

    def score(kernel: Kernel, noise_variance: float) -> float:
        obs = exact_mode(kernel, noise_variance, responses).obs if fixed is None else fixed
        held = _held_out(task, scheme, kernel, noise_variance, obs, folds)
        i = held.index
        eta = Latent(
            (held.mean + responses.offset[i])[None],
            (held.variance + noise_variance + responses.error[i])[None],
            np.ones(1),
        )
        law = Response(family, eta, responses.size[i], new=True)
        return float(np.average(law.log_density(responses.y[i]), weights=responses.weight[i]))

    return score


def _held_out(
    task: Task, scheme: Scheme, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]
) -> HeldOut:
    if len(obs) > MAX_EXACT_TUNING_ROWS:
        return held_out_locally(kernel, obs, noise_variance, folds)
    return scheme.held_out(task, kernel, noise_variance, obs, folds)
