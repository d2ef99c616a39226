"""Grids of hyperparameters flood as far as their mass, kernels begin at the peaks of the data."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import ConvergenceError
from bochner.families import Poisson
from bochner.features import Rows
from bochner.inference import Observations, Responses
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import laplace_integration, limits, peaks
from bochner.inference.tuning.branches import isotropic
from bochner.inference.tuning.node_rules import thinned
from bochner.inference.tuning.refinement import refine_on_lattice
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Matern, OnAxes, Periodic, Separable, SpectralMixture
from tests.inference.tuning.objectives import NOISE, quadratic, search

pytestmark = pytest.mark.every_case


class Hill:
    """An evidence known beforehand, about a range, a variance and a noise; it fails beyond a range."""

    def __init__(self, steepness: float, largest: int = 30, fails_beyond: float = np.inf) -> None:
        self.steepness, self.largest, self.fails_beyond = steepness, largest, fails_beyond
        one, zero = np.ones(2), np.zeros(2)
        self.parts = (Responses(Poisson(), Rows(np.eye(2), one[:, None]), one, one, zero, one, zero),)
        self.family = Poisson()

    def value(self, kernel, noise_variance):
        if kernel.length_scale > self.fails_beyond:
            raise ConvergenceError
        off = np.array([np.log(kernel.length_scale / 0.3), np.log(kernel.variance / 0.8), 4 * (noise_variance - 0.1)])
        return -self.steepness * float(off @ off) + {0.5: 0.0, 1.5: 0.7, 2.5: 0.3}[kernel.nu]


@pytest.fixture
def one_by_one(monkeypatch):
    """Sets of hyperparameters are not evaluated side by side, of rows, but asked for."""

    def unsettled(responses, correlations, fields, noises, start, enough):
        return np.full(len(fields), np.nan), start

    monkeypatch.setattr(laplace_integration, "evidence_of_many", unsettled)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("fails_beyond", [np.inf, 0.5])
def test_a_grid_is_flooded_as_far_as_its_mass(fails_beyond):
    """The same places, with the same values, as by trying all of them."""
    looked, hill = search(quadratic((0.2,))), Hill(1.0, fails_beyond=fails_beyond)
    axes = laplace_integration._axes(looked)
    branch = isotropic(Matern(nu=1.5), looked.scale, -0.4)[0]
    grid = laplace_integration._Grid(branch, hill, axes)
    grid.flood([axes.nearest(branch, Tuned(Matern(0.25, 1.0, nu=1.5), 0.1, 0.0, 1, ()))], {})
    within = grid.within(limits.RULED_OUT)
    whole = laplace_integration._Grid(branch, hill, axes)
    whole.flood(list(product(*map(range, axes.shape))), {})
    every = whole.values
    least = max(every.values()) - limits.RULED_OUT
    assert set(within) == {place for place, value in every.items() if value >= least}
    assert len(grid.values) < len(every)
    for place in within[::5]:
        kernel, noise = grid.at(place)
        i, j, k = place
        prior = axes.log_prior[0][i] + axes.log_prior[1][j] + axes.log_prior[2][k]
        assert_allclose(every[place], hill.value(kernel, noise) + prior - 0.4)
    if np.isfinite(fails_beyond):
        assert all(grid.at(place)[0].length_scale <= fails_beyond for place in within)


@pytest.mark.usefixtures("one_by_one")
def test_a_place_that_fails_hides_none_behind_it():
    """A hole in the hill, next to where the flood begins: what lies beyond it is reached around it."""
    looked = search(quadratic((0.2,)))
    axes = laplace_integration._axes(looked)
    branch = isotropic(Matern(nu=1.5), looked.scale, -0.4)[0]
    i, j, k = seed = axes.nearest(branch, Tuned(Matern(0.25, 1.0, nu=1.5), 0.1, 0.0, 1, ()))

    class Holed(Hill):
        def value(self, kernel, noise_variance):
            if (kernel, noise_variance) == whole.at((i + 1, j, k)):
                raise ConvergenceError
            return super().value(kernel, noise_variance)

    grid, whole = (laplace_integration._Grid(branch, Holed(1.0), axes) for _ in range(2))
    grid.flood([seed], {})
    whole.flood(list(product(*map(range, axes.shape))), {})
    assert grid.values[i + 1, j, k] == limits.FAILED_SEARCH
    assert (i + 2, j, k) in grid.within(limits.RULED_OUT) == whole.within(limits.RULED_OUT)


@pytest.mark.usefixtures("one_by_one")
def test_what_a_grid_finds_is_a_mixture_about_the_best():
    looked, best = search(quadratic((0.2,))), Tuned(Matern(0.3, 0.8), 0.1, 0.0, 1, ())
    found, told = laplace_integration.laplace_integrated(None, Hill(1.0), looked, best, 30)
    assert found.kernels[0] == best.kernel and found.noise_variances[0] == 0.1 and found.mass[0] == 0.0
    assert_allclose(found.mass.sum(), 1)
    assert told.value == np.count_nonzero(found.mass) == len(found.mass) - 1
    assert {kernel.nu for kernel in found.kernels[1:]} == {0.5, 1.5, 2.5}
    # about the top of the hill, less what the prior of the range and of the sds pulls
    mean = found.mass @ np.log([kernel.length_scale for kernel in found.kernels])
    assert abs(mean - np.log(0.3)) < 0.8
    _, sampled = laplace_integration.laplace_integrated(None, Hill(1.0, largest=20), looked, best, 3_000)
    assert "20 of 3,000 rows" in str(sampled) and "30 rows" in str(told)
    # rows that tell more than the grid resolves
    assert laplace_integration.laplace_integrated(Matern(), Hill(1e4), looked, best, 30) is None
    given = replace(looked, noise_variance=0.05)
    found, _ = laplace_integration.laplace_integrated(Matern(), Hill(1.0), given, best, 30)
    assert set(found.noise_variances[1:]) == {0.05}


def test_grids_reach_from_the_spacing_to_far_beyond_the_box():
    looked = search(quadratic((0.2,)))
    axes = laplace_integration._axes(looked)
    assert_allclose(np.exp(axes.ranges[[0, -1]]), [min(limits.LEAST_RANGE, looked.scale.spacing), limits.LARGEST_RANGE])
    assert np.all(np.diff(axes.ranges) <= limits.RANGE_STEP + 1e-12) and np.all(np.diff(axes.ranges) > 0)
    wide = laplace_integration._axes(replace(looked, scale=replace(looked.scale, variance=9.0)))
    assert_allclose(wide.fields, 9 * axes.fields)
    assert_allclose(wide.noises, 9 * axes.noises)
    assert laplace_integration._axes(replace(looked, noise_variance=0.3)).noises == [0.3]


@pytest.mark.parametrize("most", [1, 5, 12, 40])
def test_fewer_nodes_keep_the_mass_and_the_heavy_ones(most):
    rng = np.random.default_rng(0)
    mass = rng.exponential(size=30) ** 3
    mass /= mass.sum()
    kept, new = thinned(mass, most)
    assert len(kept) <= most and np.all(np.diff(kept) > 0)
    assert_allclose(new.sum(), 1)
    assert np.argmax(mass) in kept
    if most >= 30:
        assert_allclose(new, mass)
    # what is left out is told by its neighbours: the distribution function is kept to half a light one's mass
    steps = np.zeros(30)
    steps[kept] = new
    assert np.max(np.abs(np.cumsum(steps) - np.cumsum(mass))) <= 0.55 * new.min() + 1e-12


# ------------------------------------------------------------------------------------------------------------ peaks


def waves(period: float, dim: int = 1, n: int = 90) -> Observations:
    rng = np.random.default_rng(0)
    coords = np.sort(rng.uniform(0, 20, size=(n, dim)), axis=0)
    y = np.sin(2 * np.pi * coords[:, -1] / period) + 0.1 * rng.standard_normal(n)
    one, zero = np.ones(n), np.zeros(n)
    return Observations(Rows(coords, one[:, None]), y, one, zero, zero)


def periods_of(kernel) -> list[float]:
    return [leaf.period for leaf in kernel.leaves() if isinstance(leaf, Periodic)]


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [
        (Periodic(1.0, period=9.0), 1),
        (Matern() * Periodic(1.0, period=9.0), 1),
        (Matern() + Periodic(1.0, period=9.0), 1),
        (OnAxes(Periodic(1.0, period=9.0), 1), 2),
    ],
)
def test_a_period_within_any_kernel_begins_at_that_of_the_data(kernel, dim):
    obs = waves(3.0, dim)
    scale = scale_of(obs)
    begun = peaks.informed_starts(kernel, scale, obs, 0.01)
    assert begun and all(noise == 0.01 and type(k) is type(kernel) for k, noise in begun)
    found = np.concatenate([periods_of(k if dim == 1 else k.kernel) for k, _ in begun])
    assert np.min(np.abs(found - 3.0)) < 0.1 and np.min(np.abs(found - 6.0)) < 0.3  # and twice the best
    for k, _ in begun:
        assert_allclose(k.diag(np.zeros((1, dim)))[0], max(scale.variance - 0.01, 0.1 * scale.variance))
    ranges = {round(float(k.theta[0]), 3) for k, _ in begun}
    assert len(ranges) >= len(limits.PEAK_REACHES) or not any(h.role.is_range for h in kernel.hyperparameters)


def test_two_periods_look_for_peaks_of_their_own():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 20, size=(120, 1)), axis=0)
    y = 2 * np.sin(2 * np.pi * x[:, 0] / 3) + np.sin(2 * np.pi * x[:, 0] / 1.1)
    one, zero = np.ones(120), np.zeros(120)
    obs = Observations(Rows(x, one[:, None]), y, one, zero, zero)
    begun = peaks.informed_starts(Periodic(period=7.0) + Periodic(period=8.0), scale_of(obs), obs, 0.01)
    pairs = [sorted(periods_of(kernel)) for kernel, _ in begun]
    assert any(abs(a - 1.1) < 0.05 and abs(b - 3) < 0.1 for a, b in pairs)
    assert any(abs(a - 3) < 0.1 and abs(b - 3) < 0.1 for a, b in pairs)


def test_a_mixture_begins_at_the_spectrum_of_the_data():
    obs = waves(3.0)
    begun = peaks.informed_starts(SpectralMixture.from_data(obs.rows.coords, obs.y, 2), scale_of(obs), obs, 0.01)
    assert len(begun) >= 1
    separable = Separable(Matern(), Periodic(1.0, period=9.0))
    in_time = peaks.informed_starts(separable, scale_of(waves(3.0, 2)), waves(3.0, 2), 0.01)
    assert in_time and min(abs(k.time.period - 3.0) for k, _ in in_time) < 0.2
    flat = waves(3.0, 2)
    flat = replace(flat, rows=Rows(np.round(flat.rows.coords / 5), flat.rows.trend))
    assert peaks.informed_starts(Periodic((1.0, 1.0), period=(9.0, 9.0)), scale_of(flat), flat, 0.01) == []


# ------------------------------------------------------------------------------------------------------- refinement


def smooth_rows(n: int = 1_200) -> Observations:
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(n, 1))
    y = np.sin(6 * coords[:, 0]) + np.cos(11 * coords[:, 0]) / 2 + 0.3 * rng.standard_normal(n)
    one, zero = np.ones(n), np.zeros(n)
    return Observations(Rows(coords, one[:, None]), y, one, zero, zero)


@pytest.mark.parametrize(
    ("kernel", "error", "dim"), [(Matern(1e-3, nu=0.5), 0.0, 1), (Matern(0.6), 0.1, 1), (Matern(0.6), 0.0, 4)]
)
def test_what_waves_do_not_hold_stays(kernel, error, dim):
    obs = smooth_rows()
    coords = np.repeat(obs.rows.coords, dim, axis=1)
    obs = replace(obs, rows=Rows(coords, obs.rows.trend), error=np.linspace(0, error, len(obs)))
    found = Tuned(kernel, NOISE, -1.0, 1, ())
    assert refine_on_lattice(found, Search(quadratic((0.2,)), scale_of(obs), None), obs) is found
