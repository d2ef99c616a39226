"""Orthogonal directions, Haar and structured."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard

from bochner.frequencies import Orthogonal, StructuredOrthogonal
from bochner.frequencies.orthogonal import haar_directions
from bochner.frequencies.structured import structured_directions, walsh_hadamard
from bochner.kernels import SquaredExponential


@pytest.mark.parametrize("d", [1, 2, 8, 64])
def test_walsh_hadamard_matches_the_matrix(d):
    x = np.random.default_rng(0).normal(size=(3, 2, d))
    assert_allclose(walsh_hadamard(x), x @ hadamard(d) / np.sqrt(d), atol=1e-12)


@pytest.mark.parametrize("directions", [haar_directions, structured_directions])
@pytest.mark.parametrize("dim", [8, 16, 32])
def test_blocks_are_orthonormal(directions, dim):
    unit = directions(2 * dim + 1, dim, np.random.default_rng(1))
    assert unit.shape == (2 * dim + 1, dim)
    for block in (unit[:dim], unit[dim : 2 * dim]):
        assert_allclose(block @ block.T, np.eye(dim), atol=1e-12)
    assert np.abs(unit[:dim] - unit[dim : 2 * dim]).max() > 0.01


def test_haar_matrices_have_haar_moments():
    """For Haar, Q_11 has mean 0 and variance 1 / d; without the signs of diag(R) its mean is not 0."""
    q = haar_directions(30_000, 3, np.random.default_rng(2)).reshape(-1, 3, 3)
    # 10,000 matrices: the standard error of a mean entry is sqrt(1 / 3 / 10,000) = 0.006
    assert_allclose(q.mean(axis=0), 0, atol=0.03)
    assert_allclose((q**2).mean(axis=0), 1 / 3, atol=0.02)
    assert_allclose(np.trace(q, axis1=1, axis2=2).var(), 1, atol=0.06)


def test_rows_of_a_block_stay_orthogonal_as_frequencies():
    omega = Orthogonal().draw(SquaredExponential(), 6, 3, np.random.default_rng(3)).omega
    for block in (omega[:3], omega[3:]):
        gram = block @ block.T
        assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)


def test_structured_says_when_it_is_not():
    structured = StructuredOrthogonal()
    assert "Haar" in structured.explain(3)
    assert "blocks of 32 by Walsh-Hadamard" in structured.explain(20)
    a, b = (rule.draw(SquaredExponential(), 9, 3, np.random.default_rng(4)) for rule in (Orthogonal(), structured))
    assert_array_equal(a.omega, b.omega)
