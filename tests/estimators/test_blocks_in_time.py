"""Rows with a place and a time, held out in blocks: of space at all times, or of time at a few places, in any unit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor
from bochner.cli._validation import held_out
from bochner.diagnostics import diagnose
from bochner.diagnostics.holding_out import hold_out
from bochner.exceptions import CheckWarning
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


def profiles(n_sites, n_depths=6):
    rng = np.random.default_rng(1)
    sites, depths = rng.uniform([10, 40], [14, 44], (n_sites, 2)), np.linspace(0, 500, n_depths)
    rows = pd.DataFrame(np.repeat(sites, n_depths, axis=0), columns=["lon", "lat"]).assign(
        depth=np.tile(depths, n_sites)
    )
    field = np.sin(2 * rows.lon) + np.cos(3 * rows.lat) + rows.depth / 300
    return rows, np.asarray(field + 0.1 * rng.standard_normal(len(rows)))


def test_profiles_of_degrees_and_metres_are_held_out_whole():
    rows, y = profiles(30)
    kernel = Separable(Matern(80.0), Matern(200.0))
    model = SpatialRegressor(kernel, coords=["lon", "lat", "depth"], tune=None, noise_variance=0.01).fit(rows, y)
    *_, blocks = held_out(model, None, (), 5, None)
    assert blocks.name.endswith("km at every depth")
    assert diagnose(model).variogram.among == "at the same depth"


@pytest.mark.parametrize("times", ["alike", "of their own"])
def test_the_variogram_is_that_of_space_whatever_the_unit_of_time(times):
    rng = np.random.default_rng(0)
    rows, _ = table(40, 20)
    if times == "of their own":
        rows["day"] += rng.uniform(0, 1.0, len(rows))
    kernel = Separable(Matern(30.0, 2.0), Matern(20.0))
    root = np.linalg.cholesky(kernel(rows.to_numpy()) + 0.5 * np.eye(len(rows)))
    fields, found = root @ rng.standard_normal((len(rows), 10)), []
    for y in fields.T:
        model = SpatialRegressor(kernel, coords=["x", "y", "day"], tune=None, noise_variance=0.5, fit_intercept=False)
        found.append(diagnose(model.fit(rows, y)).variogram)
    one = found[0]
    assert one.axes == (0, 1) and one.unit == ""
    assert one.among == ("at the same day" if times == "alike" else "at nearly the same day")
    n_bins = min(len(each.distance) for each in found)
    gamma = np.array([each.semivariance[:n_bins] for each in found])
    lag = np.column_stack([one.distance[:n_bins], np.zeros((n_bins, 2))])
    expected = 0.5 + 2.0 - kernel.at(lag)
    # pairs within a day of each other: the field of a day later is 0.1 % of its variance farther off
    assert np.all(np.abs(gamma.mean(axis=0) - expected) < 5 * gamma.std(axis=0) / np.sqrt(len(found)) + 0.05)


def test_few_sites_have_a_variogram_of_time():
    rows, y = table(4, 60)
    dates = rows.assign(date=pd.Timestamp("2024-01-01") + pd.to_timedelta(rows.day, "D"))
    kernel = Separable(Matern(30.0), Matern(20.0))
    model = SpatialRegressor(kernel, coords=["x", "y", "date"], tune=None, noise_variance=0.04).fit(dates, y)
    found = diagnose(model).variogram
    assert found.axes == (2,) and found.unit == "days" and found.among == "at the same place"
    assert found.distance[0] == 7.0


def test_a_time_that_never_varies_is_told_of():
    rows, y = table(30)
    rows = rows.assign(date=pd.Timestamp("2024-05-01")).drop(columns="day")
    kernel = Separable(Matern(30.0), Matern(20.0))
    with pytest.warns(CheckWarning, match="date is 2024-05-01 in every row"):
        model = SpatialRegressor(kernel, coords=["x", "y", "date"], tune=None, noise_variance=0.04).fit(rows, y)
    assert any("date is 2024-05-01 in every row" in finding for finding in model.check())


def test_a_time_before_its_place_is_known_in_degrees_and_told_of_in_a_plane():
    rows, y = table(30)
    rows = rows.assign(lon=rows.x / 70, lat=rows.y / 110)
    kernel = Matern(30.0)
    for names, known in ((["day", "lon", "lat"], True), (["day", "x", "y"], False), (["x", "y", "day"], True)):
        model = SpatialRegressor(kernel, coords=names, tune=None, noise_variance=0.04).fit(rows[names], y)
        assert model.fitted_.layout.last_is_time == known
        assert any("last of the coordinates it is a time" in finding for finding in model.check()) != known


@pytest.mark.parametrize("dated", [True, False])
def test_more_rows_at_each_place_than_a_block_may_have(dated):
    rows, y = table(12, 250)
    columns, y = (["x", "y", "day"], y) if dated else (["x", "y"], y - np.sin(rows.day / 15))
    kernel = Separable(Matern(30.0), Matern(20.0)) if dated else Matern(30.0)
    model = SpatialRegressor(kernel, coords=columns, tune=None, noise_variance=0.04).fit(rows, y)
    assert model.check() == []  # a place is not split further
    _, blocks = hold_out(model)
    assert "10 blocks" in blocks.text


@pytest.mark.parametrize(("n_sites", "n_times"), [(9, 4), (9, 1)])
def test_a_few_sites_at_fewer_times_are_held_out_in_blocks_of_space(n_sites, n_times):
    rows, y = table(n_sites, n_times)
    assert fitted(rows, y).fitted_.layout.blocks(rows.to_numpy()).axes == [0, 1]
    assert len(np.unique(fitted(rows, y).cross_validate(5).fold)) == 5


@pytest.mark.parametrize("n_sites", [8, 30])
def test_groups_say_whether_blocks_are_of_space_or_of_time(n_sites):
    rows, y = table(n_sites)
    kept = np.random.default_rng(0).uniform(size=len(rows)) < 0.7
    rows, y = rows[kept].reset_index(drop=True), y[kept]
    model = fitted(rows, y)
    by_site = model.cross_validate(5, groups=rows.groupby(["x", "y"]).ngroup())
    assert all(len(np.unique(rows.x[by_site.index][by_site.fold == k])) >= n_sites // 5 for k in range(5))
    by_day = model.cross_validate(5, groups=rows.day)
    days = [np.unique(rows.day.to_numpy()[by_day.index][by_day.fold == k]) for k in range(5)]
    assert sum(len(some) for some in days) == 12
    assert all(np.diff(some).min() == 7 for some in days)  # days that follow one another


def test_forecasts_are_tuned_and_judged_as_times_to_come():
    rows, y = table(16, 14)
    known = rows.day < 70
    kernel = Separable(Matern(30.0), Matern(20.0))
    model = SpatialRegressor(kernel, coords=["x", "y", "day"], tune="spatial-cv")
    model.fit(rows[known], y[known], predict_at=rows[~known])
    *_, wanted = held_out(model, rows[~known], (), 5, None)
    assert wanted.name == "as places to predict"
    assert wanted.distance >= 7  # days, of a row from those of other days
    layout, places = model.fitted_.layout, rows.to_numpy()
    assert layout.blocks(places[known], places[~known]).axes == [2]
    assert layout.blocks(places[::3], places[1::3]).axes is None  # what is missing among sites and times
    assert layout.blocks(places[known], places[~known] + 0.1).axes == [0, 1]


def test_one_coordinate_and_a_time_are_two_units_as_well():
    rows, y = table(30)
    scores = []
    for per_day in (1.0, 24.0):
        kernel = Matern((30.0, 20.0 * per_day))
        model = SpatialRegressor(kernel, coords=["x", "day"], tune=None, noise_variance=0.5)
        scores.append(dict(model.fit(rows.assign(day=rows.day * per_day), y).cross_validate(5)))
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)
