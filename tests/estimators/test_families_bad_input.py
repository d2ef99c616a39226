"""Responses that a family cannot have, sizes that it does not take, and data without a finite fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import ConvergenceError, FallbackWarning, InputError, PartError
from bochner.families import Bernoulli, Binomial, Gamma, NegativeBinomial, Poisson
from bochner.kernels import Matern

N = 40
RNG = np.random.default_rng(0)
X, COUNTS = RNG.uniform(size=(N, 2)), RNG.integers(0, 5, N).astype(float)
PRESENCE = (COUNTS > 2).astype(float)
LEVEL = np.column_stack([X, PRESENCE])  # a covariate that tells presence without fail


def fit(family, y=COUNTS, X=X, *, model=None, **known) -> SpatialRegressor:
    settings = {"kernel": Matern(0.3), "family": family, "tune": None, **(model or {})}
    return SpatialRegressor(**settings).fit(X, y, **known)


def with_row(values, row: int, value: float) -> np.ndarray:
    changed = np.array(np.broadcast_to(values, (N,)), dtype=float)
    changed[row] = value
    return changed


REFUSED = {
    "more-positives-than-trials": (
        lambda: fit("binomial", with_row(COUNTS, 3, 12), trials=10),
        r"y is 12 in row 3, more than its 10 trials; .* correct the row, or pass `trials`",
    ),
    "trials-left-out": (
        lambda: fit("binomial"),
        r"y is 4 in row 0, more than its 1 trials.*pass `trials`.*27 such rows",
    ),
    "negative-positives": (
        lambda: fit("binomial", with_row(COUNTS, 3, -1), trials=10),
        "y is -1 in row 3; needed is a count",
    ),
    "negative-count": (lambda: fit("poisson", with_row(COUNTS, 3, -1)), "y is -1 in row 3; needed is a count"),
    "share": (
        lambda: fit("binomial", COUNTS / 10, trials=10),
        r"y is 0.4 in row 0; needed is a whole number. Pass counts",
    ),
    "rate": (lambda: fit("negative-binomial", COUNTS / 10), r"y is 0.4 in row 0; needed is a whole number"),
    "counts-as-presence": (lambda: fit("bernoulli"), "y is 4 in row 0; needed is 0 or 1.*family='binomial'"),
    "amount-of-zero": (lambda: fit("gamma"), "y is 0 in row 8; needed is an amount > 0: leave zeros out"),
    "negative-amount": (lambda: fit("gamma", with_row(COUNTS + 1, 2, -3)), "y is -3 in row 2; needed is an amount > 0"),
    "zero-exposure": (
        lambda: fit("poisson", exposure=with_row(1, 5, 0)),
        "exposure is 0 at row 5; needed are numbers > 0. Leave out rows without any",
    ),
    "negative-exposure": (lambda: fit("poisson", exposure=with_row(1, 5, -2)), "exposure is -2 at row 5"),
    "infinite-exposure": (lambda: fit("poisson", exposure=with_row(1, 5, np.inf)), "exposure holds 1 NaN or infinite"),
    "zero-trials": (lambda: fit("binomial", trials=with_row(10, 7, 0)), "trials is 0 at row 7; needed are numbers > 0"),
    "fraction-of-trials": (
        lambda: fit("binomial", trials=with_row(10, 7, 10.5)),
        "trials is 10.5 at row 7.*whole numbers",
    ),
    "missing-trials": (lambda: fit("binomial", trials=with_row(10, 7, np.nan)), "trials holds 1 NaN.*drop or fill"),
    "short-trials": (
        lambda: fit("binomial", trials=np.ones(5)),
        r"trials has shape \(5,\); needed is one value per row",
    ),
    "name-of-a-column": (lambda: fit("binomial", trials="examined"), r"trials='examined' is a name; .*from_formula"),
    "missing-response": (
        lambda: fit("poisson", with_row(COUNTS, 1, np.nan)),
        "y contains NaN: 1 of 40 rows, first row 1",
    ),
    "infinite-offset": (lambda: fit("poisson", offset=np.full(N, np.inf)), "offset holds 40 NaN or infinite"),
    "trials-of-poisson": (lambda: fit("poisson", trials=10), "trials was given, but family='poisson' has exposure"),
    "exposure-of-binomial": (
        lambda: fit("binomial", exposure=10),
        "exposure was given, but family='binomial' has trials",
    ),
    "trials-of-presence": (lambda: fit("bernoulli", PRESENCE, trials=1), "family='bernoulli' has neither trials nor"),
    "exposure-of-amounts": (lambda: fit("gamma", COUNTS + 1, exposure=1), "family='gamma' has neither trials nor"),
    "no-cases": (lambda: fit("poisson", np.zeros(N)), "every response is 0; a poisson model with an intercept has no"),
    "no-positives": (lambda: fit("binomial", np.zeros(N), trials=10), "every response is 0; a binomial model with"),
    "absence": (lambda: fit("bernoulli", np.zeros(N)), "every response is 0; a bernoulli model with an intercept"),
    "presence": (lambda: fit("bernoulli", np.ones(N)), "every response equals its number of trials; a bernoulli"),
    "positives-alone": (
        lambda: fit("binomial", np.full(N, 10.0), trials=10),
        "equals its number of trials; a binomial",
    ),
    "no-cases-with-weight": (
        lambda: fit("poisson", COUNTS, sample_weight=(COUNTS == 0).astype(float)),
        "every response is 0; a poisson model",
    ),
    "unknown-family": (lambda: fit("quasipoisson"), "family='quasipoisson' is not known; did you mean 'poisson'"),
    "class-of-a-family": (lambda: fit(Poisson), r"family=Poisson is a class; needed is a family: Poisson\(\)"),
    "unknown-link": (lambda: fit(Poisson("logit")), "link='logit' is not a link of family 'poisson'; needed is one of"),
    "dispersion-of-poisson": (lambda: fit(Poisson(dispersion=2.0)), "has none; leave it out.*negative-binomial"),
    "negative-dispersion": (lambda: fit(Gamma(dispersion=-1.0)), "dispersion is -1.0; needed is a finite number > 0"),
    "negative-noise": (lambda: fit("poisson", model={"noise_variance": -1}), "noise_variance is -1; needed is"),
}


@pytest.mark.parametrize(("attempt", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_at_the_door(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()


def test_rows_without_weight_are_checked_too():
    """A row that does not count may still hold a slip of the pen, and is named."""
    with pytest.raises(InputError, match="y is 12 in row 3"):
        fit("binomial", with_row(COUNTS, 3, 12), trials=10, sample_weight=with_row(1, 3, 0))


@pytest.mark.parametrize(
    ("family", "known", "message"),
    [
        ("poisson", {"trials": 3}, "trials was given, but family='poisson' has exposure"),
        ("poisson", {"exposure": 0}, "exposure is 0 at row 0; needed are numbers > 0"),
        ("poisson", {"exposure": np.ones(3)}, r"exposure has shape \(3,\)"),
        ("poisson", {"offset": np.ones(3)}, r"offset has shape \(3,\); needed is one value per row"),
        ("binomial", {"trials": 2.5}, "trials is 2.5 at row 0; needed are whole numbers"),
        ("binomial", {"exposure": 2}, "exposure was given, but family='binomial' has trials"),
    ],
)
@pytest.mark.parametrize("ask", ["predict", "predict_interval", "sample_y", "score"])
def test_refused_when_predicting(family, known, message, ask):
    model = fit(family, **({"trials": 10} if family == "binomial" else {}))
    given = (X, COUNTS) if ask == "score" else (X,)
    with pytest.raises((InputError, PartError), match=message):
        getattr(model, ask)(*given, **known)


@pytest.mark.parametrize(
    ("features", "tune"), [("exact", None), ("quasi", None), ("exact", "evidence"), ("exact", "likelihood")]
)
@pytest.mark.parametrize(
    ("family", "y", "known"),
    [
        (Bernoulli(), PRESENCE, {}),
        (Bernoulli("probit"), PRESENCE, {}),
        (Binomial(), 10 * PRESENCE, {"trials": 10}),
        (Poisson(), COUNTS * PRESENCE, {}),
        (NegativeBinomial(dispersion=0.5), COUNTS * PRESENCE, {}),
    ],
    ids=["bernoulli", "probit", "binomial", "poisson", "negative-binomial"],
)
def test_separation_by_a_covariate(family, y, known, features, tune):
    """A level of a covariate without a single positive: its effect has no finite estimate; a weak prior holds it."""
    parts = {"kernel": Matern(0.3, 1e-3), "covariates": [2], "features": features, "tune": tune}
    parts |= {"n_frequencies": 10} if features == "quasi" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(family, y, LEVEL, model=parts, **known)
        assert any("no finite estimate" in text for text in model.check())
    mean, covariance = model.fitted_.fixed_effects
    assert np.all(np.abs(mean) < 10) and np.all(np.sqrt(np.diag(covariance)) < 5)


def test_a_variance_out_of_all_bounds_is_refused():
    with pytest.raises(ConvergenceError, match=r"has run to \d+\. .* the kernel's variance is far too large"):
        fit("bernoulli", PRESENCE, model={"kernel": Matern(0.3, 1e12)})


def test_identity_links_end_at_zero():
    with pytest.raises(ConvergenceError, match=r"identity link: the surface comes down to zero.*take the log link"):
        fit(Poisson("identity"), np.where(X[:, 0] > 0.5, 20.0, 0.0), model={"kernel": Matern(0.3, 100.0)})
    fine = fit(Poisson("identity"), COUNTS + 10)
    assert np.all(fine.predict_interval(X) > 0)


# ------------------------------------------------------------------- unusual, and welcome


@pytest.mark.parametrize("family", ["poisson", "binomial", "bernoulli"])
def test_no_cases_without_an_intercept(family):
    """A field about a known level has a posterior whatever was seen."""
    model = fit(family, np.zeros(N), model={"fit_intercept": False})
    assert np.all(model.predict(X) < model.predict(X + 100.0))
    assert np.all(model.predict_interval(X)[:, 1] > 0)


@pytest.mark.parametrize(
    ("family", "y", "known"),
    [("poisson", np.full(N, 2.0), {}), ("binomial", np.full(N, 2.0), {"trials": 10}), ("gamma", np.full(N, 2.0), {})],
)
def test_constant_responses_make_a_flat_map(family, y, known):
    with pytest.warns(FallbackWarning, match="the response is constant"):
        model = fit(family, y, model={"tune": "evidence"}, **known)
    expected = 0.2 if family == "binomial" else 2.0
    np.testing.assert_allclose(model.predict(X), expected, rtol=0.02)


def test_huge_counts_and_far_offsets():
    counts = 1e12 * (COUNTS + 1)
    np.testing.assert_allclose(fit("poisson", counts).predict(X), counts, rtol=1e-4)
    shifted = fit("poisson", offset=400.0)
    np.testing.assert_allclose(shifted.predict(X, offset=400.0), fit("poisson").predict(X), rtol=1e-6)


def test_one_row():
    model = fit("poisson", np.array([3.0]), X[:1])
    assert 1 < model.predict(X[:1])[0] < 8


def test_repeated_places_with_different_counts():
    places, y = np.repeat(X, 3, axis=0), np.random.default_rng(1).poisson(4.0, 3 * N).astype(float)
    model = fit("poisson", y, places)
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.log_evidence_)
