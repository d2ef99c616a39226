"""Candidates for space and time: products, what lasts and what is common, where these are worth their parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor, load
from bochner.families import family_named
from bochner.features import Rows
from bochner.inference import Domain, Observations, Responses, Settings
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, tune
from bochner.inference.tuning.selection import select_kernel
from bochner.inference.tuning.space_time import SpaceTime, apart, name_of, space_time_fields
from bochner.kernels import Kernel, Matern, OnAxes, Separable, Sum
from tests.inference.tuning.objectives import NOISE, search


def objective(lasting: float, smooth: float):
    """Highest at lengths and variances of one; some more for a part that lasts, and for smoothness 3/2."""

    def value(kernel: Kernel, noise_variance: float) -> tuple[float, np.ndarray]:
        theta, noise = kernel.theta, np.log(noise_variance / NOISE)
        more = lasting * isinstance(kernel, Sum) + smooth * ("nu=1.5" in repr(kernel))
        return float(-theta @ theta - noise**2 + more), np.r_[-2 * theta, -2 * noise]

    return value


@pytest.mark.parametrize(("lasting", "n_found"), [(0.0, 1), (100.0, 2)])
def test_a_lasting_part_is_a_candidate_where_it_gains(lasting, n_found):
    looked = search(objective(lasting, 1.0))
    found = space_time_fields(tune(looked, Matern((0.5, 0.5))), looked, looked)
    assert [name for name, _ in found] == [
        "a product of space and time",
        "a product of space and time and a field that lasts",
    ][:n_found]
    product = found[0][1].kernel
    assert isinstance(product, Separable) and "nu=1.5" in repr(product) and "nu=0.5" in repr(product)
    assert found[0][1].value == pytest.approx(1.0, abs=0.05)
    assert found[0][1].noise_variance == pytest.approx(NOISE, rel=0.05)


# ----------------------------------------------------------------- up to a thousand rows, by the evidence of them

LASTING, COMMON = OnAxes(Matern(0.3), without=-1), OnAxes(Matern(0.2), -1)
TWO, PRODUCT = "a field that lasts and a level common to all places", "a product of space and time"


def drawn(kernel: Kernel, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and times in the unit box, and a field there."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.linalg.cholesky(kernel.covariance(X, X) + 1e-9 * np.eye(n)) @ rng.standard_normal(n)


def noisy(truth: np.ndarray, seed: int = 7) -> np.ndarray:
    return truth + 0.2 * np.random.default_rng(seed).standard_normal(len(truth))


def table(X: np.ndarray, last: str = "day") -> pd.DataFrame:
    return pd.DataFrame(100 * X, columns=["x", "y", last])


def searched(X: np.ndarray, y: np.ndarray, *, prior: bool) -> Search:
    zero = np.zeros(len(y))
    obs = Observations(Rows(X, np.ones((len(y), 1))), y, np.ones(len(y)), zero, zero)
    return Search(ExactEvidence(obs, reml=True), scale_of(obs), None, prior)


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize(
    ("truth", "best"),
    [(LASTING + COMMON, TWO), (Separable(Matern(0.4), Matern(0.3, nu=0.5)), PRODUCT)],
)
def test_the_form_of_the_truth_is_the_likeliest(truth, best, prior):
    X, field = drawn(truth, 150, seed=1)
    looked = searched(X, noisy(field), prior=prior)
    single = select_kernel(looked, 150, 3).tuned
    product, two, everything = apart(looked, single)
    assert [name_of(t.kernel) for t in (product, two, everything)] == [PRODUCT, TWO, f"{PRODUCT}, {TWO}"]
    assert max(product, two, key=lambda t: t.value) is (two if best == TWO else product)
    assert everything.value > max(product.value, two.value) - 6  # it has both, and the price of the prior


def test_a_rough_part_is_found_beside_a_smooth_one_unless_smoothness_has_to_gain():
    X, field = drawn(OnAxes(Matern(0.3, nu=0.5), without=-1) + COMMON, 150, seed=2)
    looked = searched(X, noisy(field), prior=True)
    single = select_kernel(looked, 150, 3).tuned
    assert [leaf.kernel.nu for leaf in apart(looked, single)[1].kernel.leaves()] == [0.5, 1.5]
    assert [leaf.kernel.nu for leaf in apart(looked, single, toll=1e3)[1].kernel.leaves()] == [0.5, 0.5]


def test_only_rows_with_a_time_are_asked_by_the_evidence_of_the_exact_kernel():
    X, field = drawn(LASTING + COMMON, 60, seed=3)
    looked, zero = searched(X, field, prior=True), np.zeros(60)
    data = Responses(family_named("gaussian"), Rows(X, np.ones((60, 1))), field, zero + 1, zero, zero + 1, zero)
    timed, untimed = (Task.of(Settings(), data, domain=Domain(last_is_time=is_time)) for is_time in (True, False))
    assert SpaceTime.of(untimed, scheme_named("exact"), looked) is None
    assert SpaceTime.of(timed, scheme_named("nonstationary"), looked) is None  # its waves vary along every axis
    assert SpaceTime.of(timed, scheme_named("exact"), replace(looked, objective=objective(0.0, 0.0))) is None
    found = SpaceTime.of(timed, scheme_named("exact"), looked)
    assert found is not None and found.some is found.search and found.clearly is None  # few enough to ask all


def test_what_lasts_and_what_is_common_is_predicted_by_tables_with_a_time(tmp_path):
    X, truth = drawn(LASTING + COMMON, 400, seed=4)
    y, n = noisy(truth), 120
    model = SpatialRegressor(n_jobs=1).fit(table(X)[:n], y[:n])
    one_field = SpatialRegressor(n_jobs=1).fit(table(X, "z")[:n], y[:n])
    assert model.choices_["kernel"].value == TWO and "more likely than one Matern field" in str(
        model.choices_["kernel"]
    )
    assert "matern" in one_field.choices_["kernel"].value
    assert int(model.choices_["intervals"].value) > 1  # averaged over hyperparameters, as one field is
    mean, sd = model.predict(table(X)[n:], return_std=True)
    errors = [np.sqrt(np.mean((m - truth[n:]) ** 2)) for m in (mean, one_field.predict(table(X, "z")[n:]))]
    assert errors[0] < 0.8 * errors[1]
    assert np.mean(np.abs(mean - truth[n:]) < 1.96 * sd) > 0.85
    model.save(tmp_path / "model.bochner")
    np.testing.assert_allclose(load(tmp_path / "model.bochner").predict(table(X)[n:]), mean)
    assert model.sample_y(table(X)[n:], n_samples=3).shape == (len(X) - n, 3)
    assert TWO in model.summary() and isinstance(model.check(), list)


def test_some_of_many_rows_find_the_form_and_all_of_them_its_values():
    X, truth = drawn(LASTING + COMMON, 640, seed=5)
    n = limits.APART_ROWS + 40
    model = SpatialRegressor(n_jobs=1).fit(table(X)[:n], noisy(truth)[:n])
    assert model.choices_["kernel"].value == TWO
    assert f"to {limits.APART_ROWS} of the rows" in str(model.choices_["kernel"])
    assert np.sqrt(np.mean((model.predict(table(X)[n:]) - truth[n:]) ** 2)) < 0.4 * truth.std()


@pytest.mark.parametrize("n", [100, limits.APART_ROWS + 20])
def test_one_field_of_both_stays_one(n):
    X, truth = drawn(Matern((0.3, 0.3, 0.2), nu=2.5), n, seed=6)
    y = noisy(truth)
    timed, plain = (SpatialRegressor(n_jobs=1).fit(table(X, last), y) for last in ("day", "z"))
    assert timed.kernel_ == plain.kernel_ and "matern" in timed.choices_["kernel"].value


def test_counts_have_a_level_common_to_all_places():
    X, eta = drawn(LASTING + COMMON, 420, seed=5)
    y, n = np.random.default_rng(9).poisson(np.exp(1 + eta)), 120
    timed, plain = (SpatialRegressor(family="poisson", n_jobs=1).fit(table(X, c)[:n], y[:n]) for c in ("day", "z"))
    assert timed.choices_["kernel"].value == TWO
    off = [np.mean(np.abs(m.predict(table(X, c)[n:]) - np.exp(1 + eta[n:]))) for m, c in ((timed, "day"), (plain, "z"))]
    assert off[0] < off[1]
