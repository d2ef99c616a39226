"""Laws of a predictive distribution: mean, sd, cdf, quantile, scores and draws tell one story, for every family."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.estimators.distribution import Distribution
from bochner.families import FAMILIES
from bochner.kernels import Matern

every_family = pytest.mark.parametrize("name", FAMILIES)
surface_and_observation = pytest.mark.parametrize("new", [False, True], ids=["surface", "observation"])


@cache
def law_of(name: str, new: bool) -> Distribution:
    """Predictive law at seven places of a model of 80 rows; counts of the observation out of some size."""
    rng = np.random.default_rng(0)
    coords, family = rng.uniform(size=(80, 2)), FAMILIES[name]
    family = family.replace(**{parameter: {"dispersion": 0.2, "dof": 6.0}[parameter] for parameter in family.unknown})
    size = np.full(80, 9.0) if family.size_name else np.ones(80)
    y = family.draw(0.5 + np.sin(5 * coords[:, 0]), size, rng)
    sizes = {family.size_name: size} if family.size_name else {}
    model = SpatialRegressor(Matern(0.4), family=family, tune=None, noise_variance=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(coords, y, **sizes)
    some = {word: values[:7] for word, values in sizes.items()} if new else {}
    return model.predict_distribution(coords[:7], include_noise=new, **some)


@every_family
@surface_and_observation
def test_draws_have_mean_and_sd(name, new, n=20_000):
    law = law_of(name, new)
    draws = law.sample(n, 1)
    assert draws.shape == (len(law), n)
    # five standard errors of a mean; six of a variance, from the fourth moment of the draws
    assert (np.abs(draws.mean(axis=1) - law.mean) <= 5 * law.sd / np.sqrt(n)).all()
    centred = draws - law.mean[:, None]
    assert (np.abs((centred**2).mean(axis=1) - law.variance) <= 6 * np.sqrt((centred**4).mean(axis=1) / n)).all()


@every_family
@surface_and_observation
def test_distribution_function_is_the_share_of_draws_below(name, new, n=20_000):
    law = law_of(name, new)
    value = np.quantile(law.mean, 0.6)
    share = (law.sample(n, 2) <= value).mean(axis=1)
    assert_allclose(law.cdf(value), share, atol=5 * 0.5 / np.sqrt(n))
    assert_allclose(law.exceedance(value), 1 - law.cdf(value), atol=1e-9)


@every_family
@surface_and_observation
@pytest.mark.parametrize("q", [0.025, 0.4, 0.9])
def test_quantile_inverts_the_distribution_function(name, new, q):
    law = law_of(name, new)
    found = law.quantile(q)
    below = found - 1e-6 * law.sd  # of a count: less than it
    assert (law.cdf(found) >= q - 1e-6).all()
    assert (law.cdf(below) <= q + 1e-6).all()


@every_family
@surface_and_observation
def test_interval_is_two_quantiles(name, new):
    law = law_of(name, new)
    assert np.array_equal(law.interval(0.9), np.column_stack([law.quantile(0.05), law.quantile(0.95)]))
    assert_allclose(law.sd**2, law.variance, rtol=1e-12)


@every_family
def test_crps_of_an_observation_is_that_of_its_draws(name, n=20_000):
    """E |X - y| - E |X - X'| / 2, by pairs of draws."""
    law = law_of(name, True)
    y, draws = np.round(law.mean) + 0.0, law.sample(n, 3)
    y = np.maximum(y, 1e-3) if FAMILIES[name].positive_only else y
    pairs = np.abs(draws[:, ::2] - y[:, None]) - np.abs(draws[:, ::2] - draws[:, 1::2]) / 2
    error = pairs.std(axis=1) / np.sqrt(n / 2)
    assert (np.abs(pairs.mean(axis=1) - law.crps(y)) <= 5 * error).all()
