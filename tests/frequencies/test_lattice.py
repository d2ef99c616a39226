"""The lattice: error, mass, cover and order of its waves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import InputError, KernelError
from bochner.frequencies import Frequencies, lattice_frequencies, measure_error
from bochner.frequencies.torus import fade, torus_series
from bochner.kernels import Kernel, Matern, Polynomial, RationalQuadratic, SquaredExponential

KERNELS: dict[str, Kernel] = {
    "squared exponential": SquaredExponential(0.2, 2.0),
    "matern 3/2": Matern(0.3, 2.0),
    "sum": Matern(0.3) + SquaredExponential(0.1, 0.5),
}


@pytest.mark.parametrize(
    ("kernel", "target"),
    [(SquaredExponential(0.1), 1e-8), (Matern(0.1, nu=1.5), 1e-3), (Matern(0.1, nu=0.5), 4e-3)],
)
def test_1024_columns_reach_the_promised_error(kernel, target):
    waves = lattice_frequencies(kernel, np.ones(2), n_frequencies=512)
    assert waves.n == 512
    assert measure_error(waves, kernel, (1.0, 1.0)).rms <= target


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_waves_leave_out_no_more_than_allowed(name, dim):
    kernel = KERNELS[name]
    variance = kernel.diag(np.zeros((1, dim)))[0]
    waves = lattice_frequencies(kernel, np.full(dim, 1.0), missing=0.02, maximum=20_000)
    assert 0 <= 1 - waves.mass.sum() / variance <= 0.0201
    # what is left out bounds the error at every lag, and the rest comes from the margin
    lag = np.random.default_rng(0).uniform(-1, 1, size=(200, dim))
    assert_allclose(waves.covariance(lag), kernel.at(lag), atol=0.03 * variance)


def test_per_axis_scales_and_rotation_cost_what_they_should():
    narrow = lattice_frequencies(Matern((0.1, 1.0)), np.ones(2), missing=0.02)
    assert narrow.lattice.half_width[0] > 2 * narrow.lattice.half_width[1]
    turned = Matern((0.5, 0.2), rotation=0.7)
    lag = np.random.default_rng(1).uniform(-1, 1, size=(100, 2))
    assert_allclose(lattice_frequencies(turned, np.ones(2), missing=0.01).covariance(lag), turned.at(lag), atol=0.015)


def test_heaviest_waves_come_first_and_each_pair_once():
    waves = lattice_frequencies(Matern(0.3), np.ones(2), n_frequencies=200)
    index = waves.lattice.index
    pairs = {tuple(max(tuple(j), tuple(-j))) for j in index}
    assert len(pairs) == 200
    single = np.where(np.any(index != 0, axis=1), waves.mass / 2, waves.mass)
    assert np.all(np.diff(waves.mass[1:]) <= 1e-12) or np.all(np.diff(single) <= 1e-12)
    assert_allclose(waves.omega, 2 * np.pi * waves.lattice.spacing * index)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
def test_kernels_without_an_integral_have_no_more_mass_than_variance(alpha):
    # correlation falls as distance^(-2 alpha): in two dimensions the density at zero is infinite
    waves = lattice_frequencies(RationalQuadratic(0.1, alpha=alpha), np.full(2, 1.4), n_frequencies=1500)
    assert waves.n == 1500
    assert waves.mass.sum() <= 1.0


def test_standard_deviations_of_kernels_without_an_integral():
    rng = np.random.default_rng(0)
    coords, places, y = rng.uniform(size=(1500, 2)), rng.uniform(size=(50, 2)), rng.standard_normal(1500)
    kernel = RationalQuadratic(0.1, alpha=0.5)
    exact, waves = (
        SpatialRegressor(kernel, tune=None, noise_variance=0.05, features=features, **given)
        .fit(coords, y)
        .predict(places, return_std=True)[1]
        for features, given in (("exact", {}), ("lattice", {"n_frequencies": 700}))
    )
    assert np.all(waves > 0.5 * exact)


def test_refusals():
    with pytest.raises(KernelError, match="not shift-invariant"):
        lattice_frequencies(Polynomial(), np.ones(2), n_frequencies=10)
    with pytest.raises(InputError, match="1 to 3"):
        lattice_frequencies(Matern(), np.ones(4), n_frequencies=10)


@pytest.mark.parametrize("dim", [1, 2])
def test_torus_series_is_exact_on_its_grid(dim):
    kernel = Matern(0.2, nu=0.5)
    step = np.full(dim, 0.05)
    series = torus_series(kernel, np.ones(dim), step, taper=False)
    lag = np.random.default_rng(0).integers(-20, 21, size=(50, dim)) * 0.05
    assert_allclose(series.at(lag), kernel.at(lag), atol=1e-7)


def test_tapered_series_leaves_only_a_short_remainder():
    kernel, step = Matern(0.2, nu=0.5), np.full(2, 1 / 60)
    series = torus_series(kernel, np.ones(2), step, taper=True)
    lag = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    remainder = kernel.at(lag) - series.at(lag)
    far = np.linalg.norm(lag / step, axis=1) > 6
    assert np.abs(remainder[far]).max() < 2e-4


def test_fade_is_flat_then_gone():
    t = np.array([0.0, 1.0, 1.5, 2.0, 3.0])
    assert_allclose(fade(t, 1.0, 2.0), [1, 1, 0.5, 0, 0], atol=1e-12)


def test_union_of_lattices_is_no_lattice():
    waves = lattice_frequencies(Matern(0.3), np.ones(1), n_frequencies=5)
    assert isinstance(waves + waves, Frequencies) and (waves + waves).lattice is None
