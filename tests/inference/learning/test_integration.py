"""Integration over hyperparameters: masses and means are those of a fine grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.learning.integrate import _corners, _directions, integrate
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Found, Mode


@dataclass
class Bent:
    """A made-up posterior: a skew density of each entry, which moves a surface, or does not."""

    k: int
    moves: bool = True
    log_odds = 0.0

    @property
    def form(self):
        return self

    @property
    def evidence(self):
        return self

    @property
    def bounds(self):
        return np.tile([-20.0, 20.0], (self.k, 1))

    def frame(self, x):
        return np.eye(len(x))

    def value(self, x):
        return float(np.sum(2 * x - 2 * np.exp(x)))

    def at(self, x):
        if isinstance(x, np.ndarray):
            return Mode(x, self.value(x), 2 - 2 * np.exp(x), np.diag(2 * np.exp(x)), "climbed")
        return x

    def surface(self, x, places):
        return np.full(3, float(np.sum(x.x)) * self.moves), np.ones(3)


def found(k: int, moves: bool = True) -> Found:
    posterior = Bent(k, moves)
    return Found(posterior, posterior, [posterior.at(np.zeros(k))])  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 2])
def test_integration_agrees_with_a_fine_grid(k):
    """Mass and mean of a skew density in one and two entries."""
    nodes = integrate(found(k), np.zeros((3, 2)), 60)
    grid = np.linspace(-9, 4, 4001)
    one = np.exp(2 * grid - 2 * np.exp(grid))
    mass, mean = one.sum() * (grid[1] - grid[0]), one @ grid / one.sum()
    assert_allclose(nodes.log_evidence, k * np.log(mass), atol=0.08 * k)
    assert_allclose(nodes.mass.sum(), 1)
    assert_allclose(nodes.mass @ np.array(nodes.points), np.full(k, mean), atol=0.2)  # a quarter of its sd
    assert nodes.n_directions == k


def test_what_moves_no_surface_stays_at_the_mode():
    nodes = integrate(found(2, moves=False), np.zeros((3, 2)), 60)
    assert nodes.n_directions == 0 and len(nodes.points) == 1
    assert_allclose(nodes.mass, 1)


def test_one_node_is_the_mode():
    """With the evidence of a normal law about it."""
    nodes = integrate(found(2), None, 1)
    assert_allclose(nodes.points, [np.zeros(2)])
    assert_allclose(nodes.log_evidence, -4.0 + np.log(2 * np.pi) - np.log(2.0), atol=1e-2)


@pytest.mark.parametrize("k", range(2, POLICY.directions + 1))
def test_corners_tell_main_effects_from_pairs(k):
    """A two-level design of resolution V: entries and their products are orthogonal."""
    design = _corners(k)
    pairs = [design[:, i] * design[:, j] for i in range(k) for j in range(i)]
    columns = np.column_stack(
        [np.ones(len(design)), design, *pairs][: 1 + k] if k < 5 else [np.ones(len(design)), design]
    )
    assert_allclose(columns.T @ columns, len(design) * np.eye(columns.shape[1]))
    wide = np.column_stack([np.ones(len(design)), design, *pairs])
    assert np.linalg.matrix_rank(wide) == (wide.shape[1] if k < 5 else len(design))


@pytest.mark.parametrize("most", [1, 5, 20, 60, 1_000])
def test_designs_have_no_more_nodes_than_asked_for(most):
    k = _directions(most)
    assert k == 0 or 1 + 2 * k + len(_corners(k)) <= most
    assert k <= POLICY.directions
