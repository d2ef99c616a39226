"""Linear models as filters, against the library's solver and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_score

from bochner.paper.filters import decompose
from bochner.solvers import least_squares


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 12)), rng.normal(size=40), rng.normal(size=(9, 12))


def test_least_squares_agrees_with_the_solver(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    phi, y, new = problem
    fit = decompose(phi, y)
    coef = least_squares(phi - phi.mean(axis=0), y - y.mean()).coef
    assert_allclose(fit.predict(new, fit.least_squares()), y.mean() + (new - phi.mean(axis=0)) @ coef, atol=1e-12)


def test_minimum_norm_agrees_with_the_solver() -> None:
    rng = np.random.default_rng(1)
    phi, y = rng.normal(size=(10, 30)), rng.normal(size=10)
    fit = decompose(phi, y)
    coef = least_squares(phi - phi.mean(axis=0), y - y.mean()).coef
    assert_allclose(fit.fitted(fit.least_squares()), y, atol=1e-12)
    new = rng.normal(size=(5, 30))
    assert_allclose(fit.predict(new, fit.least_squares()), y.mean() + (new - phi.mean(axis=0)) @ coef, atol=1e-10)


def test_ridge_and_its_k_fold_error_agree_with_scikit_learn(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    phi, y, new = problem
    fit, penalty = decompose(phi, y), np.array(0.7)
    ridge = Ridge(alpha=0.7).fit(phi, y)
    assert_allclose(fit.predict(new, fit.ridge(penalty)), ridge.predict(new), atol=1e-12)
    folds = PredefinedSplit(np.arange(40) % 5)
    refitted = -cross_val_score(ridge, phi, y, cv=folds, scoring="neg_mean_squared_error").mean()
    assert_allclose(fit.k_fold(5, np.array([0.7]))[0], refitted, rtol=1e-10)


def test_many_problems_at_once_are_many_problems() -> None:
    rng = np.random.default_rng(2)
    phi, y = rng.normal(size=(3, 20, 8)), rng.normal(size=(3, 20))
    together = decompose(phi, y)
    for i in range(3):
        alone = decompose(phi[i], y[i])
        assert_allclose(together.k_fold(4)[:, i], alone.k_fold(4), rtol=1e-9)
        assert_allclose(together.best_penalty(4)[i], alone.best_penalty(4))
