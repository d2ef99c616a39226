"""Climbs of counts and classes that begin on some of the rows: the same ends, for less of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.families import family_named
from bochner.features import Rows
from bochner.inference import Responses, Settings
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.inference.tuning.first_rows import FirstRows, begun_on_some
from bochner.inference.tuning.search import Search
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern


def drawn(family: str, n: int, dim: int) -> Responses:
    rng = np.random.default_rng(11)
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(0.3, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    eta = root @ rng.normal(size=n)
    y = {
        "bernoulli": lambda: (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * eta))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(1 + eta)).astype(float),
        "negative-binomial": lambda: rng.negative_binomial(3, 3 / (3 + np.exp(1 + eta))).astype(float),
        "gamma": lambda: rng.gamma(3, np.exp(eta) / 3),
    }[family]()
    one, zero = np.ones(n), np.zeros(n)
    return Responses(family_named(family), Rows(coords, np.ones((n, 1))), y, one, zero, one, zero)


def searched(data: Responses) -> Search:
    return Search(InformedLaplace([data], reml=True), Task.of(Settings(), data).scale, 0.0, prior=True)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("family", ["bernoulli", "poisson", "negative-binomial", "gamma"])
def test_a_choice_that_begins_on_some_rows_is_that_of_all(family, dim, monkeypatch):
    n = limits.MIN_THINNED_ROWS
    data = drawn(family, n, dim)
    toll = 0.5 * np.log(n)
    plain = select_kernel(searched(data), n, dim, toll)
    search = searched(data)
    ranked, rank = [], InformedLaplace.ranked
    monkeypatch.setattr(InformedLaplace, "ranked", lambda self, *a: (ranked.append(self.largest), rank(self, *a))[1])
    begun = begun_on_some(search, data, Matern(nu=limits.SELECTED_SMOOTHNESS[0]), 0)
    assert begun.peaks and all(t.value <= begun.peaks[0].value for t in begun.peaks)
    found = select_kernel(search, n, dim, toll, begun=begun)
    assert found.choice.value == plain.choice.value
    assert found.tuned.value == pytest.approx(plain.tuned.value, abs=1e-3)
    assert max(ranked) < n / 2  # starts are compared on some rows alone


@pytest.mark.parametrize(("ls", "asked"), [(0.3, False), (0.02, True)])
def test_some_rows_tell_whether_scatter_may_be_a_rough_field(ls, asked, monkeypatch):
    """All rows are asked where the field is too short to be seen by some of them."""
    n, rng = 400, np.random.default_rng(3)
    coords = rng.uniform(size=(n, 2))
    eta = np.linalg.cholesky(Matern(ls, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    one, zero = np.ones(n), np.zeros(n)
    y = rng.gamma(2, np.exp(eta) / 2)
    data = Responses(family_named("gamma"), Rows(coords, np.ones((n, 1))), y, one, zero, one, zero)
    search = searched(data)
    begun = begun_on_some(search, data, Matern(nu=limits.SELECTED_SMOOTHNESS[0]), 0)
    met, joint = [], InformedLaplace.joint

    def told(self, kernel, noise_variance, hidden):
        met.append((self.largest, float(np.exp(hidden[0]))))
        return joint(self, kernel, noise_variance, hidden)

    monkeypatch.setattr(InformedLaplace, "joint", told)
    found = select_kernel(search, n, 2, 0.5 * np.log(n), begun=begun)
    assert any(size == n and dispersion < 0.05 for size, dispersion in met) == asked
    assert any(size < n for size, _ in met) != asked
    assert (found.tuned.kernel.length_scale > 0.1) != asked


def test_few_rows_begin_as_they_are():
    data = drawn("poisson", limits.MIN_THINNED_ROWS - 1, 2)
    assert begun_on_some(searched(data), data, Matern(nu=1.5), 0) == FirstRows()


@pytest.mark.parametrize("n", [limits.MIN_THINNED_ROWS, limits.MAX_EXACT_TUNING_ROWS + 1])
def test_rows_without_a_trend_are_fitted(n):
    """No intercept and no covariates: there is nothing to be shared, or separated."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(n, 2))
    y = rng.poisson(np.exp(np.sin(6 * X[:, 0])))
    model = SpatialRegressor(family="poisson", fit_intercept=False).fit(X, y)
    assert np.corrcoef(model.predict(X), np.exp(np.sin(6 * X[:, 0])))[0, 1] > 0.8


def test_numbers_that_overflow_on_some_rows_are_no_end():
    """Gamma responses over 40 powers of e: what fails on a part of the rows is left to all of them."""
    rng = np.random.default_rng(0)
    n = limits.MIN_THINNED_ROWS + 20
    X = rng.uniform(size=(n, 2))
    y = np.exp(40 * np.sin(5 * X[:, 0])) * rng.gamma(5.0, 0.2, n)
    model = SpatialRegressor(family="gamma").fit(X, y)
    assert np.isfinite(model.predict_latent(X)[0]).all()
