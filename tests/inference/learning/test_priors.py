"""Priors are densities: they integrate to one in the coordinate that a search moves in."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate as quadrature

from bochner.inference.learning import form as priors
from bochner.inference.learning.form import Sizes
from bochner.inference.learning.policy import POLICY

SIZES = Sizes(extent=3.0, spacing=0.1)
PRIORS = {
    "range": lambda t: priors.range_prior(t, SIZES),
    "share": lambda t: priors.share_prior(t, POLICY.share_power),
    "sd": lambda t: priors.sd_prior(t, 0.7),
    "field": lambda t: priors.field_prior(t, 1.4),
    "smoothness": priors.nu_prior,
    "normal": lambda t: priors.normal_prior(t, 0.3, 1.5),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
def test_prior_of_one_number_is_a_density(prior):
    """With the slope that belongs to it."""
    total = quadrature.quad(lambda t: np.exp(prior(t)[0]), -40, 40, limit=400, points=[-2, 0, 2])[0]
    assert_allclose(total, 1, rtol=1e-3)
    for t in (-2.3, -0.4, 0.9, 3.1):
        assert_allclose(prior(t)[1], (prior(t + 1e-5)[0] - prior(t - 1e-5)[0]) / 2e-5, rtol=1e-5, atol=1e-8)


def test_prior_of_a_stretch_is_a_density_without_a_direction():
    along = np.linspace(0, 60, 6001)
    density = np.exp([priors.stretch_prior(np.array([r, 0.0]), 2)[0] for r in along])
    assert_allclose(quadrature.trapezoid(2 * np.pi * along * density, along), 1, rtol=1e-3)
    turned = [priors.stretch_prior(np.array([np.cos(a), np.sin(a)]), 2)[0] for a in (0.0, 0.4, 2.0)]
    assert_allclose(turned, turned[0], rtol=1e-12)


@pytest.mark.parametrize(("dim", "k"), [(2, 2), (3, 5)])
def test_slopes_of_the_prior_of_a_stretch(dim, k):
    x = np.random.default_rng(0).standard_normal(k)
    ends = [[priors.stretch_prior(x + s, dim)[0] for s in (e, -e)] for e in 1e-5 * np.eye(k)]
    assert_allclose(priors.stretch_prior(x, dim)[1], -np.diff(ends)[:, 0] / 2e-5, rtol=1e-6, atol=1e-8)


def test_sizes_do_not_depend_on_the_direction_of_the_axes():
    coords = np.random.default_rng(0).uniform(size=(50, 2)) * [10, 2]
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    plain, turned, scaled = Sizes.of(coords), Sizes.of(coords @ turn + 1e3), Sizes.of(1e3 * coords)
    assert_allclose([turned.extent, turned.spacing], [plain.extent, plain.spacing])
    assert_allclose([scaled.extent, scaled.spacing], [1e3 * plain.extent, 1e3 * plain.spacing])
    copies = Sizes.of(np.repeat(coords, 2, axis=0))
    assert_allclose([copies.extent, copies.spacing], [plain.extent, plain.spacing])
    assert Sizes.of(np.ones((3, 2))).spacing > 0
