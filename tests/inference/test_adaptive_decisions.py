"""Waves made for the data: how many, out of which pool, and when what was learned is kept."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import FallbackWarning, TuningWarning
from bochner.families import Gaussian
from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference import Observations, Responses, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes import adaptive_waves, learned_spectra
from bochner.inference.schemes.ascent import Point, noise_of_few_waves, with_missing
from bochner.kernels import Matern
from tests.laws.registry_models import observe

pytestmark = pytest.mark.every_case

KERNEL = Matern(0.5, 2.0)


def task_of(n: int = 120, dim: int = 2, **settings) -> Task:
    obs = observe(dim, n)
    one, zero = np.ones(n), np.zeros(n)
    return Task.of(Settings(**settings), Responses(Gaussian(), obs.rows, obs.y, one, zero, one, zero))


# ----------------------------------------------------------------------------------------------------- the pool


@pytest.mark.parametrize(("m", "size"), [(1, 256), (32, 256), (50, 400), (90, 720), (200, 768), (500, 1_000)])
def test_a_pool_has_some_times_the_waves_wanted(m, size):
    """Eight times, within bounds, and never less than twice."""
    assert adaptive_waves.pool_size(m) == size


@pytest.mark.parametrize("size", [20, 21])
def test_terms_of_a_sum_have_equal_shares_of_a_pool(size):
    """Whatever their variances: short waves of little variance are there to be chosen."""
    kernel = Matern(5.0, 100.0) + Matern(0.1, 0.01)
    found = adaptive_waves.pool_of(kernel, size, 2, 0)
    heavy = found.mass > 1.0
    assert found.n == size and abs(2 * heavy.sum() - size) <= 1
    assert_allclose([found.mass[heavy].sum(), found.mass[~heavy].sum()], [100.0, 0.01])


@pytest.mark.parametrize("n", [30, 200])
def test_leverage_sums_to_the_freedom_that_waves_spend(n):
    """Trace of the hat matrix, by dense algebra; fewer rows than columns, and more."""
    obs, waves, noise = observe(2, n), adaptive_waves.pool_of(KERNEL, 40, 2, 0), 0.3
    score, n_rows = adaptive_waves.pool_scores(waves, obs, noise)
    phi = FourierMap(waves).block(obs.rows.coords)
    hat = phi.T @ phi / noise
    wanted = np.diag(np.linalg.solve(hat + np.eye(80), hat))
    assert n_rows == n
    assert_allclose(score.sum(), wanted.sum(), rtol=1e-6)
    assert_allclose(score, wanted[:40] + wanted[40:], rtol=1e-6)


def test_some_rows_stand_for_all(monkeypatch):
    obs, waves = observe(2, 2_000), adaptive_waves.pool_of(KERNEL, 30, 2, 0)
    whole, _ = adaptive_waves.pool_scores(waves, obs, 20.0)
    monkeypatch.setattr(adaptive_waves, "prefers_transform", lambda *_: False)
    part, n_rows = adaptive_waves.pool_scores(waves, obs, 20.0, most=500)
    assert n_rows == 500
    assert_allclose(part.sum(), whole.sum(), rtol=0.05)


def test_waves_by_leverage_are_twice_the_freedom():
    task = task_of()
    waves, told = adaptive_waves.waves_by_leverage(task, KERNEL, 0.3)
    freedom = float(
        adaptive_waves.pool_scores(adaptive_waves.pool_of(KERNEL, adaptive_waves.POOL, 2, 0), task.obs, 0.3)[0].sum()
    )
    assert waves.n == told.value == int(np.ceil(2 * freedom))
    assert not told.given and f"{freedom:.0f} degrees of freedom" in str(told)
    assert adaptive_waves.waves_by_leverage(task, KERNEL, 1e9)[0].n == 32
    waves, told = adaptive_waves.waves_by_leverage(task_of(n_frequencies=17), KERNEL, 0.3)
    assert waves.n == 17 and told.given and "120 rows" in str(told)


# ------------------------------------------------------------------------------------------------- what is learned


@pytest.mark.parametrize(("n", "dim", "m"), [(50, 2, 10), (900, 2, 30), (900, 5, 15), (10**6, 2, 300)])
def test_learned_waves_have_rows_for_every_number(n, dim, m):
    assert learned_spectra.number_of_learned(Settings(), n, dim) == m
    assert learned_spectra.number_of_learned(Settings(n_frequencies=7), n, dim) == 7


@pytest.mark.parametrize(("m", "n_starts"), [(1, 1), (2, 2), (12, 2), (40, 2)])
def test_every_start_has_as_many_waves(m, n_starts):
    """Peaks of the data's spectrum and a draw beside them, four to one by their mass."""
    found = learned_spectra.starts_of(0, KERNEL, m, observe(2, 300))
    assert len(found) == n_starts and all(waves.n == m for _, waves in found)
    if m == 40:
        assert_allclose(found[1][1].mass[:10].sum(), 0.8 * 2.0)
    assert len(learned_spectra.starts_of(0, KERNEL, m, observe(2, learned_spectra.MIN_LEARNING_ROWS - 1))) == 1
    assert len(learned_spectra.starts_of(0, KERNEL, 12, observe(4, 300))) == 1


