"""What a model can show of its data without showing them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from scipy.spatial import cKDTree

from bochner import SpatialRegressor, load
from bochner.diagnostics import (
    Diagnostics,
    Summary,
    calibration,
    correlation_range,
    diagnose,
    diagnostics_of,
    limits,
    region_of,
    remember,
    round_step,
)
from bochner.diagnostics.limits import MAX_MASK_CELLS
from bochner.diagnostics.variogram import empirical_variogram
from bochner.exceptions import InputError
from bochner.kernels import Linear, Matern, OnAxes, Separable, SquaredExponential
from bochner.validation.transforms import LEVELS
from tests.estimators.fields import KINDS, draw, field

every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])


# ------------------------------------------------------------------------------------- all


@every_kind
def test_every_kind_of_model_can_be_diagnosed(make):
    X, y = field(80)
    model = make(covariates=[2]).fit(np.column_stack([X, np.cos(9 * y)]), y)
    found = diagnose(model)
    assert found.n_rows == 80 and found.region.dim == 2
    assert_allclose(found.covariates["x2"].mean, np.cos(9 * y).mean())
    assert_allclose(found.response.sd, y.std())
    assert [held.name for held in found.held_out] == ["leave one out", "blocks"]
    assert found.held_out[0].scores == pytest.approx(dict(model.cross_validate()))
    assert 0.85 < found.held_out[0].coverage[LEVELS.index(0.95)] <= 1


@every_dimension
def test_plain_values_come_back_the_same(dim):
    X, y = field(60, dim)
    found = diagnose(KINDS["exact"]().fit(X, y))
    state = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert Diagnostics.from_dict(state) == found
    assert len(json.dumps(state)) < 20_000


def test_rows_without_weight_are_not_there():
    X, y = field(60)
    weight = np.r_[np.ones(50), np.zeros(10)]
    extra = np.r_[X[:50], X[50:] + 100]
    one = diagnose(KINDS["exact"]().fit(extra, y, sample_weight=weight))
    other = diagnose(KINDS["exact"]().fit(X[:50], y[:50]))
    assert one.n_rows == 50 and one.region == other.region
    assert_allclose(one.variogram.semivariance, other.variogram.semivariance)
    assert one.held_out[0].pit == other.held_out[0].pit


def test_own_rows_are_recognised_in_any_order():
    X, y = field(70)
    found = diagnose(KINDS["exact"]().fit(X, y))
    order = np.random.default_rng(0).permutation(70)
    assert found.are_of(X[order], y[order])
    assert not found.are_of(X[order], 1.001 * y[order])
    assert not found.are_of(X[order][:69], y[order][:69])
    assert not found.are_of(X[order] + [0.01, 0], y[order])


def test_a_loaded_model_says_what_it_lacks(tmp_path):
    X, y = field(30)
    KINDS["exact"]().fit(X, y).save(tmp_path / "m.bochner")
    model = load(tmp_path / "m.bochner")
    with pytest.raises(InputError, match="diagnostics need the training rows"):
        diagnose(model)
    assert diagnostics_of(model) is None


def test_a_model_that_remembers_carries_its_diagnostics_in_its_file(tmp_path):
    X, y = field(30)
    model = KINDS["exact"]().fit(X, y)
    remember(model)
    model.save(tmp_path / "m.bochner")
    again = load(tmp_path / "m.bochner")
    assert not again.has_training
    assert diagnostics_of(again) == diagnose(model)


def test_one_place_has_no_variogram_and_no_blocks():
    X, y = np.ones((20, 2)), np.random.default_rng(0).normal(size=20)
    found = diagnose(SpatialRegressor(Matern(), noise_variance=1.0, tune=None).fit(X, y))
    assert found.variogram is None and [held.name for held in found.held_out] == ["leave one out"]


def test_counts_are_told_as_prevalences():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(90, 2))
    trials = rng.integers(5, 50, size=90)
    y = rng.binomial(trials, special.expit(np.sin(6 * X[:, 0])))
    found = diagnose(
        SpatialRegressor(Matern(0.3), family="binomial", noise_variance=0.05, tune=None).fit(X, y, trials=trials)
    )
    assert_allclose(found.response.mean, np.mean(y / trials))
    held = found.held_out[0]
    assert 0 < min(held.reliability.observed) < max(held.reliability.predicted) < 1
    assert 0.85 < held.coverage[LEVELS.index(0.95)] <= 1
    # the transform of counts is spread at random within their steps: even, to 4.5 standard errors of a bin
    assert np.abs(np.array(held.pit) - 4.5).max() < 4.5 * np.sqrt(4.5)


@pytest.mark.parametrize(
    "options",
    [{"features": "quasi", "n_frequencies": 100}, {"features": "lattice"}, {"features": "exact"}],
    ids=["quasi", "lattice", "exact"],
)
def test_of_many_rows_a_sample_is_held_out(options, monkeypatch):
    monkeypatch.setattr(limits, "MAX_HELD_OUT_ROWS", 500)
    monkeypatch.setattr(limits, "SAMPLED_ROWS", 300)
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(900, 2))
    y = np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=900)
    model = SpatialRegressor(Matern(0.3), noise_variance=0.09, tune=None, **options).fit(X, y)
    single, blocks = diagnose(model).held_out
    assert single.n_rows == 300 and "300 of the 900 rows" in single.text
    assert 50 < blocks.n_rows < 900
    for held in (single, blocks):
        # the noise is known: 5 standard errors of an RMSE of so many rows
        assert abs(held.scores["rmse"] - 0.3) < 0.03 + 5 * 0.3 / np.sqrt(2 * held.n_rows)
        assert abs(held.scores["coverage"] - 0.95) < 5 * np.sqrt(0.95 * 0.05 / held.n_rows)


# ---------------------------------------------------------------------------------- region


@every_dimension
def test_the_region_holds_all_rows_and_names_none(dim):
    rng = np.random.default_rng(dim)
    coords = rng.normal(size=(300, dim)) * 10.0 ** np.arange(dim) + 1000
    region = region_of(coords, tuple("abc"[:dim]))
    low, high = np.array(region.low), np.array(region.high)
    assert np.all(low < coords.min(axis=0)) and np.all(high > coords.max(axis=0))
    # at most two steps, of a twentieth at most, of room on either side
    assert np.all(high - low <= 1.2 * np.ptp(coords, axis=0))
    assert not np.isin(np.r_[low, high], coords).any()
    assert max(len(region.mask), *(len(line) for line in region.mask)) <= MAX_MASK_CELLS
    near = region.near(coords[:, 0]) if dim == 1 else region.near(coords[:, 0], coords[:, 1])
    assert near.mean() > 0.97


def test_the_region_is_blank_far_from_data_and_filled_between():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi / 2, size=500)
    coords = rng.uniform(0.85, 1.0, size=500)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    region = region_of(coords, ("x", "y"))
    probes = rng.uniform(0.05, 0.95, size=(4000, 2))
    distance = cKDTree(coords).query(probes)[0]
    near = region.near(probes[:, 0], probes[:, 1])
    cell = 1 / MAX_MASK_CELLS
    assert near[distance < region.reach - 3 * cell].all()
    assert not near[distance > region.reach + 3 * cell].any()
    assert not region.near(np.array([0.1]), np.array([0.1]))[0]


def test_many_surveys_have_the_same_mask():
    """A village that moves by a tenth of a cell moves nothing: the mask cannot tell where it is."""
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    moved = grid.copy()
    moved[210] += 0.03
    assert region_of(grid, ("x", "y")).mask == region_of(moved, ("x", "y")).mask


def test_longitudes_across_the_antimeridian_are_one_region():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    lon = (rng.uniform(176, 184, size=60) + 180) % 360 - 180
    frame = pd.DataFrame({"lon": lon, "lat": rng.uniform(-20, -15, size=60)})
    region = diagnose(SpatialRegressor(Matern(200.0), noise_variance=0.1, tune=None).fit(frame, frame.lat)).region
    assert 7 < region.high[0] - region.low[0] < 10
    assert region.km_per_unit == pytest.approx((106.1, 110.7), rel=0.01)


@pytest.mark.parametrize(("size", "step"), [(1.0, 1.0), (0.99, 0.5), (7.3, 5.0), (4999, 2000.0), (0.0021, 0.002)])
def test_steps_are_round(size, step):
    assert_allclose(round_step(size), step)


# ------------------------------------------------------------------------------- variogram


@every_dimension
def test_the_variogram_is_that_of_the_field(dim):
    """Over many fields the mean semivariance is noise + k(0) - k(h)."""
    rng = np.random.default_rng(dim)
    kernel = Matern(0.2, 2.0)
    coords = rng.uniform(size=(150, dim))
    fields = draw(kernel, coords, rng, 200) + np.sqrt(0.5) * rng.normal(size=(200, 150))
    found = [empirical_variogram(coords, values, 0.4, rng) for values in fields]
    gamma = np.array([one.semivariance for one in found])
    distance = np.array(found[0].distance)
    lag = np.zeros((len(distance), dim))
    lag[:, 0] = distance
    error = 5 * gamma.std(axis=0) / np.sqrt(200)
    # within a bin the distance varies, and the variogram is curved
    assert np.all(np.abs(gamma.mean(axis=0) - (0.5 + 2.0 - kernel.at(lag))) < error + 0.03)


def test_the_envelope_holds_fields_of_the_model():
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(90, 2))
    kernel = Matern(0.2)
    inside = []
    for values in draw(kernel, coords, rng, 25):
        one = empirical_variogram(coords, values, 0.5, rng, lambda x, n, r: draw(kernel, x, r, n))
        inside.append(np.mean((np.array(one.lower) <= one.semivariance) & (np.array(one.upper) >= one.semivariance)))
    assert abs(np.mean(inside) - 0.95) < 0.07


def test_replicates_and_far_pairs_are_left_out():
    coords = np.repeat(np.arange(12.0)[:, None], 4, axis=0)
    found = empirical_variogram(coords, np.tile([0.0, 9.0, 0.0, 9.0], 12), 2.5, np.random.default_rng(0))
    assert min(found.distance) == 1 and max(found.distance) == 2
    assert found.n_pairs == (11 * 16, 10 * 16)
    assert empirical_variogram(coords, np.zeros(48), 0.5, np.random.default_rng(0)) is None


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.01, 3.0, 1e5])
def test_range_is_where_the_correlation_falls(dim, scale):
    kernel = SquaredExponential(scale, 4.0)
    assert_allclose(correlation_range(kernel, dim), scale * np.sqrt(2 * np.log(20)), rtol=1e-6)
    longest = Matern(tuple(scale * (1.0 + j) for j in range(dim)), nu=0.5)
    assert_allclose(correlation_range(longest, dim), dim * scale * np.log(20), rtol=0.1)


def test_range_on_a_map_has_nothing_of_time():
    """Days are no kilometres: whatever their unit, the field reaches as far."""
    for day in (1 / 365.25, 1.0, 86_400.0):
        kernel = Separable(Matern(80.0), Matern(9.0 * day))
        assert_allclose(correlation_range(kernel, 3, axes=(0, 1)), correlation_range(Matern(80.0), 2), rtol=1e-6)
    common = OnAxes(Matern(80.0), without=-1) + OnAxes(Matern(9.0), -1)
    assert correlation_range(common, 3, axes=(0, 1)) is None  # a level common to all places never ends


# ----------------------------------------------------------------------------- calibration


def test_calibration_of_an_honest_law_is_even():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=4000)
    y = mean + rng.normal(size=4000)
    held = calibration("n", "t", {}, special.ndtr(y - mean), mean, y)
    assert sum(held.pit) == sum(held.residuals) == 4000
    assert np.abs(np.array(held.pit) - 200).max() < 5 * np.sqrt(200)
    # 5 standard errors of a share
    assert np.all(np.abs(np.array(held.coverage) - LEVELS) < 5 * 0.5 / np.sqrt(4000))
    assert_allclose(held.explained, 0.5, atol=0.05)
    difference = np.array(held.reliability.observed) - held.reliability.predicted
    assert np.all(np.abs(difference) < 5 * np.array(held.reliability.standard_error))


def test_calibration_shows_what_is_wrong():
    rng = np.random.default_rng(0)
    y = rng.normal(size=3000)
    narrow = calibration("n", "t", {}, special.ndtr(y / 0.5), np.zeros(3000), y)
    high = calibration("n", "t", {}, special.ndtr(y - 1), np.ones(3000), y)
    assert narrow.coverage[LEVELS.index(0.9)] < 0.65 and narrow.pit[0] > 2 * narrow.pit[10]
    assert high.pit[0] > 4 * high.pit[-1] and high.explained < 0


def test_groups_hold_many_rows_each():
    """No mean of the table is that of a few rows."""
    for n in (1, 14, 31, 200):
        values = np.linspace(0, 1, n)
        held = calibration("n", "t", {}, values, values, values)
        assert sum(held.reliability.n_rows) == n
        assert min(held.reliability.n_rows) >= min(n, 15)


def test_summary_tells_numbers_apart():
    values = np.random.default_rng(0).gamma(2, size=500)
    summary = Summary.of(values)
    assert summary.is_of(values[::-1]) and not summary.is_of(values * 1.001)
    assert_array_equal(summary.quantiles, np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_a_kernel_that_is_not_stationary_has_a_variogram_without_a_band():
    X, y = field(80)
    found = diagnose(SpatialRegressor(Linear(), noise_variance=0.1, tune=None).fit(X, y))
    assert found.variogram is not None and found.variogram.lower == ()
