"""Fields that see some of the axes, or are stretched along some, against kriging from all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import ApproximationWarning
from bochner.inference.fits import iterative_system
from bochner.kernels import Kernel, Matern, OnAxes, Separable, axis_units, measured

NOISE = 0.04
LASTING = OnAxes(Matern(0.2), (0, 1)) + OnAxes(Matern(0.1), 2)
TURNED = Matern((0.5, 0.05), rotation=0.6)


def kriged(kernel: Kernel, n: int, features: str) -> tuple[np.ndarray, ...]:
    """Mean and sd at some places by all rows at once, then those of a model."""
    rng = np.random.default_rng(0)
    X, at = rng.uniform(size=(n, 3)), rng.uniform(size=(200, 3))
    root = np.linalg.cholesky(kernel(X) + NOISE * np.eye(n))
    y = root @ rng.standard_normal(n)
    one, data, *cross = np.linalg.solve(root, np.column_stack([np.ones(n), y, kernel(X, at)])).T
    cross = np.array(cross).T
    level = one @ data / (one @ one)
    sd = np.sqrt(kernel.diag(at) - np.sum(cross**2, axis=0) + (1 - one @ cross) ** 2 / (one @ one))
    model = SpatialRegressor(kernel, tune=None, noise_variance=NOISE, features=features).fit(X, y)
    return level + cross.T @ (data - one * level), sd, *model.predict(at, return_std=True)


@pytest.mark.parametrize("space", [TURNED, TURNED.replace(rotation=None)], ids=["turned", "along the axes"])
def test_stretched_in_space_beside_time(space):
    """Neighbours along the ridges; before, sds were up to 1.4 times those of all rows."""
    mean, sd, found, its_sd = kriged(Separable(space, Matern(0.3, nu=0.5)), 1_200, "nearest")
    assert np.sqrt(np.mean(((found - mean) / sd) ** 2)) < 0.2
    assert 0.999 < np.min(its_sd / sd) and np.max(its_sd / sd) < 1.1


def test_what_lasts_and_what_is_common_of_few_rows():
    """Neighbours see neither: of them alone means were off by more than an sd, and sds half as large again."""
    mean, sd, found, its_sd = kriged(LASTING, 1_000, "conjugate-gradients")
    assert np.max(np.abs(found - mean) / sd) < 1e-6
    assert_allclose(its_sd, sd, rtol=1e-4)


@pytest.mark.filterwarnings("error::bochner.exceptions.ApproximationWarning")
def test_what_lasts_and_what_is_common_of_many_rows(monkeypatch):
    """By many iterations; sds are from neighbours, and rather too large."""
    monkeypatch.setattr(iterative_system, "MAX_DENSE_ROWS", 0)
    monkeypatch.setattr(iterative_system, "CG_TOLERANCE", 0.0)
    monkeypatch.setattr(iterative_system, "CG_UNKNOWN", 0.0)
    monkeypatch.setattr(iterative_system, "CG_ITERATIONS", 150)
    mean, sd, found, its_sd = kriged(LASTING, 600, "conjugate-gradients")
    assert np.max(np.abs(found - mean) / sd) < 0.05
    assert np.min(its_sd / sd) > 0.97


def test_a_solution_that_still_changes_is_not_taken(monkeypatch):
    monkeypatch.setattr(iterative_system, "MAX_DENSE_ROWS", 0)
    monkeypatch.setattr(iterative_system, "CG_ITERATIONS", 20)
    with pytest.warns(ApproximationWarning, match="unsettled after 20 iterations"):
        kriged(LASTING, 500, "conjugate-gradients")


@pytest.mark.parametrize(
    ("kernel", "unit"),
    [
        (Separable(TURNED, Matern(0.3)), TURNED),
        (OnAxes(TURNED, (0, 1)) + OnAxes(Matern(0.2), 2), TURNED),
        (Separable(TURNED + Matern(0.2, 0.1, nu=0.5), Matern(0.3)), TURNED),
    ],
    ids=["product", "sum", "beside a round one"],
)
def test_units_of_one_group_follow_its_most_stretched_part(kernel, unit):
    units = axis_units(kernel, np.ones(3))
    assert units.shape == (3, 3) and not units[2, :2].any() and not units[:2, 2].any()
    own = np.array([[np.cos(0.6), np.sin(0.6)], [-np.sin(0.6), np.cos(0.6)]])
    ends = np.column_stack([own * np.array(unit.length_scale)[:, None], np.zeros(2)])
    first, second = np.linalg.norm(measured(ends, units), axis=1)
    assert first == pytest.approx(second, rel=0.35)


def test_round_groups_have_one_unit_each():
    units = axis_units(Separable(Matern(0.3), Matern(0.1)), np.ones(3))
    assert units.shape == (3,) and units[0] == units[1] > units[2]
