"""Climbs of the exact evidence that begin by Vecchia's: the same ends, with fewer exact evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import limits
from bochner.inference.tuning.guided_search import GuidedSearch, form
from bochner.inference.tuning.guided_selection import select_guided
from bochner.inference.tuning.search import Search, Tuned
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
    led = select_guided(GuidedSearch(exact, scale, None, guide=guide), n, 2)
    assert led.tuned.value == pytest.approx(plain.tuned.value, abs=1e-2)


@pytest.mark.parametrize("edge", [0.9, 0.97])
@pytest.mark.slow
def test_a_guide_that_leads_astray_is_left(edge):
    """Of a step near the edge Vecchia's peaks are tens of nats off: nothing is ruled out by them."""
    rng = np.random.default_rng(5)
    n = 300
    coords = rng.uniform(size=(n, 2))
    y = 5.0 * (coords[:, 0] > edge) + 0.02 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    exact, scale = ExactEvidence(obs, reml=True), scale_of(obs)
    guide = VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=12, n_points=n), reml=True)
    asked = select_kernel(GuidedSearch(exact, scale, None, guide=guide), n, 2)
    found = select_guided(GuidedSearch(exact, scale, None, guide=guide), n, 2)
    assert found.tuned.value > asked.tuned.value - 0.5


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


FIELDS = {
    "alike": (2, Matern(0.2, nu=1.5)),
    "rough": (2, Matern(0.3, nu=0.5)),
    "along axes": (2, Matern((0.08, 0.5), nu=1.5)),
    "turned": (2, Matern((0.5, 0.08), nu=1.5, rotation=0.6)),
    "in one dimension": (1, Matern(0.1, nu=1.5)),
    "in space": (3, Matern((0.15, 0.4, 1.0), nu=1.5)),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("prior", [True, False])
def test_what_a_guide_selects_is_what_the_evidence_would(name, prior):
    """The same form and smoothness, at a peak as high, for a part of the exact evaluations."""
    dim, kernel = FIELDS[name]
    rng = np.random.default_rng(2)
    n = 250
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(kernel.covariance(coords, coords) + 1e-9 * np.eye(n))
    y = root @ rng.normal(size=n) + 0.2 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    asked: list[int] = []

    class Counted(ExactEvidence):
        def __call__(self, kernel, noise_variance):
            asked.append(1)
            return super().__call__(kernel, noise_variance)

    scale = scale_of(obs)
    plain = select_kernel(Search(Counted(obs, reml=True), scale, None, prior), n, dim)
    n_plain = len(asked)
    asked.clear()
    guide = VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=12, n_points=n), reml=True)
    search = GuidedSearch(Counted(obs, reml=True), scale, None, prior, guide=guide, enough=limits.AVERAGED_ENOUGH)
    guided = select_guided(search, n, dim)
    assert guided.choice.value == plain.choice.value
    assert form(guided.tuned.kernel) == form(plain.tuned.kernel)
    assert guided.tuned.value == pytest.approx(plain.tuned.value, abs=0.02)
    assert len(asked) < 0.4 * n_plain
    assert len(guided.turned) == len(plain.turned)
    best = max(guided.each or guided.turned, key=lambda t: t.value)
    assert best.value <= guided.tuned.value + 3  # a length scale for each axis may gain some, and not pay


