"""Local spectrum: stationary while nothing varies, Gibbs' kernel for Gaussian spectra, the prior outside its box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import PartError
from bochner.features import FourierMap, LocalSpectrumMap, NystroemMap, local_spectrum
from bochner.features.local_spectrum import LEVELS
from bochner.frequencies import lattice_frequencies
from bochner.kernels import Kernel, Matern, Periodic, SquaredExponential
from tests.laws.registry import DIMS

every_dimension = pytest.mark.parametrize("dim", DIMS)
N_WAVES = {1: 60, 2: 500, 3: 900}


def varying(kernel: Kernel, dim: int, stretch: float = 0.0, swell: float = 0.0) -> LocalSpectrumMap:
    """Map over [-1, 1]^dim whose log length scale and log variance have random coefficients of a given size."""
    rng = np.random.default_rng(dim)
    box = (np.full(dim, -1.0), np.full(dim, 1.0))
    waves = lattice_frequencies(kernel, np.full(dim, 2.0), n_frequencies=N_WAVES[dim])
    surface = NystroemMap.at(SquaredExponential(1.0), rng.uniform(-1, 1, size=(4, dim)))
    features = local_spectrum(kernel, waves, surface, box)
    return replace(features, stretch=stretch * rng.normal(size=5), swell=swell * rng.normal(size=5))


@every_dimension
def test_without_variation_it_is_the_lattice(dim):
    kernel = Matern(0.8, 2.0)
    features = varying(kernel, dim)
    lattice = lattice_frequencies(kernel, np.full(dim, 2.0), n_frequencies=N_WAVES[dim])
    coords = np.random.default_rng(0).uniform(-1, 1, size=(20, dim))
    assert_allclose(features.block(coords), FourierMap(lattice).block(coords), atol=1e-10)


@every_dimension
def test_gaussian_spectra_make_the_kernel_of_gibbs(dim):
    """prod sqrt(2 l l' / (l^2 + l'^2)) exp(-|x - z|^2 / (l^2 + l'^2)), for length scales of both places."""
    kernel = SquaredExponential(0.6 if dim < 3 else 0.9)
    features = varying(kernel, dim, stretch=0.15)
    coords = np.random.default_rng(1).uniform(-1, 1, size=(12, dim))
    length = kernel.length_scale * np.exp(features.at(coords).log_length)
    squares = length[:, None] ** 2 + length[None] ** 2
    distance = np.sum((coords[:, None] - coords[None]) ** 2, axis=-1)
    gibbs = (2 * np.outer(length, length) / squares) ** (dim / 2) * np.exp(-distance / squares)
    phi = features.block(coords)
    # amplitudes are read off a table with steps of 1/16 in the log length scale: relative error below 1e-3
    assert_allclose(phi @ phi.T + np.diag(features.missing_variance(coords)), gibbs, atol=5e-3)


@every_dimension
def test_variance_follows_its_surface_and_is_carried_where_waves_miss_it(dim):
    features = varying(Matern(0.3, 1.5, nu=0.5), dim, stretch=0.4, swell=0.5)
    coords = np.random.default_rng(2).uniform(-1, 1, size=(30, dim))
    wanted = 1.5 * np.exp(features.at(coords).log_swell)
    assert_allclose(features.prior_variance(coords), wanted, rtol=2e-3)
    assert np.all(features.missing_variance(coords) > 0)  # a rough kernel needs more waves than these


@every_dimension
def test_outside_the_box_the_prior_holds(dim):
    features = varying(Matern(0.8, 2.0), dim, stretch=0.3)
    far = np.full((3, dim), 1.5)
    assert features.outside(far).all() and not features.block(far).any()
    assert_allclose(features.missing_variance(far), features.prior_variance(far))


def test_lines_are_refused():
    kernel = Periodic(1.0, period=0.7)
    waves = lattice_frequencies(kernel, np.ones(1), n_frequencies=5)
    surface = NystroemMap.at(SquaredExponential(1.0), np.zeros((1, 1)))
    with pytest.raises(PartError, match="spectral density"):
        local_spectrum(kernel, waves, surface, (np.zeros(1), np.ones(1)))


def test_beyond_the_table_its_ends_hold():
    """Amplitudes are those of the level where there is one, and of the last one beyond it, with no slope."""
    features = varying(Matern(0.8, 2.0), 2)
    for log_length, row in ((LEVELS[40], 40), (LEVELS[-1], -1), (LEVELS[-1] + 1, -1), (LEVELS[0] - 1, 0)):
        local = replace(features, stretch=np.array([log_length, 0, 0, 0, 0])).at(np.zeros((1, 2)))
        assert_allclose(local.amplitude[0], features.table[row], rtol=1e-9)
        assert np.any(local.slope) == (row == 40)
