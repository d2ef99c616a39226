"""Bad input: a clear error for each, that says what was given, what is needed and what to change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bochner import FourierFeatures, SpatialRegressor
from bochner.exceptions import BochnerError
from bochner.kernels import Linear, Matern, Polynomial
from tests.estimators.fields import field

X, Y = field(30)
BAD = np.where(np.arange(30) == 7, np.nan, 1.0)


def fit(X=X, y=Y, model: dict | None = None, **parts):
    return SpatialRegressor(**(model or {})).fit(X, y, **parts)


def fitted() -> SpatialRegressor:
    return fit(model={"kernel": Matern(0.4), "noise_variance": 0.1, "tune": None})


# what is done -> what the message says; errors of ours are built-in ones too
REFUSED = {
    # the table and the response
    "nan-in-X": (lambda: fit(X * BAD[:, None]), ValueError, "contains NaN: 1 in x0.*row 7, column x0.*drop"),
    "inf-in-X": (lambda: fit(np.where(X > 0.9, np.inf, X)), ValueError, "infinity"),
    "nan-in-y": (lambda: fit(y=Y * BAD), ValueError, "contains NaN"),
    "inf-in-y": (lambda: fit(y=np.where(np.arange(30) == 3, -np.inf, Y)), ValueError, "infinity"),
    "lengths": (lambda: fit(y=Y[:-1]), ValueError, r"inconsistent numbers of samples: \[30, 29\]"),
    "one-dimensional": (lambda: fit(X[:, 0]), ValueError, "Reshape your data"),
    "three-dimensional": (lambda: fit(X[None]), ValueError, "dim.*<= 2"),
    "two-responses": (lambda: fit(y=np.column_stack([Y, Y])), ValueError, r"y should be a 1d array"),
    "empty": (lambda: fit(X[:0], Y[:0]), ValueError, "0 sample"),
    "no-columns": (lambda: fit(X[:, :0]), ValueError, "0 feature"),
    "one-row": (lambda: fit(X[:1], Y[:1]), ValueError, "1 sample.*needs at least 2.*tune=None"),
    "one-row-with-weight": (lambda: fit(sample_weight=np.eye(30)[0]), ValueError, "at least 2"),
    "text-y": (lambda: fit(y=np.array(["a"] * 30)), ValueError, "could not convert string to float"),
    "text-X": (lambda: fit(np.full((30, 2), "a")), ValueError, "could not convert string to float"),
    "complex": (lambda: fit(X + 1j), ValueError, "Complex data not supported"),
    "one-place-without-noise": (
        lambda: fit(np.ones((30, 2)), model={"noise_variance": 0}),
        ValueError,
        "one place and noise_variance=0.*Give a noise variance",
    ),
    # what comes with each row
    "negative-weight": (lambda: fit(sample_weight=np.arange(30) - 1), ValueError, "sample_weight is -1 at row 0"),
    "nan-weight": (lambda: fit(sample_weight=BAD), ValueError, r"1 NaN or infinite value\(s\), the first at \(7,\)"),
    "short-weight": (lambda: fit(sample_weight=np.ones(29)), ValueError, r"shape \(29,\); needed is one.*\(30,\)"),
    "zero-weights": (lambda: fit(sample_weight=np.zeros(30)), ValueError, "every sample_weight is zero"),
    "text-weight": (lambda: fit(sample_weight=["a"] * 30), ValueError, "sample_weight cannot be read as numbers"),
    "negative-error": (lambda: fit(measurement_variance=-0.1), ValueError, "measurement_variance is -0.1 at row 0"),
    "short-offset": (lambda: fit(offset=np.ones(3)), ValueError, "offset has shape"),
    "trials": (lambda: fit(trials=np.ones(30)), ValueError, "trials was given, but family='gaussian' has neither"),
    "exposure": (
        lambda: fit(exposure=np.ones(30)),
        ValueError,
        "exposure was given, but family='gaussian' has neither",
    ),
    "predict-at": (lambda: fit(predict_at=np.ones((5, 3))), ValueError, "predict_at has 3 columns; needed are 2"),
    # parameters
    "keyword": (lambda: SpatialRegressor(lenght_scale=1), TypeError, "unexpected keyword argument 'lenght_scale'"),
    "keyword-of-fit": (lambda: fit(weights=np.ones(30)), TypeError, "unexpected keyword argument 'weights'"),
    "set-params": (lambda: SpatialRegressor().set_params(foo=1), ValueError, "Invalid parameter 'foo'"),
    "kernel-params": (
        lambda: SpatialRegressor(Matern()).set_params(kernel__lenght_scale=1),
        ValueError,
        "Matern has no parameter 'lenght_scale'; it has",
    ),
    "kernel-params-of-none": (
        lambda: SpatialRegressor().set_params(kernel__length_scale=1),
        ValueError,
        "kernel is None; give a kernel first",
    ),
    "length-scale": (lambda: Matern(-1.0), ValueError, "length_scale is -1.0; needed is a finite number > 0"),
    "length-scale-set": (
        lambda: SpatialRegressor(Matern()).set_params(kernel__length_scale=-1.0),
        ValueError,
        "length_scale is -1.0; needed is a finite number > 0",
    ),
    "length-scales": (
        lambda: fit(model={"kernel": Matern((1.0, 2.0, 3.0))}),
        ValueError,
        "3 length scales for 2 coordinates; give one number, or one per coordinate",
    ),
    "kernel-text": (
        lambda: fit(model={"kernel": "mattern"}),
        ValueError,
        "'mattern' is not known; did you mean 'matern'",
    ),
    "kernel-changing": (
        lambda: fit(model={"kernel": dataclass(type("Mine", (Matern,), {"__hash__": None}), eq=False, frozen=True)()}),
        ValueError,
        "Mine cannot be hashed .* never changes",
    ),
    "kernel-class": (lambda: fit(model={"kernel": Matern}), ValueError, "is not a kernel; take one from"),
    "features": (lambda: fit(model={"features": "quazi"}), ValueError, "features='quazi' is not known; choose from"),
    "features-list": (lambda: fit(model={"features": ["quasi"]}), ValueError, "is not known; choose from"),
    "family": (
        lambda: fit(model={"family": "gausian"}),
        ValueError,
        "family='gausian' is not known; did you mean 'gaussian'",
    ),
    "family-list": (lambda: fit(model={"family": ["gaussian"]}), ValueError, "is not known; did you mean"),
    "tune": (lambda: fit(model={"tune": "evidance"}), ValueError, "tune='evidance'; needed is one of.*splitter"),
    "tune-number": (lambda: fit(model={"tune": 5}), ValueError, "tune=5; needed is one of"),
    "noise": (lambda: fit(model={"noise_variance": -1}), ValueError, "noise_variance is -1; needed is .* >= 0"),
    "noise-text": (lambda: fit(model={"noise_variance": "low"}), ValueError, "'low'; needed is a number"),
    "frequencies": (lambda: fit(model={"n_frequencies": 0}), ValueError, "n_frequencies=0; needed is 'auto' or an"),
    "frequencies-half": (lambda: fit(model={"n_frequencies": 2.5}), ValueError, "n_frequencies=2.5; needed is 'auto'"),
    "frequencies-text": (lambda: fit(model={"n_frequencies": "many"}), ValueError, "'many'; needed is 'auto' or an"),
    "frequencies-none": (lambda: fit(model={"n_frequencies": None}), ValueError, "None; needed is 'auto' or an"),
    "frequencies-few": (
        lambda: fit(model={"kernel": Matern() + Matern(), "features": "quasi", "n_frequencies": 1}),
        ValueError,
        "at least 2: one for each term of the kernel",
    ),
    "intercept": (lambda: fit(model={"fit_intercept": "no"}), ValueError, "fit_intercept='no'; needed is one of"),
    "tolerance": (lambda: fit(model={"tolerance": 0}), ValueError, "tolerance is 0; needed is a finite number > 0"),
    "dtype": (lambda: fit(model={"dtype": "float16"}), ValueError, "dtype='float16'; needed is one of"),
    "device": (lambda: fit(model={"device": "tpu"}), ValueError, "device='tpu'; needed is one of"),
    "threads": (lambda: fit(model={"n_jobs": 0}), ValueError, "n_jobs=0; needed is a number of threads >= 1"),
    "memory": (lambda: fit(model={"memory_limit": "2 bananas"}), ValueError, "needed is a number of bytes, or text"),
    "memory-short": (
        lambda: fit(model={"features": "exact", "memory_limit": "9KB"}),
        MemoryError,
        "30 rows needs.*more than memory_limit.*features='auto'",
    ),
    "seed": (lambda: fit(model={"random_state": "a"}), ValueError, "random_state='a'; needed is None, an integer"),
    "polynomial-waves": (
        lambda: fit(model={"kernel": Polynomial(), "features": "quasi"}),
        ValueError,
        "Polynomial is not shift-invariant.*use features='exact' or features='nystroem'",
    ),
    "linear-waves": (
        lambda: fit(model={"kernel": Matern() + Linear(), "features": "monte-carlo", "n_frequencies": 10}),
        ValueError,
        "Linear is not shift-invariant",
    ),
    # columns
    "column-name": (lambda: fit(model={"coords": ["x0", "xx1"]}), KeyError, "no column 'xx1'; did you mean 'x1'"),
    "column-position": (lambda: fit(model={"coords": [0, 5]}), ValueError, "no column 5; the table has 2 columns"),
    "column-half": (lambda: fit(model={"coords": [0.5]}), ValueError, "given as 0.5; needed is its name or its pos"),
    "column-twice": (lambda: fit(model={"coords": [0, 0]}), ValueError, "column 'x0' is named twice"),
    "column-both": (lambda: fit(model={"coords": [0, 1], "covariates": [1]}), ValueError, "both as a coordinate and"),
    "no-coordinates": (lambda: fit(model={"covariates": [0, 1]}), ValueError, "no column is left as a coordinate"),
    # prediction
    "not-fitted": (lambda: SpatialRegressor().predict(X), NotFittedError, "not fitted yet"),
    "predict-columns": (lambda: fitted().predict(X[:, :1]), ValueError, "X has 1 features, but .* is expecting 2"),
    "predict-nan": (lambda: fitted().predict(X * BAD[:, None]), ValueError, "contains NaN"),
    "std-and-cov": (
        lambda: fitted().predict(X, return_std=True, return_cov=True),
        ValueError,
        "return_std and return_cov were both asked for; ask for one of them",
    ),
    "level": (
        lambda: fitted().predict_interval(X, 95),
        ValueError,
        "level=95; needed is a probability between 0 and 1",
    ),
    "quantile": (lambda: fitted().predict_quantiles(X, [0.5, 1.0]), ValueError, "strictly between 0 and 1"),
    "quantile-text": (lambda: fitted().predict_quantiles(X, "half"), ValueError, "q cannot be read as numbers"),
    "threshold": (lambda: fitted().predict_exceedance(X, np.ones(3)), ValueError, "threshold has shape"),
    "no-draws": (lambda: fitted().sample_y(X, 0), ValueError, "n_samples=0; needed is an integer >= 1"),
    "half-draws": (lambda: fitted().sample_y(X, 1.5), ValueError, "n_samples=1.5; needed is an integer >= 1"),
    "offset-at-predict": (lambda: fitted().predict(X, offset=np.ones(3)), ValueError, "offset has shape"),
    "trials-at-predict": (lambda: fitted().predict(X, trials=5), ValueError, "trials was given, but"),
    "unknown-score": (lambda: fitted().cross_validate(scoring="rsme"), ValueError, "did you mean 'rmse'"),
    "unknown-splitter": (lambda: fitted().cross_validate("blocks"), ValueError, "cv='blocks'; needed is None, a num"),
    # FourierFeatures
    "waves-none": (lambda: FourierFeatures(n_frequencies=0).fit(X), ValueError, "n_frequencies=0; needed is an int"),
    "waves-text": (lambda: FourierFeatures(n_frequencies="auto").fit(X), ValueError, "'auto'; needed is an integer"),
    "waves-rule": (lambda: FourierFeatures(features="exact").fit(X), ValueError, "'exact' is not a frequency rule"),
    "waves-kernel": (lambda: FourierFeatures("rbf").fit(X), ValueError, "kernel='rbf' is not a kernel; take one"),
    "waves-linear": (lambda: FourierFeatures(Linear()).fit(X), ValueError, "Linear is not shift-invariant"),
    "waves-dtype": (lambda: FourierFeatures(dtype="int8").fit(X), ValueError, "dtype='int8'; needed is"),
}


@pytest.mark.parametrize(("attempt", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_input_is_refused(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


@pytest.mark.parametrize("name", ["negative-weight", "features", "tune", "kernel-text", "column-twice", "memory-short"])
def test_errors_of_ours_share_a_base(name):
    with pytest.raises(BochnerError):
        REFUSED[name][0]()


def test_a_refused_fit_leaves_the_last_one_usable():
    model = fitted()
    before = model.predict(X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, Y, sample_weight=-np.ones(30))
    np.testing.assert_array_equal(model.predict(X), before)


def test_one_row_can_be_fitted_when_nothing_is_learned():
    model = SpatialRegressor(Matern(0.4), noise_variance=0.1, tune=None, fit_intercept=False).fit(X[:1], [2.0])
    mean, sd = model.predict(X[:1], return_std=True)
    np.testing.assert_allclose(mean, 2.0 / 1.1)
    np.testing.assert_allclose(sd, np.sqrt(1 - 1 / 1.1))
