"""A climb that began without a dispersion ends where it has come back to the first one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.inference.tuning.informed_climb import Rival, scored
from bochner.inference.tuning.search import Search
from bochner.kernels import Matern, Scale

PEAK = np.array([0.3, -0.8])
CURVED = np.diag([40.0, 60.0])


def hill(x):
    away = x - PEAK
    return -0.5 * away @ CURVED @ away, -CURVED @ away


def climbed(rival):
    met = []

    def told(x):
        met.append(x.copy())
        return hill(x)

    box = np.array([[-5.0, 5.0], [-5.0, 5.0]])
    end, value, _ = scored(told, np.array([1.0, -4.0]), 4 * CURVED, box, 50, 1e-9, rival)
    return end, value, len(met)


def test_it_ends_where_the_dispersion_is_nearly_what_it_was():
    away = Rival(1.0, peak=np.array([3.0, -0.8]), elsewhere=True)
    end, _, whole = climbed(away)
    assert np.allclose(end, PEAK, atol=1e-3)
    end, value, n = climbed(replace(away, back=-1.0))
    assert n < whole and end[1] > -1.0 and value > 1.0 - 10.0


@pytest.mark.parametrize("value", [-1_000.0, 50.0])
def test_it_goes_on_where_it_is_the_better_one_or_far_below(value):
    """Better than its rival already, or so far below it that it is another slope."""
    end, _, _ = climbed(Rival(value, back=-4.5))
    assert np.allclose(end, PEAK, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_a_climb_that_goes_on_without_a_dispersion_is_not_cut_short(monkeypatch, seed):
    """Its last hyperparameter is then another one, of which `back` says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(80, 2))
    field = np.linalg.cholesky(Matern(0.03, 1.0, nu=0.5)(X, X) + 1e-8 * np.eye(80)) @ rng.normal(size=80)
    y = rng.poisson(np.exp(1.5 + field)).astype(float)
    ended = []
    whole = Rival.won

    def won(self, x, value, gain, curvature):
        if np.isfinite(self.back):
            ended.append(len(x))
        return whole(self, x, value, gain, curvature)

    monkeypatch.setattr(Rival, "won", won)
    SpatialRegressor(family="negative-binomial", n_jobs=1).fit(X, y)
    assert set(ended) <= {3}  # range, variance, dispersion


class Lowland:
    """An objective far below its rival, with next to no dispersion and little to gain; it counts who asks on."""

    def __init__(self):
        self.at, self.asked = np.array([-4.0]), 0

    def __call__(self, kernel, noise_variance):
        self.asked += 1
        return -100.0, np.zeros(3)

    def value(self, kernel, noise_variance):
        return -100.0

    ranked = value

    def information(self, kernel, noise_variance):
        return np.eye(3)

    def hidden(self, kernel, noise_variance):
        return self.at if self.at[0] > -4.5 else np.zeros(0)

    def hidden_bounds(self):
        return np.array([[-4.6, 5.0]])

    def joint(self, kernel, noise_variance, hidden):
        return -100.0 - 0.1 * hidden[0], np.array([0.0, 0.0, 0.0, -0.1])

    def joint_information(self, kernel, noise_variance, hidden):
        return np.eye(4)

    def follows(self, kernel, slope, curvature):
        raise AssertionError("a climb that is over")

    def arrived(self, kernel, noise_variance, hidden):
        self.at = hidden - 1.0


@pytest.mark.parametrize(("value", "begins_again"), [(0.0, False), (-200.0, True)])
def test_a_climb_that_gave_up_without_a_dispersion_does_not_begin_again(value, begins_again):
    """What is out of reach with next to no dispersion is so without one; else there is a climb to be ended."""
    low = Lowland()
    looked = Search(low, Scale(np.ones(2), 0.02, 1.0), 0.1)
    rival = Rival(value, dear=True, elsewhere=True, back=10.0)
    found = looked.maximise(Matern(0.2, nu=0.5), 0.1, against=rival)
    assert (low.asked > 0) == begins_again
    assert found.value == pytest.approx(-100.0, abs=1.0)
