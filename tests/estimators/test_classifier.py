"""SpatialClassifier: scikit-learn's contract, probabilities that are honest, labels of any kind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import SpatialClassifier, SpatialRegressor, load
from bochner.exceptions import InputError, PartError
from bochner.families import Bernoulli
from bochner.kernels import Matern
from bochner.validation import BlockKFold
from tests.estimators.fields import draw

KERNEL = Matern(0.3, 2.0)
NAMES = np.array(["field", "forest", "water"])


@parametrize_with_checks(
    [SpatialClassifier(Matern(), family=Bernoulli("probit"), features="quasi", n_frequencies=15, tune=None)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SpatialClassifier()])
def test_scikit_learn_check_with_everything_learned(estimator, check):
    if getattr(check, "keywords", {}).get("readonly_memmap"):
        pytest.skip("how the rows are stored is checked above, without learning")
    check(estimator)


def fixed(**more) -> SpatialClassifier:
    return SpatialClassifier(KERNEL, tune=None, **more)


def places(n: int = 120, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places, and labels drawn with probabilities from exact fields: the largest of one per class plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    fields = draw(KERNEL, X, rng, n_classes) + rng.gumbel(size=(n_classes, n))
    return X, NAMES[fields.argmax(axis=0)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", ["bernoulli", Bernoulli("probit")], ids=["logit", "probit"])
def test_probabilities_of_classes(n_classes, family):
    X, y = places(n_classes=n_classes)
    model = fixed(family=family).fit(X, y)
    assert_array_equal(model.classes_, NAMES[:n_classes])
    p = model.predict_proba(X)
    assert p.shape == (120, n_classes) and np.all((p > 0) & (p < 1))
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert len(model.models_) == (1 if n_classes == 2 else 3)
    assert model.decision_function(X).shape == ((120,) if n_classes == 2 else (120, 3))
    assert model.score(X, y) > 1 / n_classes + 0.1


def test_two_classes_are_a_bernoulli_regression():
    X, y = places()
    model = fixed().fit(X, y)
    regressor = SpatialRegressor(KERNEL, family="bernoulli", tune=None).fit(X, (y == "forest").astype(float))
    assert_array_equal(model.predict_proba(X)[:, 1], regressor.predict(X))
    assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "forest")
    latent = regressor.predict_latent(X)[0]
    assert np.all(np.abs(model.decision_function(X)) <= np.abs(latent))
    assert_allclose(1 / (1 + np.exp(-model.decision_function(X))), regressor.predict(X), rtol=1e-10)


@pytest.mark.parametrize("labels", [(0, 1), (True, False), (-1.0, 1.0), ("b", "a"), (3, 700)])
def test_labels_of_any_kind(labels):
    X, y = places()
    named = np.array(labels)[(y == "forest").astype(int)]
    model = fixed().fit(X, named)
    assert set(model.predict(X).tolist()) <= set(np.array(labels).tolist())
    own = dict(zip(model.classes_.tolist(), model.predict_proba(X).T, strict=True))
    reference = fixed().fit(X, y)
    # swapping the labels turns the sign of the linear predictor
    assert_allclose(own[np.array(labels)[1].item()], reference.predict_proba(X)[:, 1], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "model"), [(2, SpatialClassifier(Matern())), (3, fixed())])
def test_probabilities_are_calibrated(n_classes, model):
    """Held-out labels come out as often as they were said to, with the kernel learned or known."""
    X, y = places(400, n_classes, seed=3)
    p = cross_val_predict(model, X, y, cv=KFold(2), method="predict_proba")
    for k in range(n_classes):
        hit = y == NAMES[k]
        for group in np.array_split(np.argsort(p[:, k]), 4):
            said = p[group, k]
            # three standard errors of a share of 100 labels
            assert abs(hit[group].mean() - said.mean()) < 3 * np.sqrt(np.mean(said * (1 - said)) / len(group))
    shares = [np.mean(y == name) for name in NAMES[:n_classes]]
    assert log_loss(y, p) < log_loss(y, np.tile(shares, (400, 1)))


def test_sample_weight_is_copies():
    X, y = places(60)
    weight = np.arange(60) % 3
    a = fixed().fit(X, y, sample_weight=weight)
    b = fixed().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-8)


def test_offset_is_a_known_part():
    X, y = places(60)
    model = fixed().fit(X, y, offset=np.full(60, 5.0))
    assert_allclose(model.predict_proba(X, offset=5.0), fixed().fit(X, y).predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_and_loaded(n_classes, tmp_path):
    X, y = places(60, n_classes)
    model = fixed(coords=[0, 1]).fit(X, y)
    model.save(tmp_path / "classes.bochner")
    again = load(tmp_path / "classes.bochner")
    assert isinstance(again, SpatialClassifier)
    assert_array_equal(again.classes_, model.classes_)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params()["kernel"] == KERNEL and again.summary() == model.summary()


def test_searches_pipelines_and_clones():
    X, y = places(90)
    search = GridSearchCV(fixed(), {"kernel__length_scale": [0.001, 0.3]}, cv=BlockKFold(3), scoring="neg_log_loss")
    assert search.fit(X, y).best_params_ == {"kernel__length_scale": 0.3}
    scores = cross_val_score(make_pipeline(StandardScaler(), fixed()), X, y, cv=3)
    assert scores.shape == (3,) and np.all(scores > 0.4)
    copy = clone(search.best_estimator_)
    assert not hasattr(copy, "classes_") and copy.kernel == Matern(0.3, 2.0)


def test_cross_validation_without_refit():
    X, y = places(90)
    model = fixed().fit(X, y)
    found = model.cross_validate(BlockKFold(4))
    assert {"brier", "log_score", "crps"} <= set(found) and found["brier"] < 0.25
    again = cross_val_predict(fixed(), X, y, cv=BlockKFold(4), method="predict_proba")[:, 1]
    assert_allclose(found["brier"], np.mean((again - (y == "forest")) ** 2), rtol=0.02)


def test_summary_and_check_speak_of_every_class():
    X, y = places(60, 3)
    model = fixed().fit(X, y)
    assert all(f"class '{name}'" in model.summary() for name in NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert isinstance(model.check(), list)
    with pytest.raises(InputError, match="cross_validate of 3 classes"):
        model.cross_validate()


def test_covariates_and_tables():
    pd = pytest.importorskip("pandas")
    X, y = places(80)
    table = pd.DataFrame(X, columns=["x", "y"]).assign(height=np.linspace(0, 1, 80), label=y)
    model = fixed(coords=["x", "y"], covariates=["height"]).fit(table, table["label"])
    assert list(model.feature_names_in_) == ["x", "y", "height"]
    assert model.predict(table).shape == (80,)
    assert "height" in model.summary()


# ----------------------------------------------------------------------------- refusals


def test_one_class_is_refused():
    X, y = places(30)
    with pytest.raises(InputError, match=r"one class only \(\['field'\]\); a classifier needs"):
        fixed().fit(X, np.full(30, "field"))
    weight = (y == "field").astype(float)
    with pytest.raises(InputError, match="one class only"):
        fixed().fit(X, y, sample_weight=weight)


def test_a_missing_label_is_refused():
    X, _ = places(30)
    with pytest.raises(InputError, match="Input y contains NaN, first in row 4; needed is a label for every row"):
        fixed().fit(X, np.where(np.arange(30) == 4, np.nan, np.arange(30) % 2))


def test_amounts_are_no_labels():
    X, _ = places(30)
    with pytest.raises(ValueError, match="Unknown label type"):
        fixed().fit(X, np.linspace(0, 1, 30))


def test_other_families_go_to_the_regressor():
    X, y = places(30)
    with pytest.raises(PartError, match=r"family='poisson'; a classifier needs 'bernoulli'. Counts go to Spatial"):
        fixed(family="poisson").fit(X, y)


def test_offset_of_many_classes_is_refused():
    X, y = places(60, 3)
    with pytest.raises(InputError, match="offset was given with 3 classes"):
        fixed().fit(X, y, offset=np.ones(60))
