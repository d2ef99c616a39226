"""Cross-validation of counts and amounts: one Newton step instead of a refit, and what the scores are made of."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold

from bochner.exceptions import InputError
from bochner.validation import BlockKFold, brier, pit_histogram, reliability, rmse
from tests.estimators.families import FAMILIES, model_of, survey

FEATURES = {"exact": {"features": "exact"}, "waves": {"features": "quasi", "n_frequencies": 25}}

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
every_features = pytest.mark.parametrize("parts", FEATURES.values(), ids=FEATURES.keys())


def refit_scores(model, s, cv, names: tuple[str, ...]) -> dict[str, float]:
    """Scores of a new fit for every fold, hyperparameters held."""
    each = {name: np.empty(len(s.y)) for name in names}
    for train, test in cv.split(s.X[:, :2]):
        part = s[train]
        again = clone(model).fit(part.X, part.y, **part.known)
        law = again.predict_distribution(s.X[test], include_noise=True, **s[test].known).law
        for name in names:
            each[name][test] = {"log_score": law.log_density, "crps": law.crps}[name](s.y[test])
    return {name: float(values.mean()) for name, values in each.items()}


@every_family
@every_features
@pytest.mark.slow
def test_one_newton_step_agrees_with_refits(family, parts):
    """Within two per cent of each score, for blocks of a sixth of the map."""
    s = survey(family, 120, iid=0.1 if family.size_name else 0.0)
    noise = 0.1 if family.size_name else 0.0
    model = model_of(family, noise_variance=noise, **parts).fit(s.X, s.y, **s.known)
    cv, names = BlockKFold(6, random_state=0), ("log_score",) if family.link == "identity" else ("log_score", "crps")
    found, expected = model.cross_validate(cv, names), refit_scores(model, s, cv, names)
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=0.02)


@pytest.mark.parametrize("name", ["bernoulli", "binomial", "poisson"])
def test_random_folds_agree_with_refits(name):
    s = survey(FAMILIES[name], 40)
    model = model_of(s.family).fit(s.X, s.y, **s.known)
    found, expected = model.cross_validate(KFold(8)), refit_scores(model, s, KFold(8), ("log_score",))
    assert_allclose(found["log_score"], expected["log_score"], rtol=0.02)


def test_known_errors_weights_and_offsets_reach_the_held_out_rows():
    s = survey(FAMILIES["poisson"], 60)
    rng = np.random.default_rng(0)
    error, offset = rng.uniform(0, 0.3, 60), rng.normal(size=60) / 2
    weight = rng.integers(0, 3, 60).astype(float)
    model = model_of(s.family).fit(s.X, s.y, sample_weight=weight, offset=offset, measurement_variance=error, **s.known)
    found = model.cross_validate()
    assert_array_equal(found.index, np.flatnonzero(weight))
    assert_array_equal(found.weight, weight[weight > 0])
    kept = weight > 0
    # a new observation at a held-out row has that row's known error too
    single = np.flatnonzero(weight == 1)[:5]
    for i in single:
        rest = kept & (np.arange(60) != i)
        again = model_of(s.family).fit(
            s.X[rest],
            s.y[rest],
            sample_weight=weight[rest],
            offset=offset[rest],
            measurement_variance=error[rest],
            exposure=s.size[rest],
        )
        eta, sd = again.predict_latent(s.X[[i]], offset=offset[[i]])
        place = np.flatnonzero(found.index == i)[0]
        assert_allclose(found.law.eta.mean[place], eta[0], atol=0.05)
        assert_allclose(found.law.eta.variance[place], sd[0] ** 2 + error[i], rtol=0.1)


@every_family
def test_scores_of_a_family(family):
    s = survey(family, 60)
    found = model_of(family).fit(s.X, s.y, **s.known).cross_validate(5)
    expected = {"rmse", "mae", "crps", "log_score", "interval_score", "coverage", "bias"}
    assert set(found) == expected | ({"brier"} if family.name in ("bernoulli", "binomial") else set())
    assert all(np.isfinite(value) for value in found.values())
    assert found["coverage"] >= 0.85
    assert_allclose(found["rmse"], rmse(s.y[found.index], found.prediction.mean))
    assert_allclose(found["log_score"], found.law.log_density(s.y[found.index]).mean())
    assert all(name in str(found) for name in found)


def test_brier_score_is_that_of_single_trials():
    s = survey(FAMILIES["binomial"], 30)
    found = model_of(s.family).fit(s.X, s.y, **s.known).cross_validate(scoring=["brier"])
    p = found.prediction.mean / s.size
    trials = [(1.0, p[i]) for i in range(30) for _ in range(int(s.y[i]))]
    trials += [(0.0, p[i]) for i in range(30) for _ in range(int(s.size[i] - s.y[i]))]
    assert_allclose(found["brier"], brier(*np.array(trials).T))
    assert list(found) == ["brier"]


def test_names_of_scores():
    s = survey(FAMILIES["poisson"], 30)
    model = model_of(s.family).fit(s.X, s.y, **s.known)
    assert list(model.cross_validate(scoring="crps")) == ["crps"]
    assert list(model.cross_validate(scoring=["mae", "log_score"])) == ["mae", "log_score"]
    own = {"largest": lambda y, prediction, sample_weight=None: float(np.max(np.abs(y - prediction.mean)))}
    assert model.cross_validate(scoring=own)["largest"] > 0
    with pytest.raises(InputError, match="brier"):
        model.cross_validate(scoring="brier")
    with pytest.raises(InputError, match="scoring is empty"):
        model.cross_validate(scoring=[])


@every_family
def test_calibration_tables(family):
    """True hyperparameters: an even histogram, and predictions on the diagonal."""
    s = survey(family, 150)
    found = model_of(family).fit(s.X, s.y, **s.known).cross_validate(scoring="rmse")
    histogram = found.pit_histogram(5)
    assert_allclose(histogram.share.sum(), 1)
    # five standard errors of a share; held-out rows are not independent, hence not three
    assert np.all(np.abs(histogram.share - 0.2) < 5 * histogram.standard_error)
    levels = found.coverage_table()
    assert np.all(np.abs(levels.coverage - levels.level) < 0.15)
    table = found.reliability(4)
    assert np.all(np.diff(table.predicted) > 0) and table.n_rows.sum() == 150
    assert np.all(np.abs(table.observed - table.predicted) < 5 * table.standard_error + 1e-3)
    assert "PIT" in str(histogram) and len(str(table).splitlines()) == 5


def test_histogram_of_counts_needs_no_chance():
    """A count's mass is spread over the step that it holds; amounts fall where they are."""
    found = pit_histogram([0.0, 0.5], [0.5, 1.0], 4)
    assert_allclose(found.share, 0.25)
    assert_allclose(pit_histogram([0.1, 0.6, 0.6], [0.1, 0.6, 0.6], 2).share, [1 / 3, 2 / 3])
    assert_allclose(pit_histogram([0.0, 1.0], [0.0, 1.0], 2).share, [0.5, 0.5])
    assert_allclose(pit_histogram([0.1, 0.6], [0.1, 0.6], 2, sample_weight=[3, 1]).share, [0.75, 0.25])
    with pytest.raises(InputError, match="lower <= upper"):
        pit_histogram([0.5], [0.4])
    with pytest.raises(InputError, match="n_bins"):
        pit_histogram([0.5], [0.5], 1)


def test_reliability_pools_trials():
    table = reliability([1.0, 9.0, 0.0, 0.0, 5.0], [2.0, 8.0, 1.0, 1.0, 5.0], [2.0, 10.0, 10.0, 10.0, 10.0], 1)
    assert_allclose([table.observed[0], table.predicted[0]], [15 / 42, 17 / 42])
    with pytest.raises(InputError, match="size is 0"):
        reliability([1.0], [1.0], [0.0])
