"""Rare presence: all cases and a sample of the others tell of the field what all rows do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.families import family_named
from bochner.features import Rows
from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.rare_cases import cases_and_others


def presence(n: int, n_cases: int, link: str = "logit") -> Responses:
    rng = np.random.default_rng(0)
    y = np.zeros(n)
    y[rng.choice(n, n_cases, replace=False)] = 1.0
    rows = Rows(rng.uniform(size=(n, 2)), np.column_stack([np.ones(n), rng.integers(0, 2, n)]))
    zero, one = np.zeros(n), np.ones(n)
    return Responses(family_named("bernoulli").replace(link=link), rows, y, one, zero, one, zero)


@pytest.mark.parametrize("n_cases", [40, 1960])
def test_the_rare_stay_and_the_odds_are_those_of_all_rows(n_cases):
    """Few cases, or few that are none."""
    part = cases_and_others(presence(2000, n_cases), 0)
    assert part is not None and len(part) == limits.MAX_LAPLACE_GRID_ROWS
    assert min(part.y.sum(), (1 - part.y).sum()) == 40
    # with the trend of all rows as its offset, the part has as many cases as it expects
    expected = 1 / (1 + np.exp(-part.offset))
    assert expected.sum() == pytest.approx(part.y.sum(), rel=0.1)


@pytest.mark.parametrize(("n", "n_cases", "link"), [(150, 40, "logit"), (2000, 150, "logit"), (2000, 40, "probit")])
def test_few_rows_many_cases_and_other_links_are_left(n, n_cases, link):
    assert cases_and_others(presence(n, n_cases, link), 0) is None


def test_of_counts_each_zero_stands_for_those_left_out_with_it():
    """Expected counts of the part are those of all rows; the counts themselves stay, with exposures as they are."""
    given = presence(400, 30)
    rng = np.random.default_rng(1)
    y, size = 2 * given.y, rng.uniform(1, 3, 400)
    part = cases_and_others(replace(given, family=family_named("poisson"), y=y, size=size), 0)
    assert part is not None and len(part) == limits.MAX_LAPLACE_GRID_ROWS and part.y.sum() == y.sum()
    zero = part.y == 0
    more = part.offset[zero] - part.offset[~zero].min()
    stands_for = np.exp(np.median(more))
    assert stands_for == pytest.approx(370 / np.count_nonzero(zero), rel=0.3)
    assert np.sum(part.size * np.exp(part.offset)) == pytest.approx(np.sum(y), rel=0.2)


def test_rare_counts_are_as_much_in_doubt_above_two_hundred_rows_as_below():
    """Ten counts among 300 rows leave the field open: no interval pretends that there is none."""
    rng = np.random.default_rng(2)
    places = rng.uniform(size=(300, 2))
    y = rng.poisson(0.02 * np.exp(1.5 * np.sin(5 * places[:, 0])))
    model = SpatialRegressor(family="poisson").fit(places, y)
    assert "all cases and a sample of the others" in str(model.choices_["intervals"])
    low, high = model.predict_interval(places[:50], level=0.95).T
    assert np.median(high / low) > 3


def test_rare_presence_is_in_doubt_above_five_hundred_rows_too():
    """500 to 1,500 rows are tuned by the evidence of all of them: few cases leave as much open as among 480 rows."""
    rng = np.random.default_rng(3)
    places = rng.uniform(size=(560, 2))
    y = rng.binomial(1, 0.015 * np.exp(np.sin(5 * places[:, 0])))
    model = SpatialRegressor(family="bernoulli").fit(places, y)
    assert "all cases and a sample of the others" in str(model.choices_["intervals"])


@pytest.mark.slow
def test_few_cases_among_many_rows_are_averaged_over_and_doubted():
    rng = np.random.default_rng(1)
    places = rng.uniform(size=(1600, 2))
    chance = 0.2 * np.exp(-np.sum((places - 0.5) ** 2, axis=1) / 0.02)
    y = (rng.uniform(size=1600) < chance).astype(float)
    model = SpatialRegressor(family="bernoulli").fit(places, y)
    assert "all cases and a sample of the others" in str(model.choices_["intervals"])
    assert any("cases among 1,600 rows say little" in str(each) for each in model.check())
