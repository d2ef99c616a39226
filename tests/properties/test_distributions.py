"""What a predictive law must be: variances not negative, nested intervals, monotone exceedance, draws that agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.properties.problems import FAMILIES, SAME_EACH_TIME, problem, schemes, seeds

every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
@given(features=schemes, seed=seeds)
@SAME_EACH_TIME
def test_variances_are_never_negative(family, features, seed):
    told = problem(family, seed, features)
    model = told.fit()
    at = np.concatenate([told.at, told.X, told.X + 1e-9, told.X[:3] + 5.0])  # at rows, beside them and far away
    for noisy in (False, True):
        mean, sd = model.predict(at, return_std=True, include_noise=noisy)
        assert np.isfinite(mean).all() and np.isfinite(sd).all() and (sd >= 0).all()
    _, covariance = model.predict(told.X[:20], return_cov=True)
    assert np.linalg.eigvalsh(covariance)[0] >= -1e-9 * np.trace(covariance)


@every_family
@given(features=schemes, seed=seeds, levels=st.lists(st.floats(0.01, 0.999), min_size=2, max_size=5, unique=True))
@SAME_EACH_TIME
def test_intervals_are_nested_in_their_level(family, features, seed, levels):
    told = problem(family, seed, features)
    model = told.fit()
    for noisy in (False, True):
        ends = np.stack([model.predict_interval(told.at, level, include_noise=noisy) for level in sorted(levels)])
        slack = 1e-9 * (1 + np.abs(ends).max())
        assert (np.diff(ends[:, :, 0], axis=0) <= slack).all() and (np.diff(ends[:, :, 1], axis=0) >= -slack).all()
        assert (ends[:, :, 0] <= ends[:, :, 1]).all()


@every_family
@given(features=schemes, seed=seeds, thresholds=st.lists(st.floats(-5, 30), min_size=3, max_size=8))
@SAME_EACH_TIME
def test_exceedance_falls_with_the_threshold(family, features, seed, thresholds):
    told = problem(family, seed, features)
    model = told.fit()
    asked = np.clip(sorted(thresholds), *model.family_.link_function.range)  # others are refused
    for noisy in (False, True):
        above = np.stack([model.predict_exceedance(told.at, t, include_noise=noisy) for t in asked])
        assert (above >= 0).all() and (above <= 1).all() and (np.diff(above, axis=0) <= 1e-9).all()


@every_family
@given(features=schemes, seed=seeds, q=st.floats(0.02, 0.98))
@SAME_EACH_TIME
def test_exceedance_at_a_quantile_is_the_rest(family, features, seed, q):
    told = problem(family, seed, features)
    law = told.fit().predict_distribution(told.at)
    assert_allclose(law.exceedance(law.quantile(q)), 1 - q, atol=1e-6)


@every_family
@given(features=schemes, seed=seeds)
@SAME_EACH_TIME
def test_draws_have_the_mean_and_the_sd_that_are_told(family, features, seed):
    told = problem(family, seed, features)
    model, n = told.fit(), 4_000
    mean, sd = model.predict(told.at, return_std=True)
    draws = model.sample_y(told.at, n, random_state=seed)
    # five standard errors of a mean; a sample variance has 2 sd^4 / n and more with heavy tails, of a log-normal say
    assert_allclose(draws.mean(axis=1), mean, atol=5 * float(sd.max()) / np.sqrt(n))
    tails = np.maximum(np.mean(((draws.T - mean) / sd) ** 4, axis=0), 3.0)
    assert (np.abs(draws.std(axis=1) / sd - 1) < 6 * np.sqrt((tails - 1) / (4 * n)) + 0.01).all()
