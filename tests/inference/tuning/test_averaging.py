"""Averaging over hyperparameters: of a Gaussian objective, the points have its mean and its covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.families import Gaussian
from bochner.features import Rows
from bochner.inference import Responses, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning import learning, limits
from bochner.inference.tuning.averaging import average, average_of_several
from bochner.inference.tuning.search import tune
from bochner.kernels import Matern
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
    climb = learning.Climb(looked, tune(looked, Matern()), ())
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
