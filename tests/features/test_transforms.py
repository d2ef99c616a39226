"""Products with the columns of a lattice by a transform are those by blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import FourierMap, fourier
from bochner.frequencies import lattice_frequencies
from bochner.kernels import Matern
from tests.laws.registry import DIMS


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("columns", [(), (2,)], ids=["one", "two"])
def test_transform_and_blocks_agree(dim, columns, monkeypatch):
    waves = lattice_frequencies(Matern(0.8, 1.5), np.full(dim, 3.0), n_frequencies=15)
    features = FourierMap(waves, np.float64, 0.0, (np.full(dim, -1.5), np.full(dim, 1.5)))
    rng = np.random.default_rng(dim)
    coords = np.concatenate([rng.uniform(-1.5, 1.5, size=(40, dim)), np.full((2, dim), 9.0)])  # two places outside
    phi = np.asarray(features.block(coords))
    values, coef = rng.normal(size=(42, *columns)), rng.normal(size=(features.n_columns, *columns))
    monkeypatch.setattr(fourier, "TRANSFORM_WORK", 0)
    monkeypatch.setattr(fourier, "TRANSFORM_ROWS", 16)
    assert_allclose(features.adjoint(coords, values), phi.T @ values, atol=1e-6)
    assert_allclose(features.forward(coords, coef), phi @ coef, atol=1e-6)
