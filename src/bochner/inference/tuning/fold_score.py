"""The score of held-out blocks as a function of the kernel: what ``tune="spatial-cv"`` maximises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from bochner.arrays import IntArray
from bochner.families import Family
from bochner.inference.evidence.objectives import EXACT_TUNING_ROWS, Problem
from bochner.inference.fits.folds import Fold, HeldOut, leave_out_exact, leave_out_linear, with_weight
from bochner.inference.fits.linear import fit_linear
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.observed.observations import Observations
from bochner.inference.schemes.choose import ADAPTIVE, build_features, number_of_waves
from bochner.inference.solving import solve_exact, solve_operator
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Kernel
from bochner.posterior import Moments
from bochner.posterior.response import Response
from bochner.validation import crps

Score = Callable[[Kernel, float], float]


def fold_score(problem: Problem, family: Family, start: Tuned) -> tuple[Score, str, int]:
    """Score to be maximised, its name, and the number of folds.

    Gaussian: minus the CRPS, in units of the response's sd. Other families: the mean log score of new observations.
    """
    assert problem.folds is not None
    folds, kept = with_weight(problem.responses.weight, problem.folds)
    assert folds is not None
    if problem.responses.gaussian:
        obs = problem.responses.observations()[kept]
        return _crps_score(problem, obs, folds), "CRPS", len(folds)
    return _log_score(problem, family, start, kept, folds), "log score", len(folds)


def _crps_score(problem: Problem, obs: Observations, folds: Sequence[Fold]) -> Score:
    unit = np.sqrt(problem.scale.variance)

    def score(kernel: Kernel, noise_variance: float) -> float:
        held = _held_out(problem, kernel, noise_variance, obs, folds)
        sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[held.index])
        return -crps(obs.y[held.index], held.mean, sd, sample_weight=obs.weight[held.index]) / unit

    return score


def _log_score(problem: Problem, family: Family, start: Tuned, kept: IntArray, folds: Sequence[Fold]) -> Score:
    responses = replace(problem.responses[kept], family=family)
    many = len(responses) > EXACT_TUNING_ROWS
    # of very many rows the mode hardly depends on the hyperparameters: it is found once
    fixed = solve_operator(start.kernel, start.noise_variance, responses).obs if many else None

    def score(kernel: Kernel, noise_variance: float) -> float:
        obs = solve_exact(kernel, noise_variance, responses).obs if fixed is None else fixed
        held = _held_out(problem, kernel, noise_variance, obs, folds)
        i = held.index
        eta = Moments(
            (held.mean + responses.offset[i])[None],
            (held.variance + noise_variance + responses.error[i])[None],
            np.ones(1),
        )
        law = Response(family, eta, responses.size[i], new=True)
        return float(np.average(law.log_density(responses.y[i]), weights=responses.weight[i]))

    return score


def _held_out(
    problem: Problem, kernel: Kernel, noise_variance: float, obs: Observations, folds: Sequence[Fold]
) -> HeldOut:
    if len(obs) > EXACT_TUNING_ROWS:
        return held_out_locally(kernel, obs, noise_variance, folds)
    if problem.kind in ("exact", "lattice", *ADAPTIVE) or not problem.responses.gaussian:
        return leave_out_exact(kernel, obs, noise_variance, folds)
    spec = problem.settings.spec
    m, _, _ = number_of_waves(problem.kind, spec, kernel, len(problem.obs), problem.scale.extent)
    features, _ = build_features(problem.kind, spec, kernel, m, problem.obs, noise_variance)
    return leave_out_linear(fit_linear(features, obs, noise_variance), obs, noise_variance, folds)
