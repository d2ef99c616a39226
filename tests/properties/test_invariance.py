"""A problem told in another order, frame, unit or precision has the same answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bochner import SpatialClassifier
from bochner.kernels import Matern, SquaredExponential
from tests.properties.problems import FAMILIES, SAME_EACH_TIME, SCHEMES, families, problem, schemes, seeds

every_family = pytest.mark.parametrize("family", FAMILIES)
every_scheme = pytest.mark.parametrize("features", SCHEMES)
# Laplace's mode is found to about 1e-7 of a standard deviation, one linear solve to rounding
CLOSE = 2e-6


@every_scheme
@given(family=families, seed=seeds)
@SAME_EACH_TIME
def test_the_order_of_rows_is_of_no_account(features, family, seed):
    told = problem(family, seed, features)
    order = np.random.default_rng(seed).permutation(len(told.y))
    assert_allclose(told.taken(order).answers(), told.answers(), rtol=CLOSE, atol=CLOSE)


@every_scheme
@given(family=families, seed=seeds, east=st.floats(-1e6, 1e6), north=st.floats(-1e6, 1e6))
@SAME_EACH_TIME
def test_the_origin_of_coordinates_is_of_no_account(features, family, seed, east, north):
    told = problem(family, seed, features)
    moved = told.with_coords(lambda places: places + np.array([east, north]))
    # a double holds 1e6 + x to 1e-10, and the scale of the field is 0.4
    assert_allclose(moved.answers(), told.answers(), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("features", ["exact", "nystroem"])
@given(family=families, seed=seeds, angle=st.floats(0, 2 * np.pi), mirrored=st.booleans())
@SAME_EACH_TIME
def test_the_direction_of_north_is_of_no_account(features, family, seed, angle, mirrored):
    told = problem(family, seed, features)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * [1, -1 if mirrored else 1]
    turned = told.with_coords(lambda places: places @ turn)
    # a landmark each, else k-means, which starts from the order of places, would choose others
    n = {"n_frequencies": len(told.y)} if features == "nystroem" else {}
    # weights of Student rows begin with neighbours along the axes, and settle to some hundredths
    close = 0.05 if family == "student" else CLOSE
    assert_allclose(turned.answers(**n), told.answers(**n), rtol=close, atol=close)


@every_scheme
@given(family=families, seed=seeds, power=st.integers(-6, 6))
@SAME_EACH_TIME
def test_the_unit_of_coordinates_is_of_no_account(features, family, seed, power):
    told = problem(family, seed, features)
    scaled = replace(told.with_coords(lambda places: 10.0**power * places), length=10.0**power)
    assert_allclose(scaled.answers(), told.answers(), rtol=CLOSE, atol=CLOSE)


@every_scheme
@given(family=st.sampled_from(["gaussian", "student"]), seed=seeds, power=st.integers(-12, 12), level=st.floats(-9, 9))
@SAME_EACH_TIME
def test_the_unit_of_the_response_is_of_no_account(features, family, seed, power, level):
    told, unit = problem(family, seed, features), 10.0**power
    scaled = replace(told, y=unit * (told.y + level), unit=unit)
    mean, sd = told.answers()
    assert_allclose(scaled.answers(), [mean + level, sd], rtol=CLOSE, atol=CLOSE)


@every_scheme
@given(family=families, seed=seeds)
@SAME_EACH_TIME
def test_columns_are_known_by_their_names(features, family, seed):
    told = problem(family, seed, features)
    first = {"coords": ["x", "y"], "covariates": ["height"]}
    other = {"coords": ["östlich", "nördlich"], "covariates": ["z 1"]}
    frames = [pd.DataFrame(X, columns=["x", "y", "height"]) for X in (told.X, told.at)]
    renamed = [
        f.rename(columns=dict(zip(f.columns, [*other["coords"], *other["covariates"]], strict=True))).iloc[:, ::-1]
        for f in frames
    ]
    answers = [
        replace(told, X=fit_on, at=at).answers(**names) for (fit_on, at), names in ((frames, first), (renamed, other))
    ]
    assert_allclose(answers[1], answers[0], rtol=1e-9)
    assert_allclose(answers[0], told.answers(), rtol=1e-9)


@every_scheme
@given(family=families, seed=seeds)
@SAME_EACH_TIME
def test_a_weight_is_that_many_copies(features, family, seed):
    told = problem(family, seed, features)
    copies = np.random.default_rng(seed).integers(0, 4, len(told.y))
    copied = told.taken(np.repeat(np.arange(len(told.y)), copies))
    assert_allclose(told.answers(copies), copied.answers(), rtol=CLOSE, atol=CLOSE)


@every_scheme
@given(family=st.sampled_from(["binomial", "poisson"]), seed=seeds)
@SAME_EACH_TIME
def test_counts_may_be_split_and_merged(features, family, seed):
    """Positives out of trials, or events in an exposure, say the same in one row or in two at the same place."""
    told = problem(family, seed, features)
    rng = np.random.default_rng(seed)
    part = np.floor(told.size * rng.uniform(0, 1, len(told.y)))
    part = np.clip(part, 1, told.size - 1)
    if family == "binomial":
        y = rng.hypergeometric(told.y.astype(int), (told.size - told.y).astype(int), part.astype(int))
    else:
        y = rng.binomial(told.y.astype(int), part / told.size)
    split = replace(
        told,
        X=np.concatenate([told.X, told.X]),
        y=np.concatenate([y, told.y - y]),
        size=np.concatenate([part, told.size - part]),
    )
    # an effect of single rows would differ between the two rows; so would what waves or landmarks leave out, which
    # every row has for itself: here that is nothing
    parts = {"noise_variance": 0.0, "kernel": SquaredExponential(0.4)}
    if features in ("nystroem", "lattice"):
        parts["n_frequencies"] = {"nystroem": len(told.y), "lattice": 400}[features]
    assert_allclose(split.answers(**parts), told.answers(**parts), rtol=1e-5, atol=1e-5)


@every_family
@given(features=schemes, seed=seeds)
@SAME_EACH_TIME
def test_single_precision_is_the_same_table(family, features, seed):
    told = problem(family, seed, features)
    rounded = replace(told, X=told.X.astype(np.float32), y=told.y.astype(np.float32), at=told.at.astype(np.float32))
    widened = replace(rounded, **{name: getattr(rounded, name).astype(float) for name in ("X", "y", "at")})
    # a landmark each: k-means may choose others for places that differ in the seventh digit
    n = {"n_frequencies": len(told.y)} if features == "nystroem" else {}
    single, double, exact = (p.answers(**n) for p in (rounded, widened, told))
    assert single.dtype == np.float64
    assert_allclose(single, double, rtol=1e-9, atol=1e-12)
    assert_allclose(single, exact, rtol=1e-3, atol=1e-3)


@given(seed=seeds, labels=st.permutations(["ash", "beech", "cedar"]))
@SAME_EACH_TIME
def test_the_names_of_classes_are_of_no_account(seed, labels):
    rng = np.random.default_rng(seed)
    X, at = rng.uniform(size=(40, 2)), rng.uniform(size=(12, 2))
    code = np.digitize(X[:, 0] + 0.1 * rng.normal(size=40), [0.3, 0.7])
    models = [
        SpatialClassifier(Matern(0.4), tune=None).fit(X, np.array(names)[code]) for names in (list("abc"), list(labels))
    ]
    order = np.argsort(np.argsort(labels))
    assert_allclose(models[1].predict_proba(at)[:, order], models[0].predict_proba(at), rtol=CLOSE)
