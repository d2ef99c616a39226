"""scikit-learn's protocol beyond its checks: searches, pipelines, clones, metadata, read-only data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import FourierFeatures, SpatialRegressor
from bochner.kernels import Matern, SquaredExponential
from bochner.validation import BlockKFold
from tests.estimators.fields import KINDS, field, new_places

every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def fixed(**more) -> SpatialRegressor:
    return SpatialRegressor(Matern(0.4), noise_variance=0.05, tune=None, **more)


def test_grid_search_over_a_kernel_parameter():
    X, y = field()
    grid = {"kernel__length_scale": [0.01, 0.4, 100.0]}
    search = GridSearchCV(fixed(), grid, cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 0.4}
    assert search.best_estimator_.kernel_ == Matern(0.4)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_grid_search_in_a_pipeline_and_over_whole_kernels():
    X, y = field()
    pipeline = Pipeline([("scale", StandardScaler()), ("model", fixed())])
    grid = [
        {"model__kernel__length_scale": [0.05, 1.0], "model__noise_variance": [0.01, 0.1]},
        {"model__kernel": [SquaredExponential(), Matern() + Matern(3.0)], "model__kernel__k2__length_scale": [2.0]},
    ]
    search = GridSearchCV(pipeline, grid[0], cv=BlockKFold(3)).fit(X, y)
    assert search.best_estimator_["model"].kernel.length_scale in (0.05, 1.0)
    pipeline.set_params(model__kernel=Matern() + Matern(3.0), model__kernel__k2__length_scale=2.0)
    assert pipeline["model"].kernel == Matern() + Matern(2.0)


def test_grid_search_over_fourier_features():
    from sklearn.linear_model import Ridge

    X, y = field()
    pipeline = make_pipeline(FourierFeatures(Matern()), Ridge())
    search = GridSearchCV(pipeline, {"fourierfeatures__kernel__length_scale": [0.001, 0.5]}, cv=3).fit(X, y)
    assert search.best_params_["fourierfeatures__kernel__length_scale"] == 0.5


def test_cross_val_score_with_a_spatial_splitter():
    X, y = field(100)
    scores = cross_val_score(fixed(), X, y, cv=BlockKFold(4), scoring="neg_root_mean_squared_error")
    assert scores.shape == (4,) and np.all(np.isfinite(scores))


@every_kind
def test_clone_keeps_parameters_and_forgets_the_fit(make):
    X, y = field()
    model = make(random_state=3).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_") and not name.startswith("__")]
    assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


@every_kind
def test_pickled_models_predict_the_same(make):
    X, y = field()
    model = make().fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_params_of_a_kernel_are_listed_and_set():
    model = SpatialRegressor(Matern(0.5) + SquaredExponential())
    assert model.get_params()["kernel__k1__length_scale"] == 0.5
    model.set_params(kernel__k1__length_scale=2.0, kernel__k2__variance=3.0, tune=None)
    assert model.kernel == Matern(2.0) + SquaredExponential(variance=3.0)
    assert model.tune is None


@every_kind
def test_fit_leaves_read_only_input_alone(make):
    X, y = field()
    weight, error, offset = np.ones(60), np.full(60, 0.01), np.linspace(0, 1, 60)
    extra = {} if make is KINDS["least-squares"] else {"measurement_variance": error}
    arrays = (X, y, weight, error, offset)
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    model = make().fit(X, y, sample_weight=weight, offset=offset, **extra)
    places = new_places()
    places.flags.writeable = False
    model.predict(places, return_std=True)
    model.predict_interval(places)
    model.sample_y(places, 2)
    for a, b in zip(arrays, before, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, int])
def test_layout_and_type_of_input_make_no_difference(order, dtype):
    X, y = field()
    X = np.round(100 * X)
    given = np.asarray(X, dtype=dtype, order=order)
    a, b = fixed().fit(given, y), fixed().fit(X, y)
    assert_allclose(a.predict(given), b.predict(X), rtol=1e-12)


def test_same_seed_gives_the_same_bits_and_another_seed_other_waves():
    X, y = field()
    make = KINDS["primal"]
    a, b, c = (make(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert_array_equal(a.predict(X), b.predict(X))
    assert not np.array_equal(a.predict(X), c.predict(X))
    d = make(random_state=np.random.RandomState(1)).fit(X, y)
    assert np.isfinite(d.predict(X)).all()


def test_score_is_r_squared():
    X, y = field()
    model = fixed().fit(X, y)
    expected = 1 - np.mean((y - model.predict(X)) ** 2) / np.var(y)
    assert_allclose(model.score(X, y), expected)


# ------------------------------------------------------------------------- FourierFeatures


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_fourier_features_in_a_frame(container):
    pytest.importorskip(container)
    X, _ = field(10)
    features = FourierFeatures(n_frequencies=3).set_output(transform=container)
    frame = features.fit_transform(X)
    names = ["cos0", "cos1", "cos2", "sin0", "sin1", "sin2"]
    assert list(frame.columns) == names == list(features.get_feature_names_out())
    assert_array_equal(np.asarray(frame), FourierFeatures(n_frequencies=3).fit(X).transform(X))


@pytest.mark.parametrize("features", ["monte-carlo", "quasi", "orthogonal", "structured"])
def test_fourier_features_make_the_kernel(features):
    X, _ = field(40)
    kernel = Matern(0.5, 2.0, nu=2.5)
    waves = FourierFeatures(kernel, features=features, n_frequencies=1000, random_state=1).fit(X)
    phi = waves.transform(X)
    assert phi.shape == (40, 2000)
    # RMS error of 1,000 cosines, at most sqrt(1 / 1,000) of the variance
    assert np.sqrt(np.mean((phi @ phi.T - kernel(X)) ** 2)) <= 3 * 2.0 / np.sqrt(1000)
    assert waves.kernel_error_ <= 3 / np.sqrt(1000)


def test_fourier_features_in_float32():
    X, _ = field(10)
    phi = FourierFeatures(dtype="float32").fit_transform(X)
    assert phi.dtype == np.float32
    assert_allclose(phi, FourierFeatures().fit_transform(X), atol=1e-6)
