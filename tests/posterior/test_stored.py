"""Answers from rows on disk, tile by tile: those of kriging from the same rows in memory, beside the waves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.observed.observations import Observations
from bochner.kernels import Matern
from bochner.posterior import limits
from bochner.posterior.stored import StoredPosterior
from bochner.sources.row_store import Cells, StoreWriter

pytestmark = pytest.mark.every_case

KERNEL, N = Matern(0.3, 1.2), 160


def stored(folder, dim: int, n_near: int, most: int = 25) -> tuple[StoredPosterior, np.ndarray]:
    """A posterior from a store of rows (place, trend, response, error), and those rows; a few waves stand beside."""
    rng = np.random.default_rng(dim)
    coords = rng.uniform(size=(N, dim))
    trend = np.column_stack([np.ones(N), coords[:, 0]])
    y = 2.0 + 0.5 * coords[:, 0] + np.sin(6 * coords.sum(axis=1)) + 0.1 * rng.standard_normal(N)
    error = rng.uniform(0.01, 0.05, N)
    waves = FourierMap(QuasiMonteCarlo().draw(Matern(2.0, 0.5), 3, dim, rng))
    obs = Observations(Rows(coords, trend), y, np.ones(N), error, np.zeros(N))
    part = LinearEngine(waves, 0.01).fit(obs).posterior
    cells = Cells.over(coords, (np.zeros(dim), np.ones(dim)), most)
    writer = StoreWriter(str(folder / f"store{dim}"), cells, ("a", "b", "y", "error"))
    writer.begin()
    for number, some in enumerate(np.array_split(rng.permutation(N), 3)):
        writer.put(number, coords[some], [trend[some, 0], trend[some, 1], y[some], error[some]])
    return StoredPosterior(part, KERNEL, writer.close(), n_near), np.column_stack([coords, trend, y, error])


def asked(dim: int, n: int = 40) -> Rows:
    coords = np.random.default_rng(9).uniform(-0.1, 1.1, size=(n, dim))
    return Rows(coords, np.column_stack([np.ones(n), coords[:, 0]]))


def kriged(posterior: StoredPosterior, table: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance from all rows at once, by dense algebra."""
    dim = rows.coords.shape[1]
    coords, y, error = table[:, :dim], table[:, -2], table[:, -1]
    residual = y - posterior.waves_part.mean(Rows(coords, table[:, dim:-2]))
    factor = linalg.cho_factor(KERNEL(coords) + np.diag(error))
    cross = KERNEL(coords, rows.coords)
    covariance = KERNEL(rows.coords) - cross.T @ linalg.cho_solve(factor, cross)
    return posterior.waves_part.mean(rows) + cross.T @ linalg.cho_solve(factor, residual), covariance


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_with_enough_neighbours_it_is_kriging_from_all_rows(dim, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LEAST_TILE_ROWS", 1.0)
    posterior, table = stored(tmp_path, dim, n_near=N)
    rows = asked(dim)
    mean, covariance = kriged(posterior, table, rows)
    assert_allclose(posterior.mean(rows), mean, atol=1e-8)
    assert_allclose(posterior.variance(rows), np.diag(covariance), atol=1e-8)
    for one, other in zip(posterior.mean_and_variance(rows), (mean, np.diag(covariance)), strict=True):
        assert_allclose(one, other, atol=1e-8)


@pytest.mark.parametrize("dim", [1, 2])
def test_a_few_neighbours_of_a_tile_are_nearly_all_that_tells(dim, tmp_path):
    """Never surer than all rows together, by little less sure, and the same whatever else is asked."""
    posterior, table = stored(tmp_path, dim, n_near=12)
    assert len(posterior.store.cells) > 2 * limits.KEPT_TILES  # so that some are forgotten and made again
    rows = asked(dim, 120)
    mean, covariance = kriged(posterior, table, rows)
    found, variance = posterior.mean_and_variance(rows)
    assert np.all(variance > np.diag(covariance) - 1e-9)
    assert np.mean(variance) < 1.05 * np.trace(covariance) / 120
    assert np.sqrt(np.mean((found - mean) ** 2)) < 0.15 * np.sqrt(np.mean(variance))
    backwards = posterior.mean_and_variance(rows[::-1])
    assert_allclose(backwards[0][::-1], found, rtol=1e-10)
    assert_allclose(backwards[1][::-1], variance, rtol=1e-10)


def test_draws_and_covariance_are_those_of_one_tile(tmp_path):
    posterior, table = stored(tmp_path, 2, n_near=40, most=N)
    rows = asked(2, 6)
    mean, covariance = kriged(posterior, table, rows)
    draws = posterior.draw(rows, 3_000, np.random.default_rng(0))
    # standard errors: sd / 55 of a mean, and sqrt(2 / 3000) of a variance
    sd = np.sqrt(np.diag(covariance))
    assert draws.shape == (3_000, 6)
    assert_allclose(draws.mean(axis=0), mean, atol=5 * sd.max() / 55)
    assert_allclose(np.cov(draws.T), covariance, atol=0.15 * covariance.max())
    assert_allclose(posterior.covariance(rows), covariance, atol=0.25 * covariance.max())
    assert posterior.covariance(rows[:1]).shape == (1, 1)
    assert posterior.cost.numbers > 40 and posterior.cost.work == limits.PLACE_WORK


def test_what_the_waves_know_is_theirs(tmp_path):
    posterior, _ = stored(tmp_path, 1, n_near=8)
    part = posterior.waves_part
    assert posterior.waves is part.waves and len(posterior.feature_coef) == part.features.n_columns
    assert_array_equal(posterior.trend_coef, part.trend_coef)
    assert_array_equal(posterior.trend_covariance(), part.trend_covariance())
    assert posterior.beyond == part.beyond and not posterior.outside(asked(1).coords).any()
