"""Learning: every kernel, kind of features, family and criterion; covariates, times, images, classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from bochner import SpatialClassifier, SpatialRegressor
from bochner.families import Binomial, Poisson, Student
from bochner.kernels import Gneiting, Matern, OnAxes, Periodic, Separable, kernel_named

from .data import FAMILIES, FIXED, answers, places, responses, rows, surface, table
from .registry import check

KERNELS = (
    *("matern12", "exponential", "matern32", "matern52", "matern", "squared-exponential", "se", "laplacian", "cauchy"),
    *("rational-quadratic", "periodic", "polynomial", "linear", "matern12+matern32", "matern32*se"),
    *("matern32(length_scale=0.3, variance=2)",),
)
FEATURES = (
    *("auto", "exact", "nystroem", "lattice", "conjugate-gradients", "nearest", "leverage", "learned", "nonstationary"),
    *("monte-carlo", "quasi", "orthogonal", "structured"),
)


def explained(model: SpatialRegressor, least: float = 0.8) -> None:
    """Require that predictions follow the surface."""
    at = places(200)
    mean, sd = answers(model, at)
    assert np.isfinite(sd).all() and sd.min() > 0, "an sd is not positive"
    share = np.corrcoef(mean, surface(at))[0, 1]
    assert share > least, f"predictions correlate by {share:.3f} with the truth"


@check("kernel learns", over=KERNELS)
def _(name: str) -> None:
    X, y = rows(100)
    learned = SpatialRegressor(name).fit(X, y)
    kept = SpatialRegressor(name, tune=None, noise_variance=0.5).fit(X, y)
    assert type(learned.kernel_) is type(kernel_named(name)) or name == "linear", learned.kernel_
    assert learned.log_evidence_ > kept.log_evidence_ + 1, "learning gained no evidence"
    assert np.isfinite(answers(learned, places())).all()


@check("features learn", over=FEATURES)
def _(name: str) -> None:
    model = SpatialRegressor("matern32", features=name).fit(*rows(250))
    explained(model)
    assert model.choices_["features"].value == ("exact" if name == "auto" else name)
    assert 0.01 < model.noise_variance_ < 0.1, model.noise_variance_


@check("family learns", over=FAMILIES)
def _(family: str) -> None:
    X, _ = rows(200)
    y, of = responses(family, X)
    model = SpatialRegressor(family=family).fit(X, y, **of)
    explained(model, 0.6)
    assert family in model.summary()
    held = model.cross_validate()
    assert 0.85 < held["coverage"] <= 1.0, held["coverage"]
    noisy = model.predict_interval(places(), include_noise=True, **dict.fromkeys(of, 20))
    assert np.all(noisy[:, 1] > noisy[:, 0])


@check("family with values", over=(Binomial(link="probit"), Poisson(link="identity"), Student(dof=4)))
def _(family: object) -> None:
    X, _ = rows(150)
    y, of = responses(family.name, X)  # type: ignore[attr-defined]
    y = np.maximum(y, 1) if isinstance(family, Poisson) else y
    explained(SpatialRegressor("matern32", family=family).fit(X, y, **of), 0.6)


@check("tune", over=("evidence", "likelihood", "spatial-cv", KFold(4)))
def _(how: object) -> None:
    X, y = rows(120)
    model = SpatialRegressor("matern32", tune=how).fit(X, y)
    explained(model)
    assert model.choices_["tuning"].value == ("exact" if how in ("evidence", "likelihood") else "held-out blocks")


@check("tune: None keeps values")
def _() -> None:
    model = SpatialRegressor(**FIXED).fit(*rows(120))
    assert model.kernel_ == FIXED["kernel"] and model.noise_variance_ == FIXED["noise_variance"]


@check("more kernels learn", over=("separable", "gneiting", "on axes", "smoothness", "rotation", "no kernel"))
def _(name: str) -> None:
    X, y = rows(150, dim=3)
    kernel = {
        "separable": Separable(Matern(), Matern(nu=0.5)),
        "gneiting": Gneiting(),
        "on axes": OnAxes(Matern(), (0, 1)) + OnAxes(Periodic(), 2),
        "smoothness": Matern(learn_nu=True),
        "rotation": Matern((1.0, 2.0), rotation=0.3),
        "no kernel": None,
    }[name]
    X = X[:, :2] if name == "rotation" else X
    model = SpatialRegressor(kernel).fit(X, y)
    assert np.corrcoef(model.predict(X), surface(X))[0, 1] > 0.9
    assert type(model.kernel_) is type(kernel) or kernel is None


@check("a kernel of space and time is chosen")
def _() -> None:
    rng = np.random.default_rng(0)
    at = np.repeat(rng.uniform(0, 100, size=(20, 2)), 15, axis=0)
    coords = np.column_stack([at, np.tile(np.arange(15), 20)])
    field = Separable(Matern(40.0), Matern(4.0, nu=0.5))(coords) + OnAxes(Matern(30.0, 2.0), (0, 1))(coords)
    y = np.linalg.cholesky(field + 1e-8 * np.eye(300)) @ rng.normal(size=300) + 0.2 * rng.normal(size=300)
    model = SpatialRegressor().fit(pd.DataFrame(coords, columns=["x", "y", "day"]), y)
    assert not isinstance(model.kernel_, Matern), model.choices_["kernel"]


@check("covariates: linear, curved, categories, dates")
def _() -> None:
    frame = table(300)
    kind = np.array(["low", "high", "mid"])[np.arange(300) % 3]
    frame = frame.assign(kind=kind, bent=np.linspace(-2, 2, 300), when=pd.date_range("2020-01-01", periods=300))
    z = frame.z + frame.bent**2 + 2.0 * (kind == "high")
    used = frame[["x", "y", "height", "kind", "bent", "when"]]
    model = SpatialRegressor(coords=["x", "y"], covariates=["height", "kind", "bent", "when"]).fit(used, z)
    assert "bent" in str(model.choices_["curves"]) and "kind: 3 levels" in str(model.choices_["categories"])
    assert "2020-01-01" in str(model.choices_["time"])
    assert model.score(used, z) > 0.9


@check("predictions of unknown covariates are refused")
def _() -> None:
    frame = table(60)
    model = SpatialRegressor(**FIXED, coords=["x", "y"], covariates=["height"]).fit(frame, frame.z)
    try:
        model.predict(frame[["x", "y"]])
    except ValueError as error:
        assert "height" in str(error)
    else:
        raise AssertionError("a missing covariate was not refused")


@check("many dimensions learn")
def _() -> None:
    X, y = rows(300, dim=6)
    model = SpatialRegressor().fit(X, y)
    assert np.corrcoef(model.cross_validate(5).prediction.mean, surface(X)[model.cross_validate(5).index])[0, 1] > 0.5


@check("lattice in dimension", over=(1, 2, 3))
def _(dim: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_000, dim))
    truth = np.sin(6 * X[:, 0])
    model = SpatialRegressor("se", features="lattice").fit(X, truth + 0.2 * rng.normal(size=2_000))
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.06


@check("few rows are averaged over hyperparameters")
def _() -> None:
    model = SpatialRegressor().fit(*rows(80))
    assert model.choices_["intervals"].value > 3, model.choices_["intervals"]


@check("an image is learned and its gaps filled")
def _() -> None:
    import xarray as xr

    x, y = np.arange(40) / 40, np.arange(30) / 30
    values = np.sin(6 * x) * np.cos(5 * y[:, None]) + 0.1 * np.random.default_rng(0).normal(size=(30, 40))
    truth = np.sin(6 * x) * np.cos(5 * y[:, None])
    values[8:16, 10:20] = np.nan
    image = xr.DataArray(values, {"y": y, "x": x}, ("y", "x"), name="sst")
    model = SpatialRegressor().fit(image)
    filled, sd = model.fill(image, return_std=True)
    assert filled.dims == image.dims and not filled.isnull().any()
    assert np.abs(filled.values - truth)[8:16, 10:20].max() < 0.3
    assert float(sd.where(~image.isnull()).max()) == 0 and float(sd.max()) > 0


@check("a stack of images is learned in space and time")
def _() -> None:
    import xarray as xr

    time, y, x = pd.date_range("2024-01-01", periods=6), np.arange(12) / 12, np.arange(14) / 14
    values = np.sin(6 * x) + np.cos(5 * y[:, None]) + 0.2 * np.arange(6)[:, None, None]
    values = values + 0.05 * np.random.default_rng(0).normal(size=values.shape)
    gaps = values.copy()
    gaps[2, 3:8, 3:8] = np.nan
    stack = xr.DataArray(gaps, {"time": time, "y": y, "x": x}, ("time", "y", "x"), name="lst")
    filled = SpatialRegressor("matern32").fit(stack).fill(stack)
    assert np.sqrt(np.mean((filled.values - values)[2, 3:8, 3:8] ** 2)) < 0.2


@check("classifier of classes", over=(2, 3))
def _(n_classes: int) -> None:
    X, y = rows(200)
    labels = np.array(["field", "forest", "water"])[np.digitize(y, [0.0, 0.6][: n_classes - 1])]
    model = SpatialClassifier("matern32").fit(X, labels)
    p = model.predict_proba(places())
    assert p.shape == (50, n_classes) and np.allclose(p.sum(axis=1), 1)
    assert model.score(X, labels) > 0.75 and len(model.models_) == (1 if n_classes == 2 else 3)


@check("outliers bend a Student fit less")
def _() -> None:
    X, y = rows(200, noise=0.1)
    y[::25] += 3
    error = {f: np.std(SpatialRegressor(family=f).fit(X, y).predict(X) - surface(X)) for f in ("gaussian", "student")}
    assert error["student"] < 0.6 * error["gaussian"], error


@check("rare cases are averaged over")
def _() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    model = SpatialRegressor(family="poisson").fit(X, rng.poisson(0.02 * np.exp(1.5 * np.sin(5 * X[:, 0]))))
    assert model.choices_["intervals"].value > 1
