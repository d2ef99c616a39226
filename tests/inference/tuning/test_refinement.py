"""Refinement by the evidence of all rows: it mends what a likelihood of neighbours drifts to under noise."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.features import Rows
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning.refinement import refine_on_lattice
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Matern


@pytest.mark.parametrize("drifted", [Matern(10.0, 84.0, nu=20.0, learn_nu=True), Matern(10.0, 52.0, nu=2.5)])
def test_a_range_that_drifted_beyond_the_region_comes_back(drifted):
    """Neighbours of a smooth field under noise see a plane: ever longer, ever larger. All rows see that it bends."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(1200, 2))
    y = np.sin(4 * coords[:, 0]) * np.cos(3 * coords[:, 1]) + 0.7 * rng.standard_normal(1200)
    zero = np.zeros(1200)
    obs = Observations(Rows(coords, np.ones((1200, 1))), y, np.ones(1200), zero, zero)
    evidence = ExactEvidence(obs, reml=True)
    search = Search(evidence, scale_of(obs), None)
    found = Tuned(drifted, 0.52, 0.0, 1, ())
    refined = refine_on_lattice(found, search, obs)
    assert refined.by_all_rows and refined.kernel.length_scale < 2
    values = [evidence(t.kernel, t.noise_variance)[0] for t in (refined, found)]
    assert values[0] > values[1] + 20


@pytest.mark.parametrize("lost", [Matern(1.0, 1e-4, nu=1.5, learn_nu=True), Matern(0.004, 0.1, nu=20.0, learn_nu=True)])
def test_a_weak_field_that_neighbours_lost_is_found(lost):
    """Nine tenths of the variance are noise: a flat map, or one of spots, is near at hand; all rows see the field."""
    rng = np.random.default_rng(1)
    n = 1_200
    coords, zero = rng.uniform(size=(n, 2)), np.zeros(n)
    root = np.linalg.cholesky(Matern(0.3, 0.15, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.standard_normal(n) + rng.standard_normal(n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), zero, zero)
    evidence = ExactEvidence(obs, reml=True)
    refined = refine_on_lattice(Tuned(lost, 1.0, 0.0, 1, ()), Search(evidence, scale_of(obs), None), obs)
    assert refined.by_all_rows and 0.1 < refined.kernel.length_scale < 1.5 and 0.03 < refined.kernel.variance < 0.5
    assert evidence.value(refined.kernel, refined.noise_variance) > evidence.value(lost, 1.0) + 5


def test_noise_alone_stays_a_weak_field():
    rng = np.random.default_rng(2)
    n = 1_200
    coords, zero = rng.uniform(size=(n, 2)), np.zeros(n)
    obs = Observations(Rows(coords, np.ones((n, 1))), rng.standard_normal(n), np.ones(n), zero, zero)
    flat = Tuned(Matern(1.0, 1e-4, nu=1.5), 1.0, 0.0, 1, ())
    refined = refine_on_lattice(flat, Search(ExactEvidence(obs, reml=True), scale_of(obs), None), obs)
    assert refined.kernel.variance < 0.05 and refined.noise_variance == pytest.approx(1.0, rel=0.1)
