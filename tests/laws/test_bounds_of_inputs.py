"""What parts take and what they refuse: every bound is tried on both sides, and just on it; extremes stay numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import BochnerError
from bochner.families import Gamma, NegativeBinomial, Poisson, Student
from bochner.features import choose_landmarks
from bochner.frequencies import Frequencies, MonteCarlo, draw_pairs, lattice_frequencies
from bochner.frequencies.leverage import resample
from bochner.frequencies.number import measure_error
from bochner.inference.learning.judge import HeldOutScores
from bochner.kernels import Gneiting, Matern, Polynomial, Separable, spectral_peaks
from bochner.posterior import Latent
from bochner.posterior.prior import Prior
from bochner.posterior.response import Response

RNG = np.random.default_rng
FAMILIES = [Poisson(), NegativeBinomial(dispersion=0.5), Gamma(dispersion=0.5), Student(dispersion=0.3, dof=4.0)]
WAVES = MonteCarlo().draw(Matern(), 6, 2, RNG(0))


def peaks(n: int, dim: int, n_peaks: int) -> Any:
    return spectral_peaks(RNG(0).uniform(size=(n, dim)), RNG(1).normal(size=n), n_peaks)


def law(family: Any) -> Response:
    eta = Latent(np.zeros((1, 3)), np.full((1, 3), 0.2), np.ones(1))
    return Response(family, eta, np.ones(3), new=True)


# a part, values that it takes, and values that it refuses
DOORS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "factor": (lambda v: Matern() * v, [1e-9, 1.0, 3], [0.0, -1.0, np.inf, np.nan]),
    "degree": (lambda v: Polynomial(degree=v), [1, 2, 3.0], [0, -1, 1.5]),
    "offset": (lambda v: Polynomial(offset=v), [0.0, 2.0], [-0.1, np.inf, np.nan]),
    "interaction": (lambda v: Gneiting(interaction=v), [0, 0.0, 0.5, 1.0], [-0.01, 1.01, "much"]),
    "alpha": (lambda v: Gneiting(alpha=v), [0.3, 1.0], [1.01, 0.0, -1.0]),
    "places of space and time": (lambda v: Separable(Matern(), Matern()).check_dim(v), [2, 3], [1]),
    "places of gneiting": (lambda v: Gneiting().check_dim(v), [2, 3], [1]),
    "dimensions of a lattice": (lambda v: lattice_frequencies(Matern(), np.ones(v), n_frequencies=5), [1, 2, 3], [4]),
    "dimensions of peaks": (lambda v: peaks(40, v, 2), [1, 2, 3], [4]),
    "number of peaks": (lambda v: peaks(40, 1, v), [1, 3], [0, -1]),
    "rows of peaks": (lambda v: peaks(v, 1, 1), [4, 9], [3, 2]),
    "correlation": (lambda v: draw_pairs(Matern(), 4, 2, RNG(0), v), [0.0, 0.5, 1.0], [-0.01, 1.01]),
    "mass": (lambda v: Frequencies(np.ones((1, 1)), np.array([v])), [0.0, 2.0], [-1e-3, np.nan]),
    "waves of a pool": (lambda v: resample(WAVES, np.ones(6), v, RNG(0)), [1, 6], [0, 7]),
    "landmarks": (lambda v: choose_landmarks(RNG(0).uniform(size=(9, 2)), v, np.ones(9), 0), [1, 9, 20], [0, -1]),
    "extent": (lambda v: measure_error(WAVES, Matern(), v, 0), [0.0, 1.0, np.ones(2)], [-1.0, np.ones(3)]),
    "noise of a prior": (lambda v: Prior(Matern(), noise_variance=v), [0.0, 1.0], [-1e-9, np.inf, np.nan]),
    "quantile": (lambda v: law(Poisson()).quantile(v), [1e-6, 0.5, 0.999], [0.0, 1.0, 1.5, -0.1]),
    "count": (lambda v: Poisson().check(np.array([v, 1.0]), np.ones(2)), [0.0, 3.0], [-1.0, 0.5, np.nan]),
    "amount": (lambda v: Gamma().check(np.array([v, 1.0]), np.ones(2)), [1e-9, 3.0], [0.0, -1.0, np.inf, np.nan]),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", DOORS)
def test_every_bound_is_held_on_both_sides(name):
    door, taken, refused = DOORS[name]
    for value in taken:
        door(value)
    for value in refused:
        with pytest.raises((BochnerError, ValueError, TypeError)):
            door(value)


# ------------------------------------------------------------------------------------------------------- extremes


def test_outliers_of_any_size_have_a_precision():
    """(nu + 1) / (nu phi + square) where eta is known; less and less, and never no number."""
    family = Student(dispersion=0.5, dof=4.0)
    square = np.array([0.0, 1.0, 25.0, 1e4, 1e8, 1e12])
    found = family.expected_precision(square, np.zeros(6))
    assert np.all(np.isfinite(found)) and np.all(np.diff(found) <= 0) and np.all(found > 0)
    assert_allclose(found[:3], 5 / (4 * 0.5 + square[:3]), rtol=0.05)


def test_kernels_that_miss_by_far_are_weighed_all_the_same():
    """Densities of exp(-1e6): their ratio is what counts."""
    y, gap = np.zeros(60), np.repeat(np.arange(20), 3)
    means = np.stack([np.full(60, 1e3), np.full(60, 1.2e3)])
    mass = HeldOutScores(y, means, np.ones((2, 60)), np.ones(60), gap).stacked()
    assert np.all(np.isfinite(mass)) and mass[0] > 0.9


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_far_out_in_the_tails_are_numbers(family):
    """Observations many sds away: densities fall, scores rise, quantiles are in order."""
    one = law(family)
    y = np.array([1.0, 60.0, 4_000.0])
    density, score = one.log_density(y), one.crps(y)
    assert np.all(np.isfinite(density)) and np.all(np.diff(density) < 0)
    assert np.all(np.isfinite(score)) and np.all(np.diff(score) > 0)
    assert np.all(one.quantile(0.001) <= one.quantile(0.5)) and np.all(one.quantile(0.5) <= one.quantile(0.999))
