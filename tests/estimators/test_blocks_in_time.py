"""Rows with a place and a time, held out in blocks: of space at all times, or of time at a few places, in any unit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor
from bochner.cli._validation import held_out
from bochner.diagnostics.holding_out import hold_out
from bochner.kernels import Matern, Separable


def table(n_sites, n_times=12, seed=0):
    rng = np.random.default_rng(seed)
    sites, days = rng.uniform(0, 100, (n_sites, 2)), np.arange(n_times) * 7.0
    rows = pd.DataFrame(np.repeat(sites, n_times, axis=0), columns=["x", "y"]).assign(day=np.tile(days, n_sites))
    field = np.sin(rows.x / 20) + np.cos(rows.y / 30) + np.sin(rows.day / 15)
    return rows, np.asarray(field + 0.2 * rng.standard_normal(len(rows)))


def fitted(rows, y, per_day=1.0):
    kernel = Separable(Matern(30.0), Matern(20.0 * per_day))
    model = SpatialRegressor(kernel, coords=["x", "y", "day"], tune=None, noise_variance=0.04)
    return model.fit(rows.assign(day=rows.day * per_day), y)


@pytest.mark.parametrize("n_sites", [4, 30])
def test_scores_of_blocks_are_the_same_in_every_unit_of_time(n_sites):
    rows, y = table(n_sites)
    days, hours = fitted(rows, y), fitted(rows, y, 24.0)
    first, second = (dict(model.cross_validate(5)) for model in (days, hours))
    assert first == pytest.approx(second, rel=1e-6)
    for one, other in zip(held_out(days, None, (), 5, None), held_out(hours, None, (), 5, None), strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-6)
    for one, other in zip(hold_out(days), hold_out(hours), strict=True):
        assert one.coverage == pytest.approx(other.coverage)


def test_blocks_take_all_times_of_their_sites():
    rows, y = table(30)
    model = fitted(rows, y)
    found = model.cross_validate(5)
    sites = rows.groupby(["x", "y"]).ngroup().to_numpy()
    fold = np.empty(len(rows))
    fold[found.index] = found.fold
    assert all(len(np.unique(fold[sites == site])) == 1 for site in np.unique(sites))
    *_, blocks = held_out(model, None, (), 5, None)
    assert blocks.name.endswith("at all times")
    assert "at all times" in hold_out(model)[1].text


def test_few_sites_are_held_out_in_blocks_of_time():
    rows, y = table(4)
    model = fitted(rows, y)
    found = model.cross_validate(5)
    fold = np.empty(len(rows))
    fold[found.index] = found.fold
    assert all(len(np.unique(fold[rows.day == day])) == 1 for day in rows.day.unique())
    *_, blocks = held_out(model, None, (), 5, None)
    assert blocks.name.endswith("day at all places")


def test_dates_make_blocks_of_days():
    rows, y = table(4)
    dates = rows.assign(date=pd.Timestamp("2024-01-01") + pd.to_timedelta(rows.day, "D"))
    kernel = Separable(Matern(30.0), Matern(20.0))
    model = SpatialRegressor(kernel, coords=["x", "y", "date"], tune=None, noise_variance=0.04).fit(dates, y)
    *_, blocks = held_out(model, None, (), 5, None)
    assert blocks.name.endswith("days at all places")


def test_depth_is_no_time():
    rows, y = table(30)
    model = SpatialRegressor(Matern(30.0), coords=["x", "y", "depth"], tune=None, noise_variance=0.04)
    model.fit(rows.rename(columns={"day": "depth"}), y)
    *_, blocks = held_out(model, None, (), 5, None)
    assert "all" not in blocks.name
