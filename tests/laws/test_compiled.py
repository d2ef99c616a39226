"""Compiled loops say what NumPy says: of every kernel on the registry, with one thread or two."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.kernels import IsotropicKernel, Matern, Separable, SquaredExponential
from bochner.kernels.radial_table import radial_table
from bochner.neighbours import (
    CellKriging,
    Vecchia,
    compiled,
    cross_covariance,
    cross_covariances,
    inverse_root,
    left_out,
    limits,
    local_kriging,
    maximin_order,
)
from bochner.resources import Resources
from tests.laws.registry import DIMS, KERNELS, NOT_SHIFT_INVARIANT, RICH_KERNELS

pytestmark = pytest.mark.skipif(not compiled.has_compiler(), reason="Numba is not installed")

ALL_KERNELS = {**KERNELS, **RICH_KERNELS, **NOT_SHIFT_INVARIANT}
every_kernel = pytest.mark.parametrize("name", ALL_KERNELS)
every_dimension = pytest.mark.parametrize("dim", DIMS)

NUS = [0.1, 0.37, 0.5, 0.8, 1.0, 1.5, 2.2, 3.0, 7.7, 19.9, 25.0, 60.0]


@pytest.fixture
def few(monkeypatch):
    """Compiled loops for any number of systems."""
    monkeypatch.setattr(limits, "COMPILED_FROM", 0)


@pytest.fixture
def by_numpy(monkeypatch):
    """A function that leaves a computation to NumPy."""

    def run(work):
        monkeypatch.setenv("BOCHNER_COMPILED", "0")
        try:
            return work()
        finally:
            monkeypatch.setenv("BOCHNER_COMPILED", "1")

    return run


def survey(dim, n=80):
    """Places, of which two are one, a response, and two trend columns."""
    rng = np.random.default_rng(3)
    coords = rng.uniform(0, 3, size=(n, dim))
    coords[5] = coords[4]
    y = np.sin(3 * coords.sum(axis=1)) + 0.3 * rng.normal(size=n)
    return coords, y, np.column_stack([np.ones(n), rng.normal(size=n)])


@every_dimension
@every_kernel
def test_likelihood_and_gradient_are_those_of_numpy(name, dim, few, by_numpy):
    vecchia, kernel = Vecchia.plan(*survey(dim), n_neighbours=9), ALL_KERNELS[name](dim)
    value, gradient = vecchia.evaluate(kernel, 0.1)
    expected, slope = by_numpy(lambda: vecchia.evaluate(kernel, 0.1))
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(gradient, slope, rtol=0, atol=1e-9 * np.abs(slope).max())


@pytest.mark.parametrize("kernel", [Matern((0.9, 0.4), rotation=0.6, nu=1.1, learn_nu=True), SquaredExponential(0.3)])
def test_rotated_axes_and_smooth_fields_without_noise(kernel, few, by_numpy):
    """Pivots lost to rounding are lifted alike; a hundred digits of condition leave few in common."""
    vecchia = Vecchia.plan(*survey(2), n_neighbours=9)
    value, gradient = vecchia.evaluate(kernel, 1e-2)
    expected, slope = by_numpy(lambda: vecchia.evaluate(kernel, 1e-2))
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(gradient, slope, rtol=0, atol=1e-9 * np.abs(slope).max())


@every_dimension
def test_covariances_of_kernels_without_a_closed_form_are_those_of_numpy(dim, few, by_numpy, monkeypatch):
    """Alone, in a sum, along axes of its own; distances from zero to far beyond what is left of the correlation."""
    monkeypatch.setattr(limits, "LEAST_PAIRS", 1)
    rough = Matern(0.4, 2.0, nu=0.7, learn_nu=True)
    kernels = [rough, Matern(tuple(0.2 + 0.3 * np.arange(dim)), nu=1.1), Matern(2.0, 0.5) + rough, Matern(0.01, nu=3.1)]
    x, z = survey(dim)[0], np.random.default_rng(5).uniform(0, 30, size=(40, dim))
    z[:7] = x[:7]
    for kernel in kernels:
        assert_allclose(cross_covariance(kernel, x, z), kernel.covariance(x, z), rtol=0, atol=1e-11)
    found = cross_covariances(kernels, x, z, np.float32)
    assert found.dtype == np.float32
    assert_allclose(found, by_numpy(lambda: cross_covariances(kernels, x, z)), rtol=0, atol=1e-6)


@every_dimension
@every_kernel
def test_kriging_and_roots_are_those_of_numpy(name, dim, few, by_numpy):
    coords, y, _ = survey(dim)
    kernel, noise = ALL_KERNELS[name](dim), np.linspace(0.05, 0.3, len(y))
    targets, rows = np.random.default_rng(4).uniform(0, 3.5, size=(20, dim)), np.arange(12)

    def answers():
        cells = CellKriging(kernel, noise, coords, 20, 3)
        return (
            inverse_root(kernel, noise, coords, 8).toarray(),
            *local_kriging(kernel, noise, coords, y, targets, 12, n_far=3),
            *left_out(kernel, noise, coords, y, rows, np.arange(len(y)), 10),
            *cells.at(targets, y[:, None]),
        )

    for found, expected in zip(answers(), by_numpy(answers), strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@every_dimension
@pytest.mark.parametrize("n_neighbours", [limits.SINGLY_FROM - 1, limits.SINGLY_FROM, 61, 78])
def test_large_systems_are_those_of_numpy(n_neighbours, dim, few, by_numpy):
    """One at a time, or side by side; with farther rows of which some are absent, with many targets in one cell."""
    coords, y, _ = survey(dim, 400)
    kernel, noise = Matern(0.8, 1.7, nu=0.8), np.linspace(0.01, 0.3, len(y))
    rng = np.random.default_rng(4)
    apart, crowd = rng.uniform(0, 3.5, size=(9, dim)), 1.5 + 1e-3 * rng.normal(size=(600, dim))

    def answers():
        cells = CellKriging(kernel, noise, coords, n_neighbours, 3)
        return (
            *local_kriging(kernel, noise, coords, y, apart, n_neighbours, n_far=20),
            *cells.at(np.concatenate([apart, crowd]), np.column_stack([y, noise])),
            *cells.at(apart[:3]),
        )

    for found, expected in zip(answers(), by_numpy(answers), strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max(initial=0.0))


def test_cells_that_are_singular_tell_so(few, monkeypatch):
    """Loops say that they failed, and NumPy takes more noise: a smooth field without any, and a place that repeats."""
    monkeypatch.setattr(limits, "LEAST_NOISE_SHARE", 1e-16)
    coords = np.random.default_rng(1).uniform(size=(900, 2))
    targets = coords[:40] + 1e-3
    mean, variance = CellKriging(SquaredExponential(3.0), np.zeros(900), coords, 60).at(targets, coords[:, :1])
    assert_allclose(mean[:, 0], targets[:, 0], atol=1e-3)
    assert (variance >= 0).all() and variance.max() < 1e-9

    ready, known, values = compiled.tabulated_kernel(Matern(), 2), np.repeat(coords[:3], 2, axis=0), np.ones((6, 1))
    cell = np.arange(6), np.array([0, 6]), np.arange(2), np.array([0, 2]), np.empty((2, 1)), np.empty(2)
    for noise, sound in ((0.0, False), (1e-6, True)):
        done = compiled.cell_loops().krige_cells(*ready, known, np.full(6, noise), values, targets[:2], *cell)
        assert done is sound


def test_one_thread_and_two_give_the_same_bits(few, monkeypatch):
    """Runs of systems are summed in order, whoever computed them."""
    monkeypatch.setattr(limits, "COMPILED_RUN", 20)
    vecchia, kernel = Vecchia.plan(*survey(2), n_neighbours=9), Matern(0.5, nu=0.8, learn_nu=True)
    answers = []
    for n_jobs in (1, 2):
        with Resources(n_jobs=n_jobs).in_use():
            value, gradient = vecchia.evaluate(kernel, 0.1)
            answers.append((np.r_[value, gradient], inverse_root(kernel, np.full(80, 0.1), vecchia.coords[:80]).data))
    assert_array_equal(answers[0][0], answers[1][0])
    assert_array_equal(answers[0][1], answers[1][1])


@pytest.mark.parametrize("nu", NUS)
def test_a_table_holds_a_matern_of_any_smoothness(nu):
    """Within 1e-10, at distances that are no nodes; of large orders, the logarithms themselves are rounded more."""
    kernel = Matern(nu=nu, learn_nu=True)
    assert radial_table(kernel).error < max(1e-10, 1e-11 * nu)
    assert radial_table(kernel, 1e-7, 50.0).error < max(1e-10, 1e-11 * nu)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernels_of_lags_are_compiled(name):
    """What loops cannot do is done by NumPy; these they can."""
    assert compiled.compiled_kernel(KERNELS[name](2), 2, limits.COMPILED_FROM) is not None


def test_space_and_time_are_compiled_and_lines_are_not():
    n = limits.COMPILED_FROM
    assert compiled.compiled_kernel(Separable(Matern(nu=0.8), Matern()), 3, n) is not None
    assert compiled.compiled_kernel(RICH_KERNELS["periodic"](2), 2, n) is None
    assert compiled.compiled_kernel(Matern(), 2, n - 1) is None


def test_a_file_named_coverage_beside_the_script_does_no_harm(tmp_path):
    """Numba looks for the package of that name; a script's own file must not be taken for it."""
    (tmp_path / "coverage.py").write_text("")
    (tmp_path / "script.py").write_text("from bochner.neighbours import compiled\nassert compiled.has_compiler()\n")
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True, repr=False)
class Triangle(IsotropicKernel):
    """A correlation with a kink, in one dimension."""

    def correlation(self, distance):
        return np.maximum(1 - 0.7 * distance, 0.0)

    def decay(self, distance):
        return np.where(0.7 * distance < 1, 0.7 * distance, 0.0)


