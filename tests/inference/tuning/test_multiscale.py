"""One field or several scales: the sum is taken where it predicts held-out rows clearly better."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

from bochner.families import Gaussian
from bochner.features import Rows
from bochner.inference import Domain, Responses, Settings
from bochner.inference.observed.task import Task
from bochner.inference.tuning import held_out_places, limits, multiscale
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Matern
from bochner.validation import crps
from tests.inference.tuning.objectives import quadratic, search

SINGLE = Tuned(Matern(0.3), 0.01, 0.0, 1, ())
SUM = Tuned(Matern(0.1) + Matern(0.9), 0.02, 5.0, 1, ())
QUANTILES = special.ndtri((np.arange(400) + 0.5) / 400)  # errors of an ideal forecast, in sds


def task_of(coords: np.ndarray) -> Task:
    n = len(coords)
    one, zero = np.ones(n), np.zeros(n)
    responses = Responses(Gaussian(), Rows(coords, np.ones((n, 1))), np.arange(float(n)), one, zero, one, zero)
    return Task.of(Settings(), responses)


def decide(monkeypatch: pytest.MonkeyPatch, several: Tuned | None, errors: dict[bool, np.ndarray], sd: float = 1.0):
    """The decision, if held-out rows have these errors by the sum (True) and by the single field (False)."""
    monkeypatch.setattr(multiscale, "single_field", lambda coarse, fine, task: (SINGLE, None))
    monkeypatch.setattr(multiscale, "fit_sum", lambda *_: (several, 10.0))

    def law(tuned, held, obs):
        y = errors[tuned is SUM]
        return y, np.zeros_like(y), np.full_like(y, sd), np.ones_like(y)

    monkeypatch.setattr(multiscale, "_law", law)
    looked = search(quadratic((0.3,)))
    return multiscale.select_multiscale(looked, looked, task_of(np.random.default_rng(0).uniform(size=(60, 2))))


@pytest.mark.parametrize(("gain", "several"), [(-0.01, False), (0.5, False), (1.5, True)])
def test_a_sum_must_gain_a_share_of_the_crps(monkeypatch, gain, several):
    """The share is `WORTH_CRPS`; errors of the sum are shrunk until its CRPS is less by `gain` times that."""
    wanted = (1 - gain * limits.WORTH_CRPS) * crps(QUANTILES, np.zeros(400), np.ones(400))
    share = optimize.brentq(lambda s: crps(s * QUANTILES, np.zeros(400), np.ones(400)) - wanted, 0.1, 2.0)
    tuned, told, _ = decide(monkeypatch, SUM, {False: QUANTILES, True: share * QUANTILES})
    assert isinstance(tuned.kernel, type(SUM.kernel)) == several
    assert told.value.startswith("a sum") == several and not told.given


def test_without_a_sum_there_is_one_field(monkeypatch):
    tuned, told, _ = decide(monkeypatch, None, {False: QUANTILES})
    assert tuned.kernel == SINGLE.kernel and tuned.noise_variance == SINGLE.noise_variance
    assert told.value == "one Matern field"


@pytest.mark.parametrize(("nats", "taken"), [(3.0, False), (30.0, True)])
def test_the_likelihood_decides_on_the_axis_where_near_rows_cannot(monkeypatch, nats, taken):
    axial = Tuned(Matern((0.3, 0.1)), 0.01, SINGLE.value + nats, 1, ())
    monkeypatch.setattr(multiscale, "axial_field", lambda *_: axial)
    tuned, told, _ = decide(monkeypatch, None, {False: QUANTILES})
    assert (tuned.kernel == axial.kernel) == taken == ("more likely by 30 nats" in str(told))


@pytest.mark.parametrize("too_wide", [0.8, 1.25])
def test_variances_are_calibrated_in_the_gaps(monkeypatch, too_wide):
    """Errors that are so many times the sd: all variances are multiplied by the square."""
    tuned, _, _ = decide(monkeypatch, None, {False: too_wide * QUANTILES})
    # of 400 rows the 95 % quantile lies between two, 3 % apart
    assert_allclose(tuned.kernel.variance, too_wide**2, rtol=0.03)
    assert_allclose(tuned.noise_variance, 0.01 * too_wide**2, rtol=0.03)


@pytest.mark.parametrize(("factor", "expected"), [(1.02, 1.0), (3.0, 2.0), (0.1, 0.5)])
def test_calibration_leaves_chance_alone_and_is_bounded(factor, expected):
    y = np.sqrt(factor) * QUANTILES
    assert multiscale.variance_factor(y, np.zeros(400), np.ones(400), np.ones(400)) == pytest.approx(expected)


def test_rows_without_weight_do_not_calibrate():
    y = np.r_[QUANTILES, np.full(400, 50.0)]
    weight = np.repeat([1.0, 0.0], 400)
    assert multiscale.variance_factor(y, np.zeros(800), np.ones(800), weight) == 1.0


def test_gaps_of_a_grid_are_its_empty_nodes():
    nodes = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    hole = (np.abs(nodes - 5) <= 1).all(axis=1)
    places = held_out_places._everywhere(nodes[~hole], np.random.default_rng(0))
    assert {tuple(place) for place in places} == {tuple(node) for node in nodes[hole]}


def test_folds_hold_out_every_kind_of_place():
    """Without wanted places a map of the whole box is meant; training and test rows never meet."""
    obs = task_of(np.random.default_rng(1).uniform(size=(300, 2))).obs
    folds = held_out_places.task_folds(obs, Domain(), 0)
    assert 1 <= len(folds) <= limits.N_GAP_FOLDS
    for train, test in folds:
        assert len(test) and not np.intersect1d(train, test).size


def test_heavy_tails_do_not_widen_all_intervals():
    """Of errors with heavy tails, intervals hold 94 %: what more of the tails would cost all other rows is not paid."""
    y = stats.t(2.5).ppf((np.arange(4_000) + 0.5) / 4_000)
    unit = np.ones(len(y))
    factor = multiscale.variance_factor(y, 0 * unit, 1.3 * unit, unit)
    held = np.mean(np.abs(y) < 1.96 * 1.3 * np.sqrt(factor))
    assert held == pytest.approx(0.94, abs=2e-3)
