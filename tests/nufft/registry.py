"""Back ends, dimensions and direct sums that the NUFFT tests run over."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.nufft.backends import ON_DEVICE, ORDER, obstacle

# A new back end is one line in `bochner.nufft.backends`; those that are not installed are skipped by name.
BACKENDS = [
    pytest.param(name, marks=pytest.mark.skipif(bool(obstacle(name)), reason=obstacle(name)))
    for name in (*ORDER, ON_DEVICE)
]
# Worst error over eps seen in random transforms: 4.8 with FINUFFT, 1.7 with the others (1,120 of each type; JAX 158).
SLACK = {"finufft": 5, "jax-finufft": 5, "ducc0": 2, "built-in": 2, ON_DEVICE: 2}
SHAPES = [(1,), (24,), (25,), (12, 9), (7, 7), (6, 5, 8)]

every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def problem(shape, n=60, n_vectors=None, dtype=np.complex128, seed=0):
    """Coords over several periods, strengths and modes."""
    rng = np.random.default_rng(seed)
    lead = () if n_vectors is None else (n_vectors,)
    coords = rng.uniform(-20, 20, size=(n, len(shape)))
    return coords, _normal(rng, (*lead, n), dtype), _normal(rng, (*lead, *shape), dtype)


def waves(coords, shape):
    """Matrix exp(1j j.x), places by flattened modes, straight from the contract."""
    axes = [np.arange(-(count // 2), (count - 1) // 2 + 1) for count in shape]
    j = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    return np.exp(1j * coords @ j.T)


def error(result, expected):
    """Relative error in the Euclidean norm."""
    return np.linalg.norm(result - expected) / np.linalg.norm(expected)


def _normal(rng, size, dtype):
    values = rng.normal(size=size)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=size)
    return values.astype(dtype)
