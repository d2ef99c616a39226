"""The judge: weights and a factor on the variances, from rows that were held out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.fits.folds import HeldOut
from bochner.inference.learning.judge import HeldOutScores, gaps_of, likeness, variance_factor
from bochner.inference.learning.policy import POLICY

RNG = np.random.default_rng


def scores(off: tuple[float, ...], n: int = 600, per_gap: int = 1) -> HeldOutScores:
    """Candidates that miss by so many sds, beside noise of one sd."""
    y = RNG(0).standard_normal(n)
    means = np.array([np.full(n, each) for each in off])
    return HeldOutScores(y, means, np.ones(means.shape), np.ones(n), np.arange(n) // per_gap)


def test_the_better_candidate_weighs_more():
    mass = scores((0.0, 1.0, 1.5)).stacked()
    assert_allclose(mass.sum(), 1)
    assert mass[0] > 0.8 and np.count_nonzero(mass) <= 2
    alike = scores((0.3, -0.3)).stacked()
    assert 0.3 < alike[0] < 0.7
    assert_allclose(scores((1.0, 0.0)).stacked()[::-1], scores((0.0, 1.0)).stacked())


def test_few_gaps_leave_weights_as_they_were():
    """Pixels of one gap are nearly one observation: weights are far from even only where gaps are many."""
    few, many = (scores((0.0, 1.0), per_gap=k).stacked()[0] for k in (300, 1))
    assert scores((0.0, 1.0), per_gap=300).n_gaps == 2
    assert 0.5 < few < 0.8 < many


@pytest.mark.parametrize("sd", [0.5, 0.8, 1.0, 1.3, 3.0])
def test_the_factor_makes_up_for_a_wrong_variance(sd):
    """Normal errors of variance one, of which another variance was told."""
    y, one = RNG(1).standard_normal(4_000), np.ones(4_000)
    factor = variance_factor(y, 0 * y, sd * one, one)
    low, high = POLICY.calibration
    assert low <= factor <= high
    if 0.8 <= sd <= 1.15:
        assert factor == 1.0 or abs(factor * sd**2 - 1) < 0.1
    else:
        assert factor == low if sd > 1 else factor == high or abs(factor * sd**2 - 1) < 0.1


def test_heavy_tails_are_not_paid_for_by_all_rows():
    y, one = RNG(2).standard_t(3, 4_000), np.ones(4_000)
    for sd in (0.8, 1.0, 1.5):
        factor = variance_factor(y, 0 * y, sd * one, one)
        held = np.mean(np.abs(y) < 1.96 * sd * np.sqrt(factor))
        assert 0.92 < held < 0.97 or factor in POLICY.calibration


def test_weights_of_rows_count():
    y, half = RNG(1).standard_normal(2_000), np.arange(2_000) < 1_000
    y[half] *= 0.1
    factor = variance_factor(y, 0 * y, np.ones(2_000), np.where(half, 0.0, 1.0))
    assert factor == 1.0
    assert variance_factor(y, 0 * y, np.ones(2_000), np.where(half, 1.0, 0.0)) == POLICY.calibration[0]


def test_rows_near_each_other_are_one_gap():
    rng = RNG(0)
    coords = np.concatenate([rng.uniform(0, 1, (30, 2)), rng.uniform(9, 10, (30, 2))])
    held = HeldOut(np.arange(60), np.zeros(60, dtype=int), np.zeros(60), np.ones(60))
    gaps = gaps_of(coords, held)
    assert len(np.unique(gaps)) == 2 and len(np.unique(gaps[:30])) == 1
    folds = HeldOut(np.arange(60), np.arange(60) % 2, np.zeros(60), np.ones(60))
    assert not set(gaps_of(coords, folds)[::2]) & set(gaps_of(coords, folds)[1::2])


def test_held_out_rows_that_lie_as_wanted_places_do_count():
    """Wanted places lie in the open: held-out rows in the thick of the others count less than those at their edge."""
    rng = RNG(0)
    rows, far = rng.uniform(size=(300, 2)), rng.uniform(2.0, 2.5, (40, 2))
    coords = np.concatenate([rows, far])
    index = np.r_[0:40, 300:340]
    held = HeldOut(index, np.zeros(80, dtype=int), np.zeros(80), np.ones(80))
    folds = [(np.arange(40, 300), index)]
    weight = likeness(coords, folds, held, rng.uniform(3.0, 4.0, (200, 2)))
    assert weight[40:].mean() > 2 * weight[:40].mean()
