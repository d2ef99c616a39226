"""Whether effects bend: columns are as likely as regression says they are, part by part; chance is not followed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bochner.families import Gaussian, Poisson
from bochner.features import Rows
from bochner.inference import Domain, Responses, Settings, curvature
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.form import sd_prior
from bochner.inference.learning.policy import POLICY
from bochner.kernels import Matern, Separable

pytestmark = pytest.mark.every_case


def responses_of(coords, trend, y, family=None) -> Responses:
    one, zero = np.ones(len(y)), np.zeros(len(y))
    return Responses(family or Gaussian(), Rows(coords, trend), y, one, zero, one, zero)


@pytest.mark.parametrize("columns", [[], [2], [2, 3, 4]])
def test_columns_are_as_likely_as_in_a_regression(columns):
    """Of unit noise: normal densities, their prior variance integrated over by a fine sum; linear columns are free."""
    rng = np.random.default_rng(0)
    X, y, variance = rng.standard_normal((40, 5)), rng.standard_normal(40), 1.7
    y += 0.4 * X[:, 2]
    found = curvature.Information(X.T @ X, X.T @ y)

    def dense(chosen):
        wide = np.eye(40) + 1e6 * X[:, :2] @ X[:, :2].T
        if not chosen:
            return stats.multivariate_normal(np.zeros(40), wide).logpdf(y)
        logs, part = np.log(variance) + np.linspace(-10, 2, 241), X[:, chosen]
        laws = [stats.multivariate_normal(np.zeros(40), wide + np.exp(v) / len(chosen) * part @ part.T) for v in logs]
        prior = [sd_prior(v, POLICY.effect_rate / np.sqrt(variance))[0] for v in logs]
        return np.logaddexp.reduce([law.logpdf(y) + p for law, p in zip(laws, prior, strict=True)]) + np.log(0.05)

    ours = found.log_evidence(2, np.array(columns, dtype=np.intp), variance)
    ours -= found.log_evidence(2, np.empty(0, dtype=np.intp), variance)
    assert_allclose(ours, dense(columns) - dense([]), atol=0.03)


@pytest.mark.parametrize(("size", "wanted"), [(0.5, (0, 2, 0)), (0.02, (0, 0, 0))])
def test_covariates_bend_where_rows_tell_so(size, wanted):
    """With all of their columns, or with none."""
    effect = np.array([2.0, -1.0, 0.0, 0.0, 0.0, size, -size, 0.0])
    found = curvature.Information(100 * np.eye(8), 100 * effect)
    assert curvature._bends(found, 2, (3, 2, 1), 1.0) == wanted


def test_all_covariates_may_bend():
    found = curvature.Information(100 * np.eye(6), np.full(6, 50.0))
    assert curvature._bends(found, 1, (3, 2), 1.0) == (3, 2)
    assert curvature._bends(found, 0, (6,), 1.0) == (6,)


@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_many_rows_are_asked_in_compact_parts(unit):
    """Cells of equal size that do not overlap, no longer than they must be, whatever unit an axis has."""
    coords = np.random.default_rng(1).uniform(size=(400, 2))
    parts = curvature.compact_parts(coords * [unit, 1.0], 0, each=30)
    assert len(parts) == 16
    everything = np.concatenate(parts)
    assert_array_equal(np.sort(everything), np.arange(400))
    assert {len(part) for part in parts} == {25}
    for part in parts:
        assert np.all(np.diff(part) > 0)
        assert np.ptp(coords[part], axis=0).max() < 0.45  # a quarter of each side, and some
    some = curvature.compact_parts(coords, 0, each=30, n_parts=3)
    assert len(some) == 3 and len(np.unique(np.concatenate(some))) == 75
    (whole,) = curvature.compact_parts(coords[:60], 0, each=30)
    assert_array_equal(whole, np.arange(60))
    line = np.column_stack([coords[:, 0], np.zeros(400)])
    assert sum(map(len, curvature.compact_parts(line, 0, each=30, n_parts=3))) == 75


def test_a_trend_is_spanned_by_uncorrelated_columns():
    rng = np.random.default_rng(2)
    trend = np.column_stack([np.ones(50), rng.normal(1e3, 1e-2, 50), rng.normal(size=50)])
    trend = np.column_stack([trend, trend[:, 1] - 3 * trend[:, 2]])  # says nothing new
    found = curvature._standard(trend)
    assert found.shape == (50, 3)
    assert_allclose(found.T @ found / 50, np.eye(3), atol=1e-8)
    assert_allclose(found @ np.linalg.lstsq(found, trend, rcond=None)[0], trend, atol=1e-6)
    assert_array_equal(curvature._standard(np.ones((50, 1))), np.ones((50, 1)))


@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_parts_add_what_regression_with_a_level_for_each_would_say(n_parts):
    """Next to no field: information and shift are those of centred columns, in every part about its own mean."""
    rng, noise = np.random.default_rng(3), 0.3
    trend = np.column_stack([np.ones(90), rng.normal(size=(90, 2))])
    y = trend @ [5.0, 1.0, -0.5] + np.repeat([0.0, 7.0, -3.0], 30) + rng.normal(0, np.sqrt(noise), 90)
    whole = responses_of(rng.uniform(size=(90, 2)), trend, y)
    steady, about = curvature._steadied(whole)
    assert_array_equal(about, np.zeros(3))
    assert_allclose(steady.trend_precision, np.eye(3) / (30**2 * np.var(y)))
    parts = [steady[rows] for rows in np.split(np.arange(90), n_parts)] if n_parts > 1 else [steady]
    found = curvature._information(parts, Theta(Matern(0.1, 1e-9), noise), about)
    precision, shift = np.zeros((2, 2)), np.zeros(2)
    for part in parts:
        X, r = part.rows.trend[:, 1:] - part.rows.trend[:, 1:].mean(axis=0), part.y - part.y.mean()
        precision, shift = precision + X.T @ X / noise, shift + X.T @ r / noise
    assert_allclose(found.precision, precision, rtol=1e-4, atol=1e-3)
    assert_allclose(found.shift, shift, rtol=1e-4, atol=2e-2)


def test_counts_are_steadied_by_their_own_regression():
    rng = np.random.default_rng(4)
    trend = np.column_stack([np.ones(200), rng.normal(size=200)])
    y = rng.poisson(np.exp(trend @ [1.0, 0.6])).astype(float)
    steady, about = curvature._steadied(responses_of(rng.uniform(size=(200, 2)), trend, y, Poisson()))
    assert_allclose(about, [1.0, 0.6], atol=0.15)
    assert_allclose(steady.offset, trend @ about)
    assert steady.trend_precision is not None


@pytest.mark.parametrize(
    ("dim", "domain", "kind"),
    [
        (2, Domain(), lambda k: np.ndim(k.length_scale) == 0),
        (3, Domain(), lambda k: len(k.length_scale) == 3),
        (3, Domain(shared=(0, 0, 0)), lambda k: np.ndim(k.length_scale) == 0),
        (3, Domain(last_is_time=True), lambda k: isinstance(k, Separable)),
    ],
)
def test_the_field_beside_a_trend_has_the_units_of_its_axes(dim, domain, kind):
    rng = np.random.default_rng(5)
    coords = rng.uniform(size=(40, dim))
    found = responses_of(coords, np.ones((40, 1)), np.sin(3 * coords[:, 0]) + 0.1 * rng.normal(size=40))
    theta, family = curvature._field(Settings(), found, domain)
    assert kind(theta.kernel)
    assert family.name == "gaussian"
    assert curvature._field(Settings(noise_variance=0.04), found, domain)[0].noise == 0.04


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_bends_are_found_where_they_are(unit):
    """Two covariates, of which the first bends; in any unit of the response."""
    rng = np.random.default_rng(6)
    coords, z = rng.uniform(size=(120, 2)), rng.uniform(-1, 1, size=(120, 2))
    trend = np.column_stack([np.ones(120), z])
    y = unit * (z[:, 0] + 2 * z[:, 0] ** 2 - z[:, 1] + 0.3 * np.sin(3 * coords[:, 0]) + 0.2 * rng.normal(size=120))
    offered = [np.column_stack([c**2 - np.mean(c**2), c**3]) for c in z.T]
    found = curvature.columns_worth(Settings(), responses_of(coords, trend, y), offered, Domain())
    assert found == (2, 0)
    straight = y - unit * 2 * z[:, 0] ** 2
    assert curvature.columns_worth(Settings(), responses_of(coords, trend, straight), offered, Domain()) == (0, 0)


def test_rows_that_cannot_be_asked_say_so(monkeypatch):
    """A search that fails at first tells nothing; later on, what was found before stays."""
    rng = np.random.default_rng(7)
    coords, z = rng.uniform(size=(60, 2)), rng.uniform(-1, 1, size=60)
    given = responses_of(coords, np.column_stack([np.ones(60), z]), 3 * z**2 + 0.1 * rng.normal(size=60))
    offered, field, tries = [(z**2 - np.mean(z**2))[:, None]], curvature._field, []

    def failing(settings, responses, domain):
        tries.append(responses.rows.trend.shape[1])
        return field(settings, responses, domain) if len(tries) < fails_at else None

    monkeypatch.setattr(curvature, "_field", failing)
    for fails_at, wanted in ((1, None), (2, (1,)), (9, (1,))):
        tries.clear()
        assert curvature.columns_worth(Settings(), given, offered, Domain()) == wanted
        assert tries == [2, 3][: min(fails_at, 2)]  # asked again beside the column that was taken


def test_parts_are_compact_whatever_the_units():
    """Axes of any size: the same rows lie together."""
    coords = np.random.default_rng(1).uniform(size=(300, 2))
    ours, theirs = (curvature.compact_parts(coords * unit, 0, each=30) for unit in ([1.0, 1.0], [0.3, 0.02]))
    assert len(ours) == 16
    for one, other in zip(ours, theirs, strict=True):
        assert_array_equal(one, other)
