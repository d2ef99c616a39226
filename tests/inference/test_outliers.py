"""Single rows beside what was learned of all: outliers, and the scatter of close pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import CheckWarning
from bochner.features import Rows
from bochner.inference.fit_checks import _standardised, outliers, pair_scatter
from bochner.inference.observed.observations import Observations
from bochner.kernels import Matern


def smooth(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, 2))
    return coords, np.sin(6 * coords[:, 0]) * np.cos(5 * coords[:, 1]) + 0.1 * rng.normal(size=n)


def observed(coords: np.ndarray, y: np.ndarray) -> Observations:
    n = len(y)
    return Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


def test_a_blunder_is_named_and_the_rows_beside_it_are_not():
    """A sounding off by far spoils the predictions of its neighbours; they are innocent."""
    coords, y = smooth()
    coords[[10, 11]] = coords[9] + [[1e-3, 0], [0, 1e-3]]
    y[[10, 11]] = y[9]
    y[9] += 30
    assert outliers(Matern(0.5), 0.01, observed(coords, y), 0).tolist() == [9]


def test_rows_without_blunders_are_not_named():
    assert len(outliers(Matern(0.5), 0.01, observed(*smooth()), 0)) == 0


def test_blunders_do_not_hide_each_other():
    """Many of them widen the noise that is learned: the unit must not be theirs."""
    coords, y = smooth()
    bad = np.arange(0, 300, 30)
    y[bad] += 2
    noise = 0.01 + 4 / 30
    assert outliers(Matern(0.5), noise, observed(coords, y), 0).tolist() == bad.tolist()


def test_pairs_that_scatter_as_learned_have_ratio_one():
    coords, y = smooth(800)
    again = y + 0.1 * np.sqrt(2) * np.random.default_rng(9).normal(size=800)  # as two measurements differ
    twice = observed(np.r_[coords, coords + 1e-6], np.r_[y, again])
    ratio = pair_scatter(Matern(0.5), 0.01, twice)
    # the 90 % quantile of 800 absolute differences has a relative standard error of about 4 %
    assert ratio == pytest.approx(1.0, abs=0.15)
    assert pair_scatter(Matern(0.5), 1e-6, twice) > 5
    assert pair_scatter(Matern(0.5), 1.0, twice) < 0.2


def test_exact_copies_and_rows_far_apart_say_nothing_of_scatter():
    coords, y = smooth()
    assert pair_scatter(Matern(0.5), 0.01, observed(np.r_[coords, coords], np.r_[y, y])) is None


def test_check_names_the_rows_and_suggests_student():
    coords, y = smooth()
    y[[7, 123]] += 5
    model = SpatialRegressor(Matern(0.5, 1.0), noise_variance=0.01).fit(coords, y)
    with pytest.warns(
        CheckWarning, match=r"2 rows lie so far .*: row 7, row 123 \(counted from 0\)\. .*family='student'"
    ):
        model.check()


def test_check_tells_of_noise_that_repeats_contradict():
    coords, y = smooth()
    model = SpatialRegressor(Matern(0.5, 1.0), noise_variance=0.01).fit(coords, y)
    fitted = replace(model.fitted_, model=replace(model.fitted_.model, pair_scatter=40.0))
    model.set_fitted(fitted)
    with pytest.warns(CheckWarning, match=r"scatter 40 times as much as the learned noise"):
        model.check()


def test_exact_measurements_without_noise_are_no_fault():
    """Noise at its least is the answer for a smooth function; `check` has nothing to say, and the choice is told."""
    X = np.random.default_rng(0).uniform(size=(120, 2))
    model = SpatialRegressor(Matern(0.5, nu=2.5)).fit(X, np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]))
    assert model.check() == []
    assert "none to speak of" in model.choices_["noise"]


def test_few_rows_have_no_outliers():
    coords, y = smooth(10)
    y[3] += 100
    found = outliers(Matern(0.5), 0.01, observed(coords, y), 0)
    assert len(found) == 0 and pair_scatter(Matern(0.5), 0.01, observed(coords, y)) is None


def test_rows_are_standardised_by_the_others_and_their_copies():
    """By dense algebra: a mean of w copies has a w-th of the noise of one, which is what scatters about the field."""
    coords, y = smooth(12)
    weight, kernel, noise = np.linspace(1, 30, 12), Matern(0.3, 0.8), 0.5
    obs = replace(observed(coords, y), rows=Rows(coords, np.empty((12, 0))), weight=weight)
    found = _standardised(kernel, noise, obs, y, np.arange(12), np.arange(12))
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        here = kernel(coords[rest], coords[[i]])[:, 0]
        weights = np.linalg.solve(kernel(coords[rest]) + np.diag(noise / weight[rest]), here)
        variance = kernel(coords[[i]])[0, 0] - weights @ here
        assert_allclose(found[i], (y[i] - weights @ y[rest]) / np.sqrt(variance + noise), rtol=1e-8)
