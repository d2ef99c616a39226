"""Laws of moments: sums over rows, whatever the order, the grouping and the precision of the waves."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bochner.features import FourierMap, Rows
from bochner.frequencies import MonteCarlo
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


@every_map
@every_dimension
@pytest.mark.parametrize("n_trend", [0, 2])
def test_moments_are_weighted_sums(map_of, dim, n_trend):
    features, (rows, y, weight) = map_of(dim), table(dim, n_trend=n_trend)
    columns = np.column_stack([features.block(rows.coords), rows.trend])
    weighted = columns * weight[:, None]
    dense = DenseMoments(columns.T @ weighted, weighted.T @ y, float(y @ (weight * y)), float(weight.sum()))
    assert_same(dense_moments(features, rows, y, weight), dense)


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
    assert_same(reduce(DenseMoments.__add__, parts), dense_moments(features, rows, y, weight))


@every_map
def test_weights_are_copies(map_of):
    features, (rows, y, _) = map_of(2), table(2)
    copies = np.arange(60) % 4
    index = np.repeat(np.arange(60), copies)
    repeated = dense_moments(features, rows[index], y[index], np.ones(len(index)))
    assert_same(dense_moments(features, rows, y, copies.astype(float)), repeated)


@every_map
def test_blocks_make_no_difference(map_of, monkeypatch):
    features, (rows, y, weight) = map_of(2), table(2)
    whole = dense_moments(features, rows, y, weight)
    monkeypatch.setattr(type(features), "slices", lambda self, n: [slice(i, min(i + 7, n)) for i in range(0, n, 7)])
    assert_same(dense_moments(features, rows, y, weight), whole)


@every_dimension
def test_float32_waves_lose_little(dim):
    """Entries of the Gram are off by rounding that averages out: MATH.md 3 allows 5e-7 sqrt(n) variance."""
    n, variance = 20_000, 3.0
    exact = waves(MonteCarlo(), Matern(0.5, variance), 20, dim)
    rounded = FourierMap(exact.frequencies, np.float32)
    rows, y, weight = table(dim, n)
    a, b = (dense_moments(features, rows, y + 100.0, weight) for features in (rounded, exact))
    assert a.gram.dtype == a.projection.dtype == np.float64
    mass = exact.frequencies.mass[0]
    # a sum of n products, each rounded by 6e-8 of the mass, within blocks of float32 sums
    assert np.abs(a.gram[:40, :40] - b.gram[:40, :40]).max() <= 5e-7 * np.sqrt(n) * variance
    assert np.abs(a.gram[:40, :40] - b.gram[:40, :40]).max() > 0
    # right-hand sides keep their digits: only the waves are rounded, y is not
    assert_allclose(a.projection, b.projection, atol=1e-6 * np.sqrt(mass) * np.abs(weight * (y + 100.0)).sum())
    assert_allclose(a.gram[40:, 40:], b.gram[40:, 40:], rtol=1e-13)


def test_no_rows_are_zero_moments():
    features, (rows, y, weight) = waves(MonteCarlo(), Matern(), 5, 2), table(2)
    none = dense_moments(features, rows[:0], y[:0], weight[:0])
    assert not none.gram.any() and not none.projection.any() and none.energy == none.weight == 0
    assert_same(none + dense_moments(features, rows, y, weight), dense_moments(features, rows, y, weight))
