"""The size of blocks, found from the gaps between rows."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.validation import gap_size


def test_follows_the_widest_gaps():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    spread = gap_size(X)
    holed = gap_size(X[np.linalg.norm(X - 0.5, axis=1) > 0.3])
    assert spread < 0.1 < holed <= 0.25


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_scales_with_the_coordinates(dim):
    X = np.random.default_rng(dim).uniform(size=(300, dim))
    assert gap_size(1000 * X) == pytest.approx(1000 * gap_size(X), rel=1e-6)
