"""The same question has the same answer: with any number of threads, in any process, from any thread, and again."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, KFold

from bochner import SpatialRegressor
from bochner.kernels import Matern
from tests.properties.problems import SAME_EACH_TIME, SCHEMES, families, problem, seeds

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="joblib forks on Linux")
every_scheme = pytest.mark.parametrize("features", SCHEMES)


@every_scheme
@given(family=families, seed=seeds)
@SAME_EACH_TIME
def test_the_number_of_threads_is_of_no_account(features, family, seed):
    told = problem(family, seed, features)
    assert_allclose(told.answers(n_jobs=2), told.answers(n_jobs=1), rtol=1e-10, atol=1e-10)


@every_scheme
@given(family=families, seed=seeds)
@SAME_EACH_TIME
def test_the_same_seed_gives_the_same_bits(features, family, seed):
    told = problem(family, seed, features)
    first, second = (told.fit(random_state=seed) for _ in range(2))
    for ask in (
        lambda model: np.stack(model.predict(told.at, return_std=True)),
        lambda model: model.sample_y(told.at, 20, random_state=3),
        lambda model: model.predict_interval(told.at, include_noise=True),
    ):
        assert_array_equal(ask(first), ask(second))


def test_learned_values_are_the_same_bits_again():
    told = problem("gaussian", 1)
    models = [told.fit(tune="evidence", noise_variance=None, kernel=None) for _ in range(2)]
    assert models[0].kernel_ == models[1].kernel_
    assert_array_equal(*(m.predict(told.at) for m in models))


def test_sums_that_threads_share_are_the_same_bits_again(monkeypatch):
    """Transforms of many places are shared by threads, which must not add in the order in which they end."""
    monkeypatch.setattr("bochner.nufft.limits.FEW_PLACES", 0)
    rng = np.random.default_rng(4)
    X, at = rng.uniform(size=(4_000, 2)), rng.uniform(size=(50, 2))
    y = np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=4_000)
    fits = (
        SpatialRegressor(Matern(0.1, nu=0.5), features="lattice", tune=None, noise_variance=0.1, n_jobs=n).fit(X, y)
        for n in (1, 2, 2)
    )
    one, two, again = (np.stack(model.predict(at, return_std=True)) for model in fits)
    assert_array_equal(two, again)
    assert_allclose(two, one, rtol=1e-10)


@pytest.mark.parametrize("features", ["exact", "lattice"])
def test_eight_threads_may_ask_one_model(features):
    told = problem("poisson", 2, features)
    model = told.fit()

    def ask(i: int) -> np.ndarray:
        at = told.at[: i % 3 + 8]
        return np.stack([*model.predict(at, return_std=True), model.sample_y(at, random_state=i)[:, 0]])

    serial = [ask(i) for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        for ours, theirs in zip(pool.map(ask, range(24)), serial, strict=True):
            assert_array_equal(ours, theirs)


GRID = {"kernel": [Matern(0.2), Matern(0.6)], "noise_variance": [0.02, 0.2]}


def searched(n_jobs: int) -> np.ndarray:
    told = problem("gaussian", 3)
    search = GridSearchCV(SpatialRegressor(tune=None, n_jobs=1), GRID, cv=KFold(3), n_jobs=n_jobs, error_score="raise")
    return search.fit(told.X[:, :2], told.y).cv_results_["mean_test_score"]


# the second forks a process that has had threads at work
@pytest.mark.parametrize(
    "backend", [pytest.param("loky", marks=pytest.mark.slow), pytest.param("multiprocessing", marks=FORKS)]
)
def test_a_search_over_processes_scores_as_one_process_does(backend):
    problem("gaussian", 3, "lattice").fit(n_jobs=2)
    with joblib.parallel_config(backend):
        assert_allclose(searched(2), searched(1), rtol=1e-10)