def test_a_kernel_with_a_kink_is_left_to_numpy():
    assert radial_table(Triangle()).error > limits.TABLE_ERROR
    assert compiled.compiled_kernel(Triangle(), 1, limits.COMPILED_FROM) is None


@pytest.mark.parametrize("dim", DIMS)
def test_covariances_between_places_are_those_of_the_kernel(dim, monkeypatch):
    """Some rows at a time: blocks of one row, of a few, and all at once have the same covariances."""
    kernel = Matern(0.7, 1.3, nu=1.5)
    rng = np.random.default_rng(0)
    x, z = rng.uniform(size=(23, dim)), rng.uniform(size=(700, dim))
    monkeypatch.setattr(limits, "COMPILED_FROM", 0)
    found = compiled.compiled_kernel(kernel, dim, 10**6, lambda: (0.0, 3.0))
    assert_allclose(found.covariance(x, z), kernel(x, z), rtol=1e-6, atol=1e-9)
    assert_allclose(found.covariance(z, x[:2]), kernel(z, x[:2]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_orders_from_coarse_to_fine_are_those_of_numpy(dim, monkeypatch):
    """Scattered places, a grid with ties, and places that repeat."""
    rng = np.random.default_rng(dim)
    grid = np.argwhere(np.ones((6,) * dim, dtype=bool)).astype(float)
    for places in (
        rng.uniform(size=(300, dim)),
        rng.permutation(grid),
        np.repeat(rng.uniform(size=(40, dim)), 2, axis=0),
    ):
        orders = []
        for least in (10, 10**9):
            monkeypatch.setattr(limits, "COMPILED_ORDER", least)
            orders.append(maximin_order(places, 0))
        assert_array_equal(*orders)


@pytest.mark.parametrize("kernel", [Matern(0.5, nu=0.8), SquaredExponential(0.5)])
def test_places_at_any_distance_have_their_covariance(kernel, monkeypatch):
    """From a hair's breadth to far beyond the last entry of a table, where nothing is left."""
    monkeypatch.setattr(limits, "COMPILED_FROM", 1)
    ready = compiled.compiled_kernel(kernel, 1, 10**6)
    places = np.r_[0.0, np.geomspace(1e-9, 1e12, 200)][:, None]
    assert_allclose(ready.covariance(places[:1], places)[0], kernel.lag_covariance(places), atol=1e-9)
