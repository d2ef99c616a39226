"""Kernels with turned length scales along their own axes: the same covariances, and the same neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.kernels import Laplacian, Matern, Separable, SquaredExponential, along, axis_units, measured, own_axes
from bochner.kernels.anisotropy import axes, turned
from bochner.neighbours import CellKriging, conditional_draws, inverse_root, local_kriging

ONE = Matern((0.02, 0.4), 1.5, nu=0.5, rotation=0.6)
KERNELS = {
    "one": (ONE, 2),
    "in space": (Matern((0.05, 0.5, 0.2), rotation=(0.3, -0.2, 0.7)), 3),
    "sum with a round one": (ONE + SquaredExponential(0.3), 2),
    "product": (ONE * Matern((0.1, 0.5), rotation=0.6), 2),
    "told from the other axis": (ONE + Matern((0.6, 0.1), rotation=0.6 + np.pi / 2), 2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_along_its_own_axes_a_kernel_is_the_same(name):
    kernel, dim = KERNELS[name]
    own = own_axes(kernel, dim)
    assert_allclose(own @ own.T, np.eye(dim), atol=1e-12)
    x = np.random.default_rng(0).uniform(size=(40, dim))
    plain = along(kernel, own)
    assert all(leaf.rotation is None for leaf in plain.leaves())
    assert_allclose(plain(turned(x, own)), kernel(x), atol=1e-10 * kernel.variance)


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(0.3),
        Matern((0.1, 0.4)),
        ONE + Matern((0.02, 0.4), rotation=0.1),
        ONE + Laplacian((0.1, 0.2)),
        Separable(Matern(0.3), Matern(0.2)),
    ],
    ids=["round", "along the axes", "turned unlike", "no distance", "space and time"],
)
def test_others_have_none(kernel):
    assert own_axes(kernel, 2) is None


def test_units_of_turned_kernels_are_a_matrix_where_they_are_unlike():
    units = axis_units(ONE, np.ones(2))
    assert units.shape == (2, 2)
    # lags along either axis of the kernel are as long as they are to it
    first, second = measured(axes(0.6, 2).T * np.array([[0.02], [0.4]]), units)
    assert np.linalg.norm(first) == pytest.approx(np.linalg.norm(second), rel=0.08)  # of a table of 200 lags
    assert axis_units(ONE.replace(length_scale=(0.2, 0.4)), np.ones(2)) is None


def test_neighbours_in_turned_units_are_those_of_turned_places():
    rng = np.random.default_rng(1)
    coords, targets, y = rng.uniform(size=(300, 2)), rng.uniform(size=(40, 2)), rng.normal(size=300)
    noise, own, units = np.full(300, 0.1), own_axes(ONE, 2), axis_units(ONE, np.ones(2))
    plain, there, at = along(ONE, own), turned(coords, own), turned(targets, own)
    scales = 1 / np.linalg.norm(units, axis=1)
    for one, other in zip(
        local_kriging(ONE, noise, coords, y, targets, 20, units),
        local_kriging(plain, noise, there, y, at, 20, scales),
        strict=True,
    ):
        assert_allclose(one, other, atol=1e-9)
    cells = CellKriging(ONE, noise, coords, 20, 0, units).at(targets, y[:, None])
    for one, other in zip(cells, CellKriging(plain, noise, there, 20, 0, scales).at(at, y[:, None]), strict=True):
        assert_allclose(one, other, atol=1e-9)
    root, same = inverse_root(ONE, noise, coords, 10, units), inverse_root(plain, noise, there, 10, scales)
    assert_allclose(root.toarray(), same.toarray(), atol=1e-9)
    draws = [
        conditional_draws(k, noise, c, t, 3, np.random.default_rng(0), 20, u)
        for k, c, t, u in ((ONE, coords, targets, units), (plain, there, at, scales))
    ]
    assert_allclose(*draws, atol=1e-8)
