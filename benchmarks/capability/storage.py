"""Storage: a loaded model gives the same bits; files of earlier versions are read; models grow by sums."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bochner import SpatialClassifier, SpatialRegressor, like, load, merge
from bochner.exceptions import BochnerError, PartError
from bochner.kernels import Matern

from .data import FAMILIES, FIXED, WAVES, alike, answers, places, responses, rows, same, table
from .learning import FEATURES
from .registry import check, raises

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"


def same_when_loaded(model: SpatialRegressor) -> None:
    at = places()
    model.save("model.bochner")
    again = load("model.bochner")
    same(answers(again, at), answers(model, at))
    same(again.sample_y(at, 3), model.sample_y(at, 3))
    same(again.predict_interval(at, include_noise=True), model.predict_interval(at, include_noise=True))
    assert again.summary() == model.summary() and again.choices_ == model.choices_
    assert again.get_params() == model.get_params()


@check("saved and loaded", over=[(f, family) for f in FEATURES for family in ("gaussian", "poisson")])
def _(case: tuple[str, str]) -> None:
    features, family = case
    X, y = rows(150)
    y, of = responses("poisson", X) if family == "poisson" else (y, {})
    number = {} if features in ("auto", "exact", "conjugate-gradients", "nearest", "lattice") else {"n_frequencies": 40}
    same_when_loaded(SpatialRegressor(**FIXED, features=features, family=family, **number).fit(X, y, **of))


@check("saved and loaded with learned values", over=FAMILIES)
def _(family: str) -> None:
    X, _ = rows(100)
    y, of = responses(family, X)
    same_when_loaded(SpatialRegressor(family=family).fit(X, y, **of))


@check("saved and loaded: classifier, formula, no covariate rows")
def _() -> None:
    X, y = rows(80)
    model = SpatialClassifier(Matern(0.3), tune=None).fit(X, np.array(["a", "b", "c"])[np.digitize(y, [-0.3, 0.3])])
    model.save("classes.bochner")
    same(load("classes.bochner").predict_proba(X), model.predict_proba(X))
    frame = table(80)
    formula = SpatialRegressor.from_formula("z ~ height + gp(x, y)", tune=None, kernel=Matern(0.3)).fit(frame)
    formula.save("formula.bochner")
    same(load("formula.bochner").predict(frame), formula.predict(frame))


@check("files of earlier versions", over=("format1", "format2"))
def _(number: str) -> None:
    expected = json.loads((DATA / number / "predictions.json").read_text())
    n_read = 0
    for name in expected:
        model = load(DATA / number / f"{name}.bochner")
        if not isinstance(model, SpatialClassifier) and not expected[name]["columns"] and name != "areas":
            mean, sd = model.predict(np.array(expected[name]["new"], dtype=float), return_std=True)
            assert np.allclose(mean, expected[name]["mean"], rtol=1e-7) and np.all(sd > 0)
            n_read += 1
    assert n_read >= 4


@check("a damaged or foreign file is refused")
def _() -> None:
    SpatialRegressor(**FIXED).fit(*rows(50)).save("good.bochner")
    data = Path("good.bochner").read_bytes()
    Path("bad.bochner").write_bytes(data[: len(data) // 2])
    raises(BochnerError, lambda: load("bad.bochner"), "bad.bochner")
    Path("text.bochner").write_text("x,y\n1,2\n")
    raises(BochnerError, lambda: load("text.bochner"), "not a complete bochner model")


@check("partial_fit, like and merge = whole")
def _() -> None:
    frame, names = table(2_000), ["x", "y", "height"]
    given = {**WAVES, "coords": ["x", "y"], "covariates": ["height"]}
    whole = SpatialRegressor(**given).fit(frame[names], frame.z)
    a, b, c = frame[:600], frame[600:1_100], frame[1_100:]

    def first() -> SpatialRegressor:
        return SpatialRegressor(**given).partial_fit(a[names], a.z, predict_at=frame[["x", "y"]])

    grown = first().partial_fit(b[names], b.z).partial_fit(c[names], c.z)
    alike(answers(grown, a[names]), answers(whole, a[names]), 1e-6)
    assert np.isclose(grown.log_evidence_, whole.log_evidence_, rtol=1e-7)
    first().save("a.bochner")
    other = like(load("a.bochner")).partial_fit(frame[600:][names], frame[600:].z)
    alike(answers(merge(first(), other), a[names]), answers(whole, a[names]), 1e-6)
    raises(PartError, lambda: merge(whole, SpatialRegressor(**{**given, "noise_variance": 0.2}).fit(a[names], a.z)))
    assert not hasattr(SpatialRegressor(family="poisson"), "partial_fit")


@check("partial_fit learns from its first rows")
def _() -> None:
    X, y = rows(1_500)
    model = SpatialRegressor("se").partial_fit(X[:1_000], y[:1_000], predict_at=X).partial_fit(X[1_000:], y[1_000:])
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.25 and model.check() is not None
