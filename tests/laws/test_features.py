"""Laws of every feature map: forward and adjoint, blocks, memory, and the variance that is missing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import FourierMap, choose_landmarks, wave_dtype
from bochner.frequencies import MonteCarlo, QuasiMonteCarlo
from bochner.kernels import Matern, SquaredExponential
from bochner.resources import BLOCK_BYTES
from tests.laws.registry import DIMS
from tests.laws.registry_models import FEATURE_MAPS, NYSTROEM, waves

every_map = pytest.mark.parametrize("map_of", FEATURE_MAPS.values(), ids=FEATURE_MAPS.keys())
every_nystroem = pytest.mark.parametrize("map_of", NYSTROEM.values(), ids=NYSTROEM.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


@every_map
@every_dimension
@pytest.mark.parametrize("n_sides", [None, 3])
def test_adjoint_is_the_transpose_of_forward(map_of, dim, n_sides):
    """<Phi c, r> = <c, Phi' r>, for one right-hand side or several."""
    rng = np.random.default_rng(0)
    features = map_of(dim)
    coords = rng.uniform(-1, 1, size=(50, dim))
    sides = () if n_sides is None else (n_sides,)
    coef, residual = rng.normal(size=(features.n_columns, *sides)), rng.normal(size=(50, *sides))
    assert_allclose(
        np.vdot(features.forward(coords, coef), residual), np.vdot(coef, features.adjoint(coords, residual))
    )


@every_map
@every_dimension
def test_forward_and_adjoint_agree_with_the_block(map_of, dim, monkeypatch):
    """However small the slices are."""
    rng = np.random.default_rng(1)
    features = map_of(dim)
    coords = rng.uniform(-1, 1, size=(50, dim))
    coef, residual = rng.normal(size=features.n_columns), rng.normal(size=50)
    phi = features.block(coords)
    assert phi.shape == (50, features.n_columns)
    monkeypatch.setattr(type(features), "slices", lambda self, n, *_: [slice(i, min(i + 7, n)) for i in range(0, n, 7)])
    # solving with the root of a smooth K_mm, condition number 1e5, rounds each block a little differently
    assert_allclose(features.forward(coords, coef), phi @ coef, atol=1e-9)
    assert_allclose(features.adjoint(coords, residual), phi.T @ residual, atol=1e-9)


@every_map
@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 100_000])
def test_slices_cover_every_row_once_within_the_budget(map_of, n_rows):
    features = map_of(2)
    for budget in (1, 10_000, BLOCK_BYTES):
        slices = features.slices(n_rows, budget)
        edges = [0, *(i.stop for i in slices)]
        assert [i.start for i in slices] == edges[:-1] and edges[-1] == n_rows
        largest = max((i.stop - i.start for i in slices), default=0)
        # 32 bytes a number: the block itself and three temporaries of its size; 16 rows are always allowed
        assert largest <= 16 or 32 * largest * features.n_columns <= budget


def test_forward_holds_no_more_than_the_budget():
    """A feature matrix of three times the budget is never held as a whole."""
    features = waves(MonteCarlo(), Matern(), 128, 2)
    n = 3 * BLOCK_BYTES // (8 * features.n_columns)
    coords, coef = np.random.default_rng(2).normal(size=(n, 2)), np.ones(features.n_columns)
    tracemalloc.start()
    try:
        out = features.forward(coords, coef)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= BLOCK_BYTES + out.nbytes


@every_map
@every_dimension
def test_carried_and_missing_variance_make_the_prior_variance(map_of, dim):
    features = map_of(dim)
    coords = np.random.default_rng(3).uniform(-2, 2, size=(60, dim))
    phi, missing = features.block(coords), features.missing_variance(coords)
    assert np.all(missing >= 0)
    assert_allclose(np.sum(phi**2, axis=1) + missing, features.prior_variance(coords), rtol=1e-9)
    assert_allclose(np.diag(features.missing_covariance(coords)), missing, atol=1e-12)


@every_map
def test_map_trusts_each_row_alone(map_of):
    """Rows do not see each other: a block of some rows is some rows of the block."""
    features = map_of(2)
    coords = np.random.default_rng(4).uniform(-1, 1, size=(9, 2))
    assert_allclose(features.block(coords)[3:5], features.block(coords[3:5]), atol=1e-9)


@pytest.mark.parametrize("kernel", [Matern(0.7, 2.0), Matern(0.7) + SquaredExponential(2.0, 0.3)])
@every_dimension
def test_fourier_map_makes_the_covariance_of_its_waves(kernel, dim):
    features = waves(QuasiMonteCarlo(), kernel, 30, dim)
    coords = np.random.default_rng(5).normal(size=(8, dim))
    phi = features.block(coords)
    lag = (coords[:, None] - coords[None]).reshape(-1, dim)
    assert_allclose((phi @ phi.T).ravel(), features.frequencies.covariance(lag), atol=1e-12)


@every_nystroem
@every_dimension
def test_nystroem_returns_the_kernel_with_what_it_misses(map_of, dim):
    """phi'phi + missing = kernel, everywhere; at the landmarks nothing is missing."""
    features = map_of(dim)
    coords = np.random.default_rng(6).uniform(-2, 2, size=(40, dim))
    phi = features.block(coords)
    assert_allclose(phi @ phi.T + features.missing_covariance(coords), features.kernel(coords), rtol=1e-9, atol=1e-9)
    assert_allclose(np.sum(phi**2, axis=1) + features.missing_variance(coords), features.kernel.diag(coords), rtol=1e-9)
    # the jitter that makes K_mm factorable is 1e-10 of its diagonal
    assert np.all(features.missing_variance(features.landmarks) <= 1e-8 * features.kernel.diag(features.landmarks))


def test_landmarks_are_places_when_these_are_few_and_spread_over_them_when_many():
    rng = np.random.default_rng(7)
    coords = np.repeat(rng.uniform(size=(30, 2)) * [1, 1000], 3, axis=0)
    weight = np.ones(90)
    assert len(choose_landmarks(coords, 50, weight, seed=0)) == 30
    chosen = choose_landmarks(coords, 10, weight, seed=0)
    assert chosen.shape == (10, 2)
    assert np.all((chosen >= coords.min(axis=0)) & (chosen <= coords.max(axis=0)))
    weight[:45] = 0
    assert len(choose_landmarks(coords, 50, weight, seed=0)) == 15  # rows without weight are not there


def test_rounded_waves_stay_close_far_from_the_origin():
    """Whole turns are removed in float64: the error does not grow with the coordinates."""
    frequencies = MonteCarlo().draw(Matern(0.01), 50, 2, np.random.default_rng(0))
    coords = np.random.default_rng(8).uniform(9_000, 10_000, size=(200, 2))
    exact, rounded = FourierMap(frequencies).block(coords), FourierMap(frequencies, np.float32).block(coords)
    assert rounded.dtype == np.float32
    # eps = 1.2e-7 in float32, once for the phase of up to pi and once for the wave; masses are 1 / 50
    assert_allclose(rounded, exact, atol=5e-7 / np.sqrt(50))


def test_float32_is_taken_only_where_the_noise_hides_it():
    assert wave_dtype(1e5, 1.0, 0.1) is np.float32
    assert wave_dtype(1e5, 1.0, 1e-3) is np.float64
    assert wave_dtype(1e5, 1.0, 0.0) is np.float64
