"""When rows are a grid, and how fine a series of scattered rows is: whatever the unit, the order and the gaps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.features import limits
from bochner.features.operators import GridOperator, SplitOperator
from bochner.features.operators.grid import find_grid, torus_counts
from bochner.frequencies.limits import FADING_STEPS
from bochner.frequencies.torus import _even, fade, torus_series
from bochner.kernels import Laplacian, Matern, Separable
from bochner.resources import Resources

SHAPES = {1: (30,), 2: (9, 7), 3: (5, 4, 6)}


def nodes(dim: int, step=1.0) -> np.ndarray:
    return np.argwhere(np.ones(SHAPES[dim], dtype=bool)) * np.asarray(step, dtype=float)


# ------------------------------------------------------------------------------------------------------------- grids


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_grid_is_found_in_any_unit_and_order(dim, unit):
    step, origin = unit * np.array([1.0, 0.3, 7.0])[:dim], unit * np.array([-5.0, 100.0, 3.0])[:dim]
    coords = origin + nodes(dim, step)
    grid = find_grid(np.random.default_rng(0).permutation(coords))
    assert grid is not None and grid.shape == SHAPES[dim]
    assert_allclose(grid.step, step)
    assert_allclose(grid.origin, origin)
    at = grid.nodes(coords)
    assert_array_equal(at, nodes(dim).astype(int))
    assert grid.nodes(coords + 0.4 * step) is None and grid.positions(coords + 0.4 * step) is None
    for beyond in (coords + np.array(grid.shape) * step, coords - step):
        assert grid.nodes(beyond) is None and grid.positions(beyond) is not None
    assert grid.nodes(origin[None] + step * (np.array(grid.shape) - 1)) is not None


def test_gaps_of_any_width_leave_a_grid_a_grid():
    """Whole rows and columns of nodes missing, so that some steps are many; and rounding that adds up to little."""
    plane = np.argwhere(np.ones((40, 30), dtype=bool)).astype(float)
    kept = plane[~np.isin(plane[:, 0], [3, 4, 5, 20, 30]) & ~np.isin(plane[:, 1], [7, 8])]
    grid = find_grid(kept)
    assert grid is not None and grid.shape == (40, 30)
    assert_allclose(grid.step, 1.0)
    assert find_grid(kept + np.random.default_rng(0).uniform(-1e-6, 1e-6, kept.shape)) is not None
    assert find_grid(kept + np.random.default_rng(0).uniform(-0.05, 0.05, kept.shape)) is None


def test_what_is_no_grid():
    rng = np.random.default_rng(0)
    assert find_grid(rng.uniform(size=(60, 2))) is None
    assert find_grid(np.column_stack([np.arange(9.0), np.ones(9)])) is None  # one line in the plane has one step
    few = np.array([[0.0, 0.0], [1.0, 1.0], [300.0, 400.0]])
    assert find_grid(few) is None  # 120,000 nodes for three rows
    assert find_grid(few[:2]) is not None
    assert GridOperator.offered(Matern(), rng.uniform(size=(60, 2)), (np.zeros(2), np.ones(2))) is None
    four = np.argwhere(np.ones((3, 3, 3, 3), dtype=bool)).astype(float)
    assert GridOperator.offered(Matern(), four, (np.zeros(4), np.full(4, 2.0))) is None
    assert find_grid(four) is not None


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_lags_of_a_grid_fit_on_its_torus(dim, monkeypatch):
    """Twice as wide: no two nodes meet around it. Many lags at once or few, the spectrum is the same."""
    coords = nodes(dim, 0.2)
    counts = torus_counts(find_grid(coords))
    assert all(2 * n <= count <= 4 * n for n, count in zip(SHAPES[dim], counts, strict=True))
    box, v = (coords.min(axis=0), coords.max(axis=0)), np.random.default_rng(1).standard_normal(len(coords))
    whole = GridOperator(Matern(0.4), coords, box).apply(v)
    monkeypatch.setattr(limits, "PAIRS_AT_ONCE", 40)
    assert_allclose(GridOperator(Matern(0.4), coords, box).apply(v), whole, atol=1e-12)


# ------------------------------------------------------------------------------------------------------------ series


@pytest.mark.parametrize("dim", [1, 2])
def test_a_series_without_a_taper_is_the_kernel_at_multiples_of_its_step(dim):
    extent, step = np.array([1.0, 0.6])[:dim], np.array([0.05, 0.1])[:dim]
    series = torus_series(Matern(0.4, 1.3, nu=0.5), extent, step, taper=False)
    assert_allclose(series.step, step)
    assert np.all(series.period >= 2 * extent)
    lag = np.argwhere(np.ones([int(np.rint(e / s)) + 1 for e, s in zip(extent, step, strict=True)])) * step
    assert_allclose(series.at(lag), Matern(0.4, 1.3, nu=0.5).lag_covariance(lag), atol=1e-7)


def test_fading_is_one_before_and_zero_after():
    t = np.linspace(0.0, 3.0, 301)
    faded = fade(t, 1.0, 2.0)
    assert_allclose(faded[t <= 1.0], 1, atol=1e-12)
    assert_allclose(faded[t >= 2.0], 0, atol=1e-12)
    assert np.all(np.diff(faded) <= 1e-12)
    assert_allclose(fade(1.5 - t[:50] / 3, 1.0, 2.0) + fade(1.5 + t[:50] / 3, 1.0, 2.0), 1)
    for n in (2.2, 7, 13.5, 31, 97):
        assert n <= _even(n) < 1.5 * n + 4 and _even(n) % 2 == 0


def split(kernel, coords, box=None) -> SplitOperator:
    dim = coords.shape[1]
    return SplitOperator(kernel, coords, (np.zeros(dim), np.ones(dim)) if box is None else box)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_series_is_as_fine_as_there_are_rows(monkeypatch, dim):
    """So many coefficients for a row, within bounds; steps are shares of the box, whatever its unit."""
    monkeypatch.setattr(limits, "MIN_COEFFICIENTS", 2**16)
    monkeypatch.setattr(limits, "MAX_COEFFICIENTS", 2**19)
    rng = np.random.default_rng(dim)
    for n in (10, 70_000, 100_000):
        coords = rng.uniform(size=(n, dim))
        wanted = np.clip(limits.COEFFICIENTS_PER_ROW * n, 2**16 * (4 if dim == 3 else 1), 2**19)
        step = split(Matern(0.3), coords).steps
        assert_allclose(np.prod(2 * (1 / step + FADING_STEPS)), wanted, rtol=1e-6)
        for unit in (1e-3, 1e3):
            other = split(Matern(0.3 * unit), unit * coords, (np.zeros(dim), np.full(dim, unit)))
            assert_allclose(other.steps, unit * step, rtol=1e-6)


def test_axes_with_more_lengths_of_the_kernel_have_more_steps():
    coords = np.random.default_rng(0).uniform(size=(100, 2))
    equal, unlike = split(Matern(0.3), coords), split(Matern((0.03, 0.6), nu=1.5), coords)
    assert_allclose(equal.shares, 1)
    assert_allclose(split(Matern((0.3, 0.15), nu=1.5), coords).shares, 1)  # not so unlike
    shares = unlike.shares
    assert_allclose(shares.prod(), 1)
    assert shares[0] > 10 * shares[1]
    assert unlike.steps[0] < 0.1 * unlike.steps[1]
    assert_allclose(equal.steps[0], equal.steps[1])
    # as many in all
    counts = [np.prod(2 * (1 / o.steps + FADING_STEPS)) for o in (equal, unlike)]
    assert_allclose(counts[0], counts[1], rtol=1e-6)


def test_a_flat_box_has_a_series():
    """All rows on a line in the plane: the other axis is as good as none."""
    rng = np.random.default_rng(0)
    coords = np.column_stack([rng.uniform(size=200), np.zeros(200)])
    operator = split(Matern(0.3), coords, (np.zeros(2), np.array([1.0, 0.0])))
    v = rng.standard_normal(200)
    exact = Matern(0.3)(coords) @ v
    assert operator.faithful
    assert_allclose(operator.apply(v), exact, atol=operator.product_error * exact.std())


def test_what_is_said_of_a_split_is_what_it_is(monkeypatch):
    coords = np.random.default_rng(0).uniform(size=(300, 2))
    good, kinked = split(Matern(0.3), coords), split(Laplacian(0.3), coords)
    assert good.far_error == 0.0 and good.faithful and "follow the kernel" in good.reason
    assert kinked.far_error > limits.MAX_SPLIT_ERROR and not kinked.faithful
    assert "cannot follow the kernel along every axis" in kinked.reason
    # the error is that of the series at lags that are not near, of the variance whatever that is
    assert_allclose(split(Laplacian(0.3, 50.0), coords).far_error, kinked.far_error, rtol=1e-6)
    smooth = split(Separable(Matern(0.3), Matern(0.3)), coords)
    assert 0 <= smooth.far_error < limits.MAX_SPLIT_ERROR and smooth.faithful
    monkeypatch.setattr(limits, "MAX_NEAR_PAIRS", (10, 10))
    crowded = split(Matern(0.3), coords)
    assert not crowded.faithful and "too near for waves to tell apart" in crowded.reason


def test_rows_that_are_all_near_leave_nothing_to_the_series():
    """Within a few steps of each other: the kernel is all remainder, and the series has no error."""
    coords = 0.5 + 1e-4 * np.random.default_rng(0).uniform(size=(40, 2))
    operator = split(Laplacian(0.3), coords)
    assert operator.far_error == 0.0 and operator.faithful
    v = np.random.default_rng(1).standard_normal(40)
    assert_allclose(operator.apply(v), Laplacian(0.3)(coords) @ v, atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2])
def test_near_pairs_are_counted(dim, monkeypatch):
    """From some rows: those within the radius, in steps, each pair once and each row with itself by half."""
    monkeypatch.setattr(limits, "MIN_COEFFICIENTS", 2 ** (8 * dim))
    coords = np.random.default_rng(dim).uniform(size=(400, dim))
    operator = split(Matern(0.3), coords)
    apart = np.linalg.norm((coords[:, None] - coords) / operator.series.step, axis=-1)
    counted = np.count_nonzero(apart <= limits.NEAR_RADIUS) / 2
    assert_allclose(operator.near_pairs, counted, rtol=0.15)
    assert operator.remainder.nnz == np.count_nonzero(apart <= limits.NEAR_RADIUS)


def test_a_remainder_that_memory_does_not_hold_is_refused():
    coords = np.random.default_rng(0).uniform(size=(3_000, 1))
    assert split(Matern(0.3), coords).faithful
    with Resources(memory_limit=1_000).in_use():
        assert not split(Matern(0.3), coords).faithful


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_columns_travel_in_pairs_and_come_back(k):
    rng = np.random.default_rng(k)
    coords, v = rng.uniform(size=(60, 1)), rng.standard_normal((60, k))
    operator = split(Matern(0.2), coords)
    exact = Matern(0.2)(coords) @ v
    assert_allclose(operator.products(v), exact, atol=5e-4 * exact.std())
    at = rng.uniform(size=(7, 1))
    assert_allclose(operator.prepared(v)(at), Matern(0.2)(at, coords) @ v, atol=5e-4 * exact.std())


def test_few_targets_at_a_time_are_many(monkeypatch):
    rng = np.random.default_rng(0)
    coords, at, v = rng.uniform(size=(60, 2)), rng.uniform(size=(11, 2)), rng.standard_normal((60, 2))
    whole = split(Matern(0.2), coords).cross(at, v)
    monkeypatch.setattr(limits, "PAIRS_AT_ONCE", 3)
    assert_allclose(split(Matern(0.2), coords).cross(at, v), whole, atol=1e-9)