def test_rows_that_follow_their_trend_teach_nothing():
    obs = observe(2, 100)
    assert not learned_spectra.follows_trend(obs)
    straight = replace(obs, y=3.0 + 2.0 * obs.rows.trend[:, 1])
    assert learned_spectra.follows_trend(straight)
    assert learned_spectra._hindrance(obs, 0.1) is None
    assert "follows the trend" in learned_spectra._hindrance(straight, 0.1)
    assert learned_spectra._hindrance(obs[np.arange(learned_spectra.MIN_LEARNING_ROWS)], 0.1) is None
    assert "only 39 rows" in learned_spectra._hindrance(obs[np.arange(learned_spectra.MIN_LEARNING_ROWS - 1)], 0.1)
    with pytest.warns(FallbackWarning, match="noise_variance=0"):
        assert "no noise" in learned_spectra._hindrance(obs, 0.0)
    assert learned_spectra._hindrance(replace(obs, error=np.full(100, 0.1)), 0.0) is None


def point(gain: float, evidence: float, n: int = 400) -> Point:
    """Scores of rows held out: a mean gain, with an error of a hundredth."""
    scores = -np.ones(n) / n + (gain + 0.2 * np.tile([-1.0, 1.0], n // 2)) / n
    features = FourierMap(QuasiMonteCarlo().draw(KERNEL, 4, 2, np.random.default_rng(0)))
    return Point(features, 0.1 + gain, evidence, scores)


FIRST = Point(point(0, 0).features, 0.1, 0.0, -np.ones(400) / 400)


@pytest.mark.parametrize(("gain", "kept"), [(-0.02, False), (0.0, False), (0.008, False), (0.012, True), (0.5, True)])
def test_what_was_learned_is_kept_where_it_is_surely_better(gain, kept):
    """By more than the standard error of the gain, 0.01 here; else it is told."""
    found = point(gain, 0.01)
    assert_allclose(found.gain_over(FIRST), (gain, 0.01), atol=1e-12)
    assert_allclose(found.score - FIRST.score, gain, atol=1e-12)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        verdict = learned_spectra.judged(FIRST, found, "learned", "the first", n_numbers=4)
    assert verdict.learned == kept == (verdict.features is found.features)
    assert verdict.noise_variance == (found if kept else FIRST).noise_variance
    assert any(issubclass(w.category, FallbackWarning) for w in seen) == (not kept)
    surer = learned_spectra.judged(FIRST, point(0.005, 0.01), "learned", "the first", sure=-1.0)
    assert surer.learned  # where only a clear loss counts


@pytest.mark.parametrize(("evidence", "told"), [(0.04, False), (0.3, False), (1.0, True)])
def test_rows_learned_by_heart_are_told(evidence, told):
    """A gain of 0.1 where the rows learned from gain ten times as much."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        learned_spectra.judged(FIRST, point(0.1, evidence), "learned", "the first", n_numbers=4)
    assert any(issubclass(w.category, TuningWarning) for w in seen) == told


def test_missing_variance_is_carried_only_where_it_predicts_better():
    """Waves that hold all of a field miss nothing."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(-1, 1, size=(200, 1))
    waves = QuasiMonteCarlo().draw(Matern(0.8), 3, 1, rng)
    features = FourierMap(waves)
    y = features.block(coords) @ rng.standard_normal(6) + 0.1 * rng.standard_normal(200)
    obs = Observations(Rows(coords, np.ones((200, 1))), y, np.ones(200), np.zeros(200), np.zeros(200))
    parts = np.arange(0, 150), np.arange(150, 200)
    from bochner.inference.schemes.ascent import held_out_scores

    at = Point(features, 0.01, 0.0, held_out_scores(features, 0.01, obs[parts[0]], obs[parts[1]]))
    assert with_missing(at, obs[parts[0]], obs[parts[1]], 1.0) is at
    assert noise_of_few_waves(features, obs, 0.01, 1.0, reml=True) == 0.01
