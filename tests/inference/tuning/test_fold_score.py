"""The score of held-out blocks: that of a model fitted without them, computed plainly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bochner.families import Gaussian, Poisson
from bochner.features import Rows
from bochner.inference import Responses, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning.fold_score import fold_score
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Matern
from bochner.validation import crps

N = 24
FOLDS = [(np.arange(N)[np.arange(N) % 3 != i], np.arange(N)[np.arange(N) % 3 == i]) for i in range(3)]
KERNEL, NOISE = Matern(0.4), 0.05
START = Tuned(KERNEL, NOISE, 0.0, 1, ())


def task_of(family, weight=None):
    rng = np.random.default_rng(3)
    rows, one, zero = Rows(rng.uniform(size=(N, 2)), np.ones((N, 1))), np.ones(N), np.zeros(N)
    eta = 1 + np.sin(4 * rows.coords[:, 0])
    y = eta + 0.2 * rng.normal(size=N) if family.observes_eta else rng.poisson(np.exp(eta)).astype(float)
    return Task.of(Settings(), Responses(family, rows, y, one, zero, one if weight is None else weight, zero), FOLDS)


def refitted(task, train, test):
    """Mean and sd of new rows by universal kriging from the others."""
    X, y = task.responses.rows.coords, task.responses.y
    sigma = KERNEL(X[train]) + NOISE * np.eye(len(train))
    inverse, one = np.linalg.inv(sigma), np.ones(len(train))
    beta, cross = one @ inverse @ y[train] / (one @ inverse @ one), KERNEL(X[test], X[train])
    drift = 1 - cross @ inverse @ one
    variance = 1 - np.sum(cross @ inverse * cross, axis=1) + drift**2 / (one @ inverse @ one)
    return beta + cross @ inverse @ (y[train] - beta), np.sqrt(variance + NOISE)


def test_gaussian_rows_are_scored_by_crps_in_units_of_their_sd():
    task = task_of(Gaussian())
    score, name, n_folds = fold_score(task, scheme_named("exact"), Gaussian(), START)
    assert name == "CRPS" and n_folds == 3
    parts = [refitted(task, *fold) for fold in FOLDS]
    test = np.concatenate([test for _, test in FOLDS])
    plain = crps(task.responses.y[test], np.concatenate([m for m, _ in parts]), np.concatenate([s for _, s in parts]))
    assert score(KERNEL, NOISE) == pytest.approx(-plain / np.sqrt(task.scale.variance), rel=1e-8)


def test_the_right_kernel_scores_higher_than_wrong_ones():
    """A smooth surface with noise of sd 0.2: neither white noise, nor a flat field, nor noise without end."""
    score, _, _ = fold_score(task_of(Gaussian()), scheme_named("exact"), Gaussian(), START)
    right = score(Matern(0.8), 0.04)
    for kernel, noise in ((Matern(0.001), 0.04), (Matern(0.8, 1e-4), 0.04), (Matern(0.8), 30.0)):
        assert right > score(kernel, noise)


def test_rows_without_weight_are_not_there():
    weight = np.where(np.arange(N) < 3, 0.0, 1.0)
    plain, _, _ = fold_score(task_of(Gaussian()), scheme_named("exact"), Gaussian(), START)
    without, _, _ = fold_score(task_of(Gaussian(), weight), scheme_named("exact"), Gaussian(), START)
    assert np.isfinite(without(KERNEL, NOISE)) and without(KERNEL, NOISE) != plain(KERNEL, NOISE)


def test_counts_are_scored_by_their_log_probability():
    """Between that of a forecast that knows eta and that of one that knows only the mean count."""
    task = task_of(Poisson())
    score, name, _ = fold_score(task, scheme_named("exact"), Poisson(), START)
    y, eta = task.responses.y, 1 + np.sin(4 * task.responses.rows.coords[:, 0])
    knows, guesses = stats.poisson.logpmf(y, np.exp(eta)).mean(), stats.poisson.logpmf(y, y.mean()).mean()
    assert name == "log score"
    assert guesses - 0.3 < score(Matern(0.8, 0.5), 1e-6) < knows + 0.1
    assert score(Matern(0.8, 0.5), 1e-6) > score(Matern(0.8, 0.5), 25.0)