def test_two_peaks_of_a_guide_are_both_asked():
    """Where the guide cannot tell which of two is higher, the evidence does."""
    peaks = {"near": np.log([0.05, 1.0, 0.1]), "far": np.log([0.6, 1.0, 0.1])}

    class Peaked:
        def __init__(self, heights):
            self.heights = heights
            self.asked = []

        def __call__(self, kernel, noise_variance):
            x = np.r_[kernel.theta, np.log(noise_variance)]
            self.asked.append(x)
            which = min(peaks, key=lambda name: abs(x[0] - peaks[name][0]))
            away = x - peaks[which]
            return self.heights[which] - 4 * float(away @ away), -8 * away

        def value(self, kernel, noise_variance):
            return self(kernel, noise_variance)[0]

        def information(self, kernel, noise_variance):
            return 8 * np.eye(3)

    rng = np.random.default_rng(0)
    n = 60
    obs = Observations(
        Rows(rng.uniform(size=(n, 1)), np.ones((n, 1))), rng.normal(size=n), np.ones(n), np.zeros(n), np.zeros(n)
    )
    guide, exact = Peaked({"near": 0.0, "far": -1.0}), Peaked({"near": -2.0, "far": 0.0})
    search = GuidedSearch(exact, scale_of(obs), None, guide=guide)
    for start in (0.06, 0.5):
        search.before.maximise(Matern(start), 0.1)
    search.before.maximise(Matern(0.05), 0.12)  # the same peak once more
    assert [round(t.value, 3) for t in search.before.peaks[form(Matern())]] == [0.0, -1.0]
    search.leads.update(search.before.peaks)
    asked = len(guide.asked)
    found = search.maximise(Matern(0.05), 0.1)
    assert len(guide.asked) == asked  # its climbs are known
    assert found.kernel.length_scale == pytest.approx(0.6, rel=1e-3) and found.value == pytest.approx(0.0, abs=1e-5)
    assert search.maximise(Matern(0.3), 0.1, against=found).value == found.value  # the same form: it has been there


def test_what_a_guide_sees_far_below_is_not_asked_for():
    """Nor is it trusted with less than its own doubt."""

    class Level:
        def __init__(self, by_smoothness):
            self.by_smoothness = by_smoothness
            self.n_asked = 0

        def __call__(self, kernel, noise_variance):
            self.n_asked += 1
            away = np.r_[kernel.theta, np.log(noise_variance)] - np.log([0.3, 1.0, 0.1])
            return self.by_smoothness[kernel.nu] - 4 * float(away @ away), -8 * away

        def value(self, kernel, noise_variance):
            return self(kernel, noise_variance)[0]

        def information(self, kernel, noise_variance):
            return 8 * np.eye(3)

    rng = np.random.default_rng(0)
    obs = Observations(
        Rows(rng.uniform(size=(60, 1)), np.ones((60, 1))), rng.normal(size=60), np.ones(60), np.zeros(60), np.zeros(60)
    )
    exact = Level({0.5: 10.0, 1.5: 12.0, 2.5: 30.0})
    search = GuidedSearch(exact, scale_of(obs), None, guide=Level({0.5: 0.0, 1.5: -1.5, 2.5: -20.0}))
    for nu in (0.5, 1.5, 2.5):
        search.before.maximise(Matern(0.3, nu=nu), 0.1)
    search.leads.update(search.before.peaks)
    first = search.maximise(Matern(0.3, nu=0.5), 0.1)
    assert first.value == pytest.approx(10.0)
    assert search.maximise(Matern(0.3, nu=1.5), 0.1, against=first.value).value == pytest.approx(12.0)
    asked = exact.n_asked
    far = search.maximise(Matern(0.3, nu=2.5), 0.1, against=first.value)
    assert exact.n_asked == asked and far.n_evaluations == 0
    assert isinstance(far, Tuned) and far.value == pytest.approx(12.0 - 18.5)


@pytest.mark.parametrize("kernel", [Matern(0.3, nu=1.5), Matern((0.5, 0.1), nu=1.5, rotation=0.6)])
def test_a_climb_knows_what_was_asked_where_it_begins(kernel, monkeypatch):
    """Of turned axes, too, whose hyperparameters do not come back from theta to the last digit."""
    rng = np.random.default_rng(6)
    n = 80
    obs = Observations(
        Rows(rng.uniform(size=(n, 2)), np.ones((n, 1))), rng.normal(size=n), np.ones(n), np.zeros(n), np.zeros(n)
    )
    fits, plain = [], ExactEvidence._sloped
    monkeypatch.setattr(ExactEvidence, "_sloped", lambda *a: (fits.append(a[1:]), plain(*a))[1])
    search = Search(ExactEvidence(obs, reml=True), scale_of(obs), None)
    start = kernel.with_theta(kernel.theta + 0.1234567)
    search.foreseen(start, 0.123456789)
    assert search.maximise(start, 0.123456789, max_iterations=0).kernel == start
    assert len(fits) == 1
