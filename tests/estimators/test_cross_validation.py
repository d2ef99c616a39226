"""Cross-validation without refit, against real refits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit, ShuffleSplit

from bochner import SpatialRegressor
from bochner.estimators.crossvalidation import make_folds
from bochner.exceptions import InputError
from bochner.features import NystroemMap
from bochner.inference import Observations, leave_out
from bochner.inference.fits.linear import LinearEngine
from bochner.kernels import Matern, Polynomial
from bochner.validation import BlockKFold, BufferedBlockKFold, BufferedLeaveOneOut, crps, rmse
from tests.estimators.fields import KINDS, field
from tests.laws.registry_models import observe

SPLITTERS = {
    "leave-one-out": LeaveOneOut(),
    "k-fold": KFold(7, shuffle=True, random_state=0),
    "halves": KFold(2, shuffle=True, random_state=0),  # blocks larger than the number of columns
    "blocks": BlockKFold(4),
    "buffered-blocks": BufferedBlockKFold(4, buffer=0.1),
    "buffered-leave-one-out": BufferedLeaveOneOut(0.15),
    "shuffled": ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0),
}
FIXED = ("exact", "primal", "woodbury", "least-squares")

every_fixed_kind = pytest.mark.parametrize("kind", FIXED)
every_splitter = pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS.keys())


def table(n: int = 40) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Coordinates and a covariate, response, and everything that fit takes per row."""
    X, y = field(n)
    rng = np.random.default_rng(5)
    covariate = rng.normal(size=n)
    more = {"sample_weight": rng.choice([1.0, 2.0, 0.5], size=n), "offset": rng.normal(size=n)}
    return np.column_stack([X, covariate]), y + covariate + more["offset"], more


def refits(model: SpatialRegressor, X, y, more, cv):
    """Mean and sd of new observations at the test rows, by fitting anew for each fold."""
    parts = []
    for train, test in cv.split(X[:, :2], y):
        again = clone(model).fit(X[train], y[train], **{name: values[train] for name, values in more.items()})
        offset = more["offset"][test] if "offset" in more else None
        parts.append((test, *again.predict(X[test], return_std=True, include_noise=True, offset=offset)))
    return (np.concatenate(part) for part in zip(*parts, strict=True))


@every_fixed_kind
@every_splitter
def test_equals_real_refits(kind, cv):
    X, y, more = table()
    model = KINDS[kind](covariates=[2]).fit(X, y, **more)
    found = model.cross_validate(cv)
    index, mean, sd = refits(model, X, y, more, cv)
    assert_array_equal(found.index, index)
    assert_allclose(found.prediction.mean, mean, atol=1e-6)
    if kind != "least-squares":  # whose noise is estimated anew by each refit
        assert_allclose(found.prediction.sd, sd, atol=1e-6)
        weight = more["sample_weight"][index]
        assert_allclose(found["rmse"], rmse(y[index], mean, sample_weight=weight), rtol=1e-6)
        assert_allclose(found["crps"], crps(y[index], mean, sd, sample_weight=weight), rtol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "primal", "woodbury"])
def test_equals_real_refits_with_known_errors_and_repeated_places(kind):
    X, y = field(40)
    rng = np.random.default_rng(0)
    X, y = np.r_[X, X[:15]], np.r_[y, y[:15] + 0.2 * rng.normal(size=15)]
    error = rng.uniform(0, 0.1, size=55)
    error[40:45] = error[:5]  # some of the copies can be merged, others cannot
    model = KINDS[kind]().fit(X, y, measurement_variance=error)
    cv = KFold(5, shuffle=True, random_state=1)
    found = model.cross_validate(cv)
    index, mean, sd = refits(model, X, y, {"measurement_variance": error}, cv)
    assert_allclose(found.prediction.mean, mean, atol=1e-6)
    # a new observation at a held-out row has that row's known error too
    assert_allclose(found.prediction.sd, np.sqrt(sd**2 + error[index]), atol=1e-6)


