"""Climbs of the exact evidence that begin by Vecchia's: the same ends, with fewer exact evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning.guided_search import GuidedSearch
from bochner.inference.tuning.search import Search
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern
from bochner.neighbours import Vecchia


def test_a_guided_choice_is_that_of_the_exact_evidence():
    rng = np.random.default_rng(4)
    n = 160
    coords = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern((0.15, 0.4), nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.3 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    exact, scale = ExactEvidence(obs, reml=True), scale_of(obs)
    guide = VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=12, n_points=n), reml=True)
    plain = select_kernel(Search(exact, scale, None), n, 2)
    guided = select_kernel(GuidedSearch(exact, scale, None, guide=guide), n, 2)
    assert guided.tuned.value == pytest.approx(plain.tuned.value, abs=1e-4)
    assert guided.choice.value == plain.choice.value
    assert guided.tuned.n_evaluations < plain.tuned.n_evaluations


def test_a_guide_is_followed_by_where_it_leads_not_by_its_value():
    """Along a turned stretch a dozen neighbours fall many nats short, and yet their peak is near that of all rows."""
    rng = np.random.default_rng(3)
    n = 300
    coords = rng.uniform(size=(n, 2))
    kernel = Matern((0.5, 0.1), rotation=1.0, nu=1.5)
    root = np.linalg.cholesky(kernel.covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.1 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    exact, scale = ExactEvidence(obs, reml=True), scale_of(obs)
    guide = VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=12, n_points=n), reml=True)
    assert exact.value(kernel, 0.01) > guide.value(kernel, 0.01) + 5
    plain = Search(exact, scale, None).maximise(kernel, 0.1)
    guided = GuidedSearch(exact, scale, None, guide=guide).maximise(kernel, 0.1)
    assert guided.value == pytest.approx(plain.value, abs=1e-4)
    assert guided.n_evaluations < plain.n_evaluations
    clearly_less = GuidedSearch(exact, scale, None, guide=guide).maximise(kernel, 0.1, against=plain.value + 20)
    assert clearly_less.n_evaluations == 1


def test_what_a_climb_would_gain_is_foreseen():
    rng = np.random.default_rng(5)
    n = 120
    coords = rng.uniform(size=(n, 2))
    root = np.linalg.cholesky(Matern(0.3, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.3 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    search = Search(ExactEvidence(obs, reml=True), scale_of(obs), None)
    peak = search.maximise(Matern(0.3, nu=1.5), 0.1)
    assert search.foreseen(peak.kernel, peak.noise_variance)[1] == pytest.approx(0.0, abs=1e-5)
    value, gain = search.foreseen(
        peak.kernel.with_theta(peak.kernel.theta + np.array([0.0, 0.3])), 1.3 * peak.noise_variance
    )
    assert value + gain == pytest.approx(peak.value, abs=0.3 * (peak.value - value)) and peak.value - value > 0.5


def test_a_guide_that_is_wrong_is_not_followed():
    """Of a smooth field almost without noise Vecchia sees another peak; the climb ends on that of the evidence."""
    rng = np.random.default_rng(8)
    n = 160
    coords = rng.uniform(size=(n, 2))
    y = np.sin(5 * coords[:, 0]) * np.cos(4 * coords[:, 1]) + 1e-3 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    exact, scale = ExactEvidence(obs, reml=True), scale_of(obs)
    guide = VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=12, n_points=n), reml=True)
    plain = select_kernel(Search(exact, scale, None), n, 2)
    guided = GuidedSearch(exact, scale, None, guide=guide)
    assert select_kernel(guided, n, 2).tuned.value == pytest.approx(plain.tuned.value, abs=1e-2)
    assert not guided.trusted(Matern(nu=1.5))


def test_what_was_asked_once_is_known(monkeypatch):
    """Whether a guide is trusted is asked by the first climb of the search: it costs nothing there."""
    rng = np.random.default_rng(4)
    n = 120
    coords, y = rng.uniform(size=(n, 2)), rng.normal(size=n)
    guide = VecchiaEvidence(Vecchia.plan(coords, y, n_neighbours=8, n_points=n), reml=True)
    asked, plain = [], Vecchia.evaluate
    monkeypatch.setattr(Vecchia, "evaluate", lambda *a: (asked.append(a), plain(*a))[1])
    for _ in range(2):
        value, gradient = guide(Matern(0.3), 0.1)
        assert value == pytest.approx(guide.value(Matern(0.3), 0.1)) and len(gradient) == 3
    assert len(asked) == 1 and guide(Matern(0.3), 0.2)[0] != value
