"""Averaging over hyperparameters: of a Gaussian objective, the points have its mean and its covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.families import Gaussian
from bochner.features import Rows
from bochner.inference import Observations, Responses, Settings
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning import branches, laplace_integration, learning, limits
from bochner.inference.tuning.averaging import average, average_of_several
from bochner.inference.tuning.bounds import starts
from bochner.inference.tuning.climb import Climb
from bochner.inference.tuning.search import Search, tune
from bochner.kernels import Matern, Scale
from tests.inference.tuning.objectives import NOISE, quadratic, search

STEEPNESS = 20.0  # of the objective, so that all points lie within the bounds


@pytest.mark.parametrize("noise", [None, NOISE], ids=["noise learned", "noise given"])
def test_points_have_the_moments_of_the_objective(noise):
    """exp(-s |theta - mode|^2) is a Gaussian of variance 1 / (2 s)."""
    looked = search(quadratic((0.2,), steepness=STEEPNESS), noise)
    found = average(looked, tune(looked, Matern()))
    assert found.mass.sum() == pytest.approx(1)
    theta = np.array([k.theta for k in found.kernels])
    if noise is None:
        theta = np.column_stack([theta, np.log(found.noise_variances)])
    else:
        assert (found.noise_variances == noise).all()
    mode = np.log([0.2, 1.0, NOISE])[: theta.shape[1]]
    assert_allclose(found.mass @ theta, mode, atol=1e-3)
    centred = theta - mode
    assert_allclose((centred.T * found.mass) @ centred, np.eye(len(mode)) / (2 * STEEPNESS), atol=2e-2 / STEEPNESS)


def task_of(n: int) -> Task:
    rng = np.random.default_rng(0)
    rows, one, zero = Rows(rng.uniform(size=(n, 2)), np.ones((n, 1))), np.ones(n), np.zeros(n)
    return Task.of(Settings(), Responses(Gaussian(), rows, rng.normal(size=n), one, zero, one, zero))


@pytest.mark.parametrize(
    ("n", "scheme", "folds", "several"),
    [
        (limits.MAX_AVERAGING_ROWS - 1, "exact", None, True),
        (limits.MAX_AVERAGING_ROWS, "exact", None, False),
        (50, "quasi", None, True),
        (50, "learned", None, False),  # its features are made for one set
        (50, "exact", [(np.arange(25), np.arange(25, 50))], False),  # chosen by held-out rows
    ],
)
def test_few_rows_are_averaged_over(n, scheme, folds, several):
    looked = search(quadratic((0.2,), steepness=STEEPNESS))
    climb = Climb(looked, tune(looked, Matern()), ())
    found, told = learning._averaged(replace(task_of(n), folds=folds), scheme_named(scheme), climb)
    assert told.value == np.count_nonzero(found.mass)
    assert (len(found.mass) > 1) == several


def test_kernels_of_several_forms_weigh_by_their_best_values():
    """Masses are those of each form's own points times exp of its value, less the highest; the first stays first."""
    looked = search(quadratic((0.2,), steepness=STEEPNESS), NOISE)
    best = tune(looked, Matern())
    worse = replace(best, kernel=best.kernel, value=best.value - np.log(3.0))
    alone, found = average(looked, best), average_of_several(looked, [best, worse])
    n = len(alone.mass)
    assert found.mass.sum() == pytest.approx(1) and len(found.mass) == 2 * n
    assert_allclose(found.mass[:n].sum(), 0.75)
    assert_allclose(found.mass[:n] / 0.75, alone.mass)
    assert found.kernels[0] == alone.kernels[0] and (found.noise_variances == NOISE).all()
    faint = replace(best, value=best.value - 200.0)
    assert len(average_of_several(looked, [best, faint]).mass) == n