@pytest.mark.parametrize("cv", [None, *SPLITTERS.values()], ids=["default", *SPLITTERS.keys()])
def test_nystroem_equals_refits_with_the_same_landmarks(cv):
    """The features are held: landmarks are a choice made before, as length scales are."""
    obs, noise = observe(2, weights=True, errors=True), 0.1
    features = NystroemMap.at(Matern(0.5), obs.rows.coords[::4])
    engine = LinearEngine(features, noise)
    folds = None if cv is None else list(cv.split(obs.rows.coords))
    found = engine.fit(obs).leave_out(obs, folds)
    parts = []
    for train, test in LeaveOneOut().split(obs.y) if folds is None else folds:
        posterior = engine.fit(obs[train]).posterior
        parts.append((test, posterior.mean(obs.rows[test]), posterior.variance(obs.rows[test])))
    index, mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert_array_equal(found.index, index)
    assert_allclose(found.mean, mean, atol=1e-6)
    assert_allclose(found.variance, variance, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_default_is_leave_one_out(kind):
    X, y = field()
    model = KINDS[kind]().fit(X, y)
    a, b = model.cross_validate(), model.cross_validate(LeaveOneOut())
    assert_array_equal(a.index, np.arange(60))
    assert_allclose(a.prediction.mean, b.prediction.mean, atol=1e-7)
    assert_allclose(a.prediction.sd, b.prediction.sd, atol=1e-7)
    assert_allclose([a[name] for name in a], [b[name] for name in a], rtol=1e-6)


def test_averaged_models_average_their_held_out_predictions():
    X, y = field()
    model = KINDS["averaged"]().fit(X, y)
    mass, responses = model.fitted_.model.mixture.mass, model.training_responses()
    held = leave_out(model.fitted_.model, responses, None)
    assert len(held) == len(mass) > 1
    found = model.cross_validate()
    mean = mass @ np.stack([h.mean for h in held]) + responses.offset
    assert_allclose(found.prediction.mean, mean, rtol=1e-10)
    lower, upper = found.prediction.lower, found.prediction.upper
    assert_allclose(found["coverage"], np.mean((lower <= y) & (y <= upper)))


@pytest.mark.parametrize("kind", ["exact", "primal", "nystroem"])
@pytest.mark.parametrize("cv", [None, KFold(5), PredefinedSplit(np.arange(60) % 4)])
def test_rows_without_weight_are_not_there(kind, cv):
    X, y = field()
    weight = np.where(np.arange(60) % 7, 1.0, 0.0)
    kept = np.flatnonzero(weight)
    found = KINDS[kind]().fit(X, y, sample_weight=weight).cross_validate(cv)
    assert set(found.index) == set(kept)
    assert np.all(np.isfinite(found.prediction.mean)) and all(np.isfinite(value) for value in found.values())
    if cv is None:
        expected = KINDS[kind]().fit(X[kept], y[kept]).cross_validate()
        assert_allclose(found.prediction.mean, expected.prediction.mean, rtol=1e-8)


def test_kernels_that_are_not_shift_invariant():
    X, y = field()
    model = SpatialRegressor(Polynomial(degree=3), noise_variance=0.05, tune=None).fit(X, y)
    _, mean, _ = refits(model, X, y, {}, KFold(5))
    assert_allclose(model.cross_validate(KFold(5)).prediction.mean, mean, atol=1e-6)


def test_an_integer_is_that_many_folds_of_blocks():
    X, y = field()
    model = KINDS["exact"]().fit(X, y)
    assert_array_equal(model.cross_validate(4).fold, model.cross_validate(BlockKFold(4, random_state=0)).fold)


def test_groups_reach_the_splitter():
    X, y = field()
    groups = np.arange(60) // 15
    found = KINDS["exact"]().fit(X, y).cross_validate(GroupKFold(4), groups=groups)
    assert all(len(set(groups[found.index[found.fold == k]])) == 1 for k in range(4))


def test_groups_of_the_fit_are_held_out_together():
    """Stations given to `fit` stay whole in every way to hold rows out that names no splitter."""
    X, y = field()
    groups = np.array([f"station {k}" for k in np.arange(60) // 3])
    model = KINDS["exact"]().fit(X, y, groups=groups)
    single = model.cross_validate()
    assert len(np.unique(single.fold)) == 20
    for found in (single, model.cross_validate(4), model.cross_validate(GroupKFold(4))):
        of_group = [set(found.fold[np.isin(found.index, np.flatnonzero(groups == g))]) for g in np.unique(groups)]
        assert all(len(folds) == 1 for folds in of_group)
    index, mean, _ = refits(model, X, y, {}, PredefinedSplit(np.arange(60) // 3))
    assert_allclose(single.prediction.mean[np.argsort(single.index)], mean[np.argsort(index)], atol=1e-6)


def test_groups_are_whole_when_tuning_is_by_folds():
    X, y = field()
    groups = np.arange(60) // 3
    folds = make_folds("spatial-cv", X, y, None, 0, groups)
    assert folds and all(not set(groups[train]) & set(groups[test]) for train, test in folds)


def test_scores_by_name():
    X, y = field()
    model = KINDS["exact"]().fit(X, y)
    assert list(model.cross_validate(scoring="mae")) == ["mae"]
    assert list(model.cross_validate(scoring=["crps", "coverage"])) == ["crps", "coverage"]
    everything = model.cross_validate()
    assert {"rmse", "mae", "crps", "log_score", "interval_score", "coverage", "bias"} <= set(everything)
    assert "60 folds, 60 held-out rows" in str(everything)


@every_fixed_kind
@pytest.mark.parametrize("level", [0.0, 1e4])
def test_blocks_that_leave_the_trend_undetermined_are_refused(kind, level):
    X, y = field(30)
    covariate = level + np.r_[np.ones(10), np.zeros(20)]
    model = KINDS[kind](covariates=[2]).fit(np.column_stack([X, covariate]), y)
    with pytest.raises(InputError, match="leaves the trend undetermined"):
        model.cross_validate(PredefinedSplit(np.r_[np.zeros(10), np.ones(20)].astype(int)))


@every_fixed_kind
def test_a_row_that_alone_tells_an_effect_is_not_predicted_from_the_others(kind):
    X, y = field(30)
    one = np.r_[np.zeros(29), 1.0]
    found = KINDS[kind](covariates=[2]).fit(np.column_stack([X, one]), y).cross_validate()
    without = KINDS[kind]().fit(X[:29], y[:29]).cross_validate()
    assert_array_equal(np.sort(found.index), np.arange(29))
    assert found["crps"] == pytest.approx(without["crps"], rel=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_a_row_that_alone_tells_an_effect_is_no_reason_for_alarm(family):
    rng = np.random.default_rng(3)
    X, one = rng.uniform(size=(300, 2)), np.r_[np.zeros(299), 1.0]
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
    model = SpatialRegressor(family=family, covariates=[2]).fit(np.column_stack([X, one]), y)
    assert model.check() == []
    assert model.cross_validate()["rmse"] == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("n", [8, 60])
def test_as_many_effects_as_rows_leave_none_to_be_scored(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2 + n - 1)), rng.normal(size=n)
    model = SpatialRegressor(tune="likelihood", covariates=list(range(2, n + 1))).fit(X, y)
    model.check()
    with pytest.raises(InputError, match="as many effects as there are rows"):
        model.cross_validate()
    with pytest.raises(InputError, match="as many effects as there are rows"):
        SpatialRegressor(family="student", covariates=list(range(2, n + 1))).fit(X, y)


def test_folds_without_training_rows_are_refused():
    obs = observe(2, n=10)
    fit = LinearEngine(NystroemMap.at(Matern(0.5), obs.rows.coords[:3]), 0.1).fit(obs)
    with pytest.raises(InputError, match="fold 0 has 0 training and 10 test rows"):
        fit.leave_out(obs, [(np.arange(0), np.arange(10))])


def test_single_rows_of_observations_keep_their_parts():
    obs = observe(2, n=10, weights=True, errors=True)
    part = obs[np.array([3])]
    assert isinstance(part, Observations) and len(part) == 1
    assert part.error[0] == obs.error[3] and part.weight[0] == obs.weight[3]
