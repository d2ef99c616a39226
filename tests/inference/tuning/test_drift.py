"""A field beside a slope: found where it is there, and not where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import drift
from bochner.inference.tuning.search import Search
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern


def sloped(n: int, dim: int, near: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and a surface there: a steep plane, and a field of some variance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(0.15, near, nu=0.5).covariance(X, X) + 1e-9 * np.eye(n))
    return X, X @ np.linspace(20.0, -10.0, dim) + root @ rng.standard_normal(n)


def observed(X: np.ndarray, y: np.ndarray) -> Observations:
    zero = np.zeros(len(y))
    return Observations(Rows(X, np.ones((len(y), 1))), y, np.ones(len(y)), zero, zero)


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize(("near", "there"), [(0.3, True), (1e-6, False)])
def test_a_near_field_is_sought_beside_a_slope(near, there, prior):
    X, truth = sloped(160, 2, near, seed=0)
    obs = observed(X, truth + 0.2 * np.random.default_rng(1).standard_normal(160))
    search = Search(ExactEvidence(obs, reml=True), scale_of(obs), None, prior)
    single = select_kernel(search, 160, 2).tuned
    found = drift.beside_drift(search, single, obs)
    assert (found is not None) is there
    if found is not None:
        (best, *_, last), choice = found
        near_part, far = best.kernel.leaves()
        assert near_part.length_scale < 0.5 < far.length_scale and last is single
        assert best.value > single.value and "slopes over the region" in str(choice)


def test_a_near_field_in_a_bowl_is_found_though_one_field_reaches_less_far():
    """One kernel takes the sides of the bowl for a field of a third of the extent, and loses what is nearer."""
    rng = np.random.default_rng(52)
    X = np.r_[rng.uniform(size=(300, 2)), rng.uniform(size=(300, 2))]
    root = np.linalg.cholesky(Matern(0.06, nu=1.5).covariance(X, X) + 1e-8 * np.eye(600))
    truth = root @ rng.normal(size=600) + 32 * np.sum((X - 0.5) ** 2, axis=1)
    obs = observed(X[:300], truth[:300] + 0.2 * rng.normal(size=300))
    search = Search(ExactEvidence(obs, reml=True), scale_of(obs), None, True)
    single = select_kernel(search, 300, 2).tuned
    assert np.max(single.kernel.length_scale) < 0.4
    found = drift.beside_drift(search, single, obs)
    assert found is not None and found[0][0].kernel.leaves()[0].length_scale < 0.1


def test_without_a_slope_nothing_is_sought():
    X, truth = sloped(160, 2, 0.3, seed=0)
    obs = observed(X, truth - X @ [20.0, -10.0])
    search = Search(ExactEvidence(obs, reml=True), scale_of(obs), None)
    single = search.maximise(Matern(0.2, 0.3, nu=0.5), 0.1)
    assert drift.beside_drift(search, single, obs) is None


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_what_slopes_leave_knows_no_units_and_no_origin(dim):
    X, truth = sloped(120, dim, 0.3, seed=2)
    y = truth + 0.2 * np.random.default_rng(3).standard_normal(120)
    plain = drift._left_by_slopes(observed(X, y))
    moved = drift._left_by_slopes(observed(1e5 + 300 * X, 7 - 40 * y))
    assert plain == pytest.approx(moved, rel=1e-6) and 0 < plain < 0.2
    assert drift._left_by_slopes(observed(X[: 2 + dim], y[: 2 + dim])) == 1.0  # too few to tell


def test_the_surface_beside_a_steep_slope_lies_within_its_intervals():
    X, truth = sloped(500, 2, 0.3, seed=4)
    y = truth[:200] + 0.2 * np.random.default_rng(5).standard_normal(200)
    model = SpatialRegressor().fit(X[:200], y)
    low, high = model.predict_interval(X[200:]).T
    assert np.mean((low <= truth[200:]) & (truth[200:] <= high)) > 0.85
