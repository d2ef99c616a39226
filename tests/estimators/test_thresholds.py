"""A threshold is one that the mean can take; of others the answer is known, and the question is a mistake."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.families import family_named
from bochner.maps import hotspots, predict_grid


@pytest.mark.parametrize(
    ("family", "threshold", "size", "message"),
    [
        ("bernoulli", 80, None, "a probability lies between 0 and 1; write 0.8"),
        ("binomial", 120, None, "give such a share"),
        ("binomial", 51, [20, 50], "at most 50"),
        ("poisson", -1, None, "a rate is never negative"),
        ("negative-binomial", -1, [3.0], "a count is never negative"),
        ("gamma", -0.1, None, "a mean is never negative"),
    ],
)
def test_thresholds_outside_the_range_are_refused(family, threshold, size, message):
    with pytest.raises(InputError, match=message):
        family_named(family).check_threshold(threshold, size)


@pytest.mark.parametrize(
    ("family", "threshold", "size"),
    [("gaussian", -1e9, None), ("binomial", [0, 1], None), ("binomial", 50, [20, 50]), ("poisson", 1e9, [0.1])],
)
def test_both_ends_of_the_range_may_be_asked_for(family, threshold, size):
    assert family_named(family).check_threshold(threshold, size) is None


def test_every_door_to_a_threshold_is_checked():
    rng = np.random.default_rng(0)
    X, n = rng.uniform(size=(40, 2)), rng.integers(20, 40, 40)
    y = rng.binomial(n, 0.3)
    model = SpatialRegressor("matern32", family="binomial", tune=None).fit(X, y, trials=n)
    for ask in (
        lambda: model.predict_exceedance(X, 20),
        lambda: model.predict_distribution(X).exceedance(20),
        lambda: hotspots(model, 20),
        lambda: predict_grid(model, 0.2, exceed=20),
    ):
        with pytest.raises(InputError, match="prevalence lies between 0 and 1"):
            ask()
    assert np.all(model.predict_exceedance(X, 1) == 0)
    assert np.all(model.predict_exceedance(X, 20, trials=n) < 1)
