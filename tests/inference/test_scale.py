"""Sizes of what is observed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bochner.features import Rows
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import scale_of


@pytest.mark.parametrize("dim", [2, 5, 6, 12])
def test_spacing_is_the_median_distance_to_the_nearest(dim):
    """In many dimensions some rows tell it: trees do not help there."""
    coords, n = np.random.default_rng(0).uniform(size=(1_500, dim)), 1_500
    obs = Observations(Rows(coords, np.ones((n, 1))), np.arange(n) % 7.0, np.ones(n), np.zeros(n), np.zeros(n))
    apart = cdist(coords, coords) + 1e9 * np.eye(n)
    found = scale_of(obs).spacing
    wanted = np.median(apart.min(axis=1)) / np.ptp(coords, axis=0).mean()
    assert found == pytest.approx(min(wanted, 0.5), rel=0.01 if dim <= 5 else 0.05)