@pytest.mark.parametrize("dim", [2, 3])
def test_a_stretch_of_which_nothing_is_learned_has_its_prior_mass(monkeypatch, dim):
    """Where the posterior of the log ratios is their prior, the nodes weigh as one isotropic kernel does."""
    monkeypatch.setattr(branches, "_ratio_covariance", lambda *_: limits.RATIO_SD**2 * np.eye(dim - 1))
    looked = replace(search(quadratic((0.2,))), scale=Scale(np.ones(dim), spacing=0.02, variance=1.0))
    found = tune(looked, Matern())
    found = replace(found, kernel=Matern((0.3,) * dim))
    nodes = branches.stretched(Matern(), looked, found, -0.7)
    assert_allclose(np.sum(np.exp([node.log_prior for node in nodes])), np.exp(-0.7))
    assert all(node.stretched for node in nodes)
    # a star of nodes at sqrt(3) sd about the middle: the logs of the ranges have mean zero and the prior's variance
    logs, mass = np.array([node.log_units for node in nodes]), np.exp([node.log_prior + 0.7 for node in nodes])
    assert_allclose(mass @ logs, 0, atol=1e-12)
    assert_allclose((mass * (logs**2).sum(axis=1)).sum(), (dim - 1) * limits.RATIO_SD**2)


def test_the_grid_of_counts_begins_next_to_the_best():
    looked = search(quadratic((0.2,)))
    axes = laplace_integration._axes(looked)
    branch = branches.isotropic(Matern(), looked.scale, 0.0)[0]
    for place in ((0, 0, 0), (2, 5, 1), (len(axes.ranges) - 1, len(axes.fields) - 1, len(axes.noises) - 1)):
        i, j, k = place
        kernel = Matern(float(np.exp(axes.ranges[i] + branch.log_units[0])), float(axes.fields[j]))
        best = replace(tune(looked, Matern()), kernel=kernel, noise_variance=float(axes.noises[k]))
        assert axes.nearest(branch, best) == place
    assert axes.beside((0, 0, 0)) == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


def test_parts_of_a_sum_start_apart():
    """Equal starts are a saddle point: every part is begun at a quarter of the range of the one before, or at four."""
    looked = search(quadratic((0.2,)))
    kernel = Matern() + Matern()
    begun = [start for start, _ in starts(kernel, looked.scale, None)]
    ratios = [round(float(start.k1.length_scale / start.k2.length_scale), 6) for start in begun]
    assert set(ratios) == {limits.STAGGER, 1 / limits.STAGGER} and ratios[0] > 1


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_many_rows_are_averaged_about_by_the_information_as_by_slopes(dim, monkeypatch):
    """Points as far off as differences of slopes would put them, of as much mass, for a third of the work."""
    rng = np.random.default_rng(3)
    n = limits.THRIFTY_ROWS
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(0.2 * dim, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.3 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    asked, sloped = [], ExactEvidence.__call__
    monkeypatch.setattr(ExactEvidence, "__call__", lambda *a: (asked.append(1), sloped(*a))[1])
    looked = Search(ExactEvidence(obs, reml=True), scale_of(obs), None, prior=True)
    best = looked.maximise(Matern((0.2,) * dim, nu=1.5) if dim > 1 else Matern(0.2, nu=1.5), 0.1)
    asked.clear()
    told = average(looked, best)
    assert not asked
    monkeypatch.setattr(limits, "THRIFTY_ROWS", 10_000)
    by_slopes = average(looked, best)
    assert asked and told.kernels[0] == by_slopes.kernels[0] == best.kernel
    spread = [_spread(found, best) for found in (told, by_slopes)]
    assert_allclose(np.sqrt(np.diag(spread[0])), np.sqrt(np.diag(spread[1])), rtol=0.25)


def _spread(found, best):
    """Covariance of the points in [theta, log noise variance] about the best."""
    theta = np.array([np.r_[k.theta, np.log(s)] for k, s in zip(found.kernels, found.noise_variances, strict=True)])
    away = theta - np.r_[best.kernel.theta, np.log(best.noise_variance)]
    return (away.T * found.mass) @ away
