"""Evidence on a lattice that stays: that of the exact kernel, and its gradient, in one to three dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.features import Rows
from bochner.frequencies import lattice_frequencies, lattice_mass
from bochner.inference.fits.lattice_evidence import lattice_objective
from bochner.inference.learning.evidence import Theta
from bochner.inference.observed.observations import Observations
from bochner.kernels import Matern, OnAxes, Periodic, SquaredExponential
from tests.inference.learning.evidences import exact

KERNELS = {
    1: Matern(0.5, 2.0, nu=2.5),
    2: SquaredExponential((0.5, 0.8), 1.5) + Matern(1.5, nu=2.5),
    3: SquaredExponential((0.9, 1.1, 1.3), 1.5),
}


def observed(dim, n=1000, seed=0):
    """A smooth surface with much noise; some rows stand for several copies."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    y = np.sin(4 * coords).sum(axis=1) + 0.7 * rng.standard_normal(n) + 3
    weight = rng.integers(1, 4, n).astype(float)
    return Observations(Rows(coords, np.column_stack([np.ones(n), coords[:, 0]])), y, weight, np.zeros(n), weight - 1)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("reml", [True, False])
def test_evidence_is_that_of_the_exact_kernel(dim, reml):
    """Also away from the kernel that the waves were chosen for."""
    obs, kernel = observed(dim), KERNELS[dim]
    objective = lattice_objective(kernel, 0.5, obs, reml=reml)
    for shift in (0.0, 0.1):
        moved = kernel.with_theta(kernel.theta + shift)
        value, gradient = objective(moved, 0.45)
        point = exact(obs, reml=reml).at(Theta(moved, 0.45))
        assert abs(value - point.value) < 2
        assert_allclose(gradient, point.gradient, atol=0.05 * np.abs(point.gradient).max() + 0.5)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gradient_is_that_of_the_value(dim):
    """By difference quotients of the lattice's own evidence."""
    obs, kernel = observed(dim), KERNELS[dim]
    objective = lattice_objective(kernel, 0.5, obs)
    _, gradient = objective(kernel, 0.5)
    at = np.r_[kernel.theta, np.log(0.5)]
    for j, slope in enumerate(gradient):
        step = np.zeros(len(at))
        step[j] = 1e-4
        up, down = (objective(kernel.with_theta(p[:-1]), np.exp(p[-1]))[0] for p in (at + step, at - step))
        assert slope == pytest.approx((up - down) / 2e-4, rel=1e-3, abs=1e-3)


def test_no_lattice_where_it_would_not_do():
    """Rough fields, known errors of their own, lines in the spectrum."""
    obs = observed(2)
    assert lattice_objective(Matern(0.05, nu=0.5), 0.01, obs) is None
    assert lattice_objective(KERNELS[2], 0.5, replace(obs, error=np.linspace(0, 1, len(obs)))) is None
    assert lattice_objective(OnAxes(Periodic(0.5), 0) + SquaredExponential(1.0), 0.5, obs) is None


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_masses_are_those_the_lattice_was_made_of(dim):
    """Also of a term that sees one axis alone."""
    kernel = KERNELS[dim] + OnAxes(Matern(0.3, nu=1.5), dim - 1)
    waves = lattice_frequencies(kernel, np.ones(dim), missing=1e-3, maximum=2000)
    assert_allclose(lattice_mass(kernel, waves.lattice), waves.mass, rtol=1e-3)  # terms were cut one by one


@pytest.mark.slow
def test_a_smooth_field_under_much_noise_is_learned_from_all_rows():
    """Neighbours cannot tell its smoothness; all rows together can."""
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(6000, 2))
    waves = lattice_frequencies(Matern(0.5, nu=1.5), np.full(2, 2.0), missing=1e-4, maximum=4000)
    phase = coords @ waves.omega.T
    a, b = rng.standard_normal((2, waves.n)) * np.sqrt(waves.mass)
    field = np.cos(phase) @ a + np.sin(phase) @ b
    y = field + 0.5 * rng.standard_normal(6000)
    model = SpatialRegressor().fit(coords[:5000], y[:5000])
    assert model.choices_["tuning"].value == "lattice"
    assert 0.23 < model.noise_variance_ < 0.27
    truth = SpatialRegressor(Matern(0.5, nu=1.5), noise_variance=0.25, tune=None).fit(coords[:5000], y[:5000])
    ours, best = (np.sqrt(np.mean((m.predict(coords[5000:]) - field[5000:]) ** 2)) for m in (model, truth))
    assert ours < 1.05 * best
