"""Laws of moments: sums over rows, whatever the order, the grouping and the precision of the waves."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bochner.features import FourierMap, Rows, wave_dtype
from bochner.frequencies import MonteCarlo
from bochner.inference import Observations
from bochner.inference.fits.linear import LinearEngine
from bochner.kernels import Matern
from bochner.moments import DenseMoments, dense_moments
from tests.laws.registry import DIMS
from tests.laws.registry_models import FEATURE_MAPS, waves

every_map = pytest.mark.parametrize("map_of", FEATURE_MAPS.values(), ids=FEATURE_MAPS.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def table(dim: int, n: int = 60, n_trend: int = 2) -> tuple[Rows, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(dim)
    trend = np.column_stack([np.ones(n), rng.normal(size=n)])[:, :n_trend]
    return Rows(rng.normal(size=(n, dim)), trend), rng.normal(size=n), rng.uniform(0, 2, size=n)


def assert_same(a: DenseMoments, b: DenseMoments, rtol: float = 1e-12) -> None:
    scale = np.abs(b.gram).max()
    assert_allclose(a.gram, b.gram, rtol=rtol, atol=rtol * scale)
    assert_allclose(a.projection, b.projection, rtol=rtol, atol=rtol * scale)
    assert_allclose([a.energy, a.weight], [b.energy, b.weight], rtol=1e-12)


def assert_same_rows(a: DenseMoments, b: DenseMoments, rtol: float = 1e-12) -> None:
    """The same sums, of the same number of rows."""
    assert_same(a, b, rtol)
    assert_allclose(a.log_weight, b.log_weight, rtol=1e-12)
    assert a.n_rows == b.n_rows


@every_map
@every_dimension
@pytest.mark.parametrize("n_trend", [0, 2])
def test_moments_are_weighted_sums(map_of, dim, n_trend):
    features, (rows, y, weight) = map_of(dim), table(dim, n_trend=n_trend)
    columns = np.column_stack([features.block(rows.coords), rows.trend])
    weighted = columns * weight[:, None]
    sums = float(y @ (weight * y)), float(weight.sum()), float(np.log(weight).sum())
    dense = DenseMoments(columns.T @ weighted, weighted.T @ y, *sums, len(y))
    assert_same_rows(dense_moments(features, rows, y, weight), dense)


@every_map
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_chunks_in_any_order_and_grouping_give_the_same(map_of, data):
    features, (rows, y, weight) = map_of(2), table(2)
    order = np.array(data.draw(st.permutations(range(60))))
    cuts = sorted(data.draw(st.sets(st.integers(1, 59), max_size=8)))
    parts = [dense_moments(features, rows[i], y[i], weight[i]) for i in np.split(order, cuts)]
    middle = data.draw(st.integers(0, len(parts) - 1))
    if middle:  # (a + b) + (c + d) as well as ((a + b) + c) + d
        parts = [reduce(DenseMoments.__add__, parts[:middle]), reduce(DenseMoments.__add__, parts[middle:])]
    # columns behind a nearly singular factor (1e-10 of jitter) are rounded differently in blocks of another size
    assert_same_rows(reduce(DenseMoments.__add__, parts), dense_moments(features, rows, y, weight), rtol=1e-11)


@every_map
def test_weights_are_copies(map_of):
    features, (rows, y, _) = map_of(2), table(2)
    copies = np.arange(60) % 4
    index = np.repeat(np.arange(60), copies)
    repeated = dense_moments(features, rows[index], y[index], np.ones(len(index)))
    assert_same(dense_moments(features, rows, y, copies.astype(float)), repeated, rtol=1e-11)  # as above


@every_map
def test_blocks_make_no_difference(map_of, monkeypatch):
    features, (rows, y, weight) = map_of(2), table(2)
    whole = dense_moments(features, rows, y, weight)
    monkeypatch.setattr(type(features), "slices", lambda self, n, *_: [slice(i, min(i + 7, n)) for i in range(0, n, 7)])
    assert_same(dense_moments(features, rows, y, weight), whole)


@every_dimension
def test_float32_waves_are_summed_in_float64(dim):
    """Of rounded waves the sums are right: they do not lose further digits with the number of rows."""
    n = 30_000
    features = waves(MonteCarlo(), Matern(0.5, 3.0), 20, dim, np.float32)
    rows, y, weight = table(dim, n)
    found = dense_moments(features, rows, y + 100.0, weight)
    assert found.gram.dtype == found.projection.dtype == np.float64
    columns = np.column_stack([features.block(rows.coords).astype(float), rows.trend])
    gram, projection = columns.T @ (columns * weight[:, None]), columns.T @ (weight * (y + 100.0))
    # entries are sums of n products, rounded to 6e-8 of the mass 3 / 20 each and again in sums of 4,096 rows
    assert_allclose(found.gram[:40, :40], gram[:40, :40], atol=1e-7 * n * 3 / 20)
    # a column against the response, or the trend, is rounded only when the weight is multiplied in
    assert_allclose(found.projection, projection, atol=1e-8 * n * 100.0 * np.sqrt(3 / 20))
    assert_allclose(found.gram[40:, 40:], gram[40:, 40:], rtol=1e-12)


@pytest.mark.parametrize("length_scale", [0.5, 3.0])
def test_float32_waves_leave_the_posterior_alone_where_they_are_allowed(length_scale):
    """At the least noise for which `wave_dtype` allows them, a mean moves by a fraction of its sd."""
    n, rng = 20_000, np.random.default_rng(0)
    noise_variance = 1.01 * 5e-7 * np.sqrt(n) / 0.01
    assert wave_dtype(n, 1.0, noise_variance) is np.float32
    coords = rng.normal(size=(n, 2))
    y = 5 + np.sin(2 * coords[:, 0]) + np.sqrt(noise_variance) * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    new = Rows(1.5 * rng.normal(size=(200, 2)), np.ones((200, 1)))
    exact = waves(MonteCarlo(), Matern(length_scale), 100, 2)
    rounded = FourierMap(exact.frequencies, np.float32)
    a, b = (LinearEngine(features, noise_variance).fit(obs).posterior for features in (rounded, exact))
    sd = np.sqrt(b.variance(new))
    # right-hand sides summed in float32 moved it by up to 0.6
    assert np.all(np.abs(a.mean(new) - b.mean(new)) <= 0.05 * sd)
    assert_allclose(np.sqrt(a.variance(new)), sd, rtol=0.01)


def test_no_rows_are_zero_moments():
    features, (rows, y, weight) = waves(MonteCarlo(), Matern(), 5, 2), table(2)
    none = dense_moments(features, rows[:0], y[:0], weight[:0])
    assert not none.gram.any() and not none.projection.any() and none.energy == none.weight == 0
    some, one = dense_moments(features, rows, y, weight), np.r_[1.0, np.zeros(len(y) - 1)]
    assert_same_rows(none + some, some)
    first = dense_moments(features, rows[:1], y[:1], one[:1])
    assert_same_rows(dense_moments(features, rows, y, one), first)  # a row without weight is not there
