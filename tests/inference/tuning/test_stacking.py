"""Mixtures of kernels: weights by what gaps tell, counted by gaps; alone where one is enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner import SpatialRegressor
from bochner.inference.fits.folds import HeldOut
from bochner.inference.tuning import limits
from bochner.inference.tuning.multiscale import ONE_FIELD, SUM_OF_THREE, _without_nested
from bochner.inference.tuning.single_field import stretch
from bochner.inference.tuning.stacking import Judged, gaps_of, likeness, stacking_weights
from bochner.inference.tuning.sums import bounded_fields
from bochner.kernels import Matern
from bochner.validation.gaps import mirrored_gaps, share_in_gaps
from tests.estimators.test_images import image

GRID = np.argwhere(np.ones((40, 40), dtype=bool)).astype(float)


def judged(errors, sds, n_gaps, n_each=40, seed=0):
    """Kernels whose errors are shared by the rows of a gap."""
    rng = np.random.default_rng(seed)
    gap = np.repeat(np.arange(n_gaps), n_each)
    shared = rng.standard_normal((len(errors), n_gaps))[:, gap]
    means = np.array(errors)[:, None] * shared
    sds = np.array(sds)[:, None] * np.ones(len(gap))
    return Judged(np.zeros(len(gap)), means, sds, np.ones(len(gap)), gap)


def test_pixels_of_one_gap_are_one_observation():
    few = judged([1.0, 1.2], [1.0, 1.2], 6, n_each=10)
    assert_allclose(few.n_gaps, 6)
    more = judged([1.0, 1.2], [1.0, 1.2], 6, n_each=500)
    assert_allclose(stacking_weights(more), stacking_weights(few), atol=1e-6)


def test_few_gaps_hedge_and_many_decide():
    """Twenty draws: many gaps take the better kernel alone every time, few often cannot tell and mix."""
    found = {n: [stacking_weights(judged([1.0, 1.2], [1.0, 1.2], n, 5, s)) for s in range(20)] for n in (5, 1_000)}
    assert np.mean([mass.max() < 1 for mass in found[5]]) > 0.25
    assert all(mass[0] == 1 for mass in found[1_000])


def test_kernels_that_say_the_same_are_one():
    one = judged([1.0], [1.0], 20)
    twice = Judged(one.y, np.repeat(one.means, 2, axis=0), np.repeat(one.sds, 2, axis=0), one.weight, one.gap)
    assert np.count_nonzero(stacking_weights(twice)) == 1


def test_a_sum_is_hedged_by_its_special_case_only_where_gaps_find_it_clearly_worse():
    """The single field errs by a sixth less: of twenty draws few gaps can seldom tell, many always."""
    names = [ONE_FIELD, SUM_OF_THREE, "one exponential field"]
    found = {n: [judged([1.0, 1.2, 1.3], [1.0, 1.2, 1.3], n, 5, s) for s in range(20)] for n in (6, 1_000)}
    stays = {n: [0 in _without_nested(each, np.arange(3), names) for each in draws] for n, draws in found.items()}
    assert np.mean(stays[6]) < 0.4 and all(stays[1_000])
    assert all(0 in _without_nested(each, np.array([0, 2]), names) for each in found[6])


def test_a_hedge_costs_no_more_than_the_gaps_can_tell():
    for seed in range(5):
        found = judged([1.0, 1.3, 1.1], [1.0, 1.2, 1.3], 12, seed=seed)
        scores = [found.crps(unit) for unit in np.eye(3)]
        lost, error = found.loss(stacking_weights(found), np.eye(3)[np.argmin(scores)])
        assert lost <= max(limits.HEDGE_COST * min(scores), limits.HEDGE_ERRORS * error)


def test_weights_sum_to_one_and_the_mixture_has_their_moments():
    found = judged([1.0, 1.1], [1.0, 1.1], 8)
    mass = stacking_weights(found)
    mean, sd = found.moments(mass)
    assert_allclose(mass.sum(), 1)
    assert_allclose(mean, mass @ found.means)
    assert np.all(sd >= np.sqrt(mass @ found.sds**2) - 1e-12)


def test_gaps_are_told_apart():
    blobs = [np.linalg.norm(GRID - centre, axis=1) < 4 for centre in ([8, 8], [30, 30], [8, 30])]
    index = np.flatnonzero(np.any(blobs, axis=0))
    held = HeldOut(index, np.zeros(len(index), dtype=int), np.zeros(len(index)), np.ones(len(index)))
    assert len(np.unique(gaps_of(GRID, held))) == 3


def test_mirrored_gaps_of_the_edge_stay_at_the_edge():
    gap = (GRID[:, 0] < 8) & (GRID[:, 1] < 20)
    wanted, rows = GRID[gap], GRID[~gap]
    masks = mirrored_gaps(wanted, rows)
    assert len(masks) == 3 and share_in_gaps(wanted, rows) > 0.5
    for mask in masks:
        assert np.min(np.minimum(rows[mask], 39 - rows[mask])[:, 0]) == 0
        assert 0.7 * gap.sum() < mask.sum() < 1.3 * gap.sum()


def test_rows_that_lie_as_wanted_places_do_count_more():
    """Wanted are places half surrounded, at the edge: held-out rows at an edge stand for them."""
    gap = GRID[:, 0] < 6
    rows = GRID[~gap]
    edge, middle = rows[:, 0] > 36, np.linalg.norm(rows - [22, 20], axis=1) < 3
    index = np.flatnonzero(edge | middle)
    folds = [(np.flatnonzero(~(edge | middle)), index)]
    held = HeldOut(index, np.zeros(len(index), dtype=int), np.zeros(len(index)), np.ones(len(index)))
    weight = likeness(rows, folds, held, GRID[gap])
    assert weight[edge[index]].mean() > 2 * weight[middle[index]].mean()


def test_rows_held_out_as_the_places_lie_count_once():
    """A gap and its mirror image: the held-out rows stand for the wanted places one by one."""
    gap, mirror = (np.linalg.norm(GRID - centre, axis=1) < 5 for centre in ([9, 20], [30, 20]))
    rows, held_out = GRID[~gap], mirror[~gap]
    index = np.flatnonzero(held_out)
    held = HeldOut(index, np.zeros(len(index), dtype=int), np.zeros(len(index)), np.ones(len(index)))
    weight = likeness(rows, [(np.flatnonzero(~held_out), index)], held, GRID[gap])
    assert_allclose(weight, 1)


def test_densities_are_those_of_normal_laws():
    found = judged([1.0, 0.3], [0.7, 2.0], 5)
    exact = stats.norm.logpdf(found.y, found.means, found.sds)
    assert_allclose(found.log_densities[0] - found.log_densities[1], exact[0] - exact[1])


@pytest.mark.parametrize(("apart", "wider"), [(0.9, 0.9), (1.1, 0.9), (0.9, 1.1)])
def test_kernels_are_alike_by_means_and_by_widths(apart, wider):
    """Both must agree: within a share of an sd, and within a share of its logarithm."""
    sds = np.array([2.0 * np.exp(wider * limits.ALIKE_SDS), 2.0])[:, None] * np.ones(6)
    means = np.array([2.0 * apart * limits.ALIKE_MEANS, 0.0])[:, None] * np.ones(6)
    found = Judged(np.zeros(6), means, sds, np.ones(6), np.arange(6))
    assert found.alike(0, 1) == (apart < 1 and wider < 1)


def test_a_field_of_a_sum_is_bounded_and_keeps_its_slopes():
    kernel = Matern(50.0, 1e5, nu=1.5) + Matern(1.0, 0.5, nu=0.5)
    bounded = bounded_fields(kernel, 1.0)
    assert max(leaf.variance for leaf in bounded.leaves()) == limits.MAX_FIELD_VARIANCE
    lag = np.array([[0.0, 0.0], [0.05, 0.0]])
    increments = [2 * (k.lag_covariance(lag)[0] - k.lag_covariance(lag)[1]) for k in (kernel, bounded)]
    # slopes have variance 3 v / l^2, so the bound on v costs them (v' / v)^(1/3); the roughness v / l^3 is kept
    assert increments[1] < increments[0]
    smooth = next(iter(bounded.leaves()))
    assert_allclose(smooth.variance / smooth.length_scale**3, 1e5 / 50.0**3)


def test_stretch_is_that_of_rotated_axes_alone():
    assert stretch(Matern((10.0, 1.0), rotation=0.3)) == 10
    assert stretch(Matern((10.0, 1.0))) == 1


@pytest.mark.slow
def test_a_mixture_of_kernels_answers_as_one_model(monkeypatch):
    """Whatever the gaps say, half and half: mean, sd, quantiles, scores and a file are those of the mixture."""
    from bochner.inference.tuning import multiscale

    monkeypatch.setattr(multiscale, "stacking_weights", lambda seen: np.eye(len(seen.means))[[0, -1]].mean(axis=0))
    _, seen, y = image((38, 38), Matern(8.0, nu=1.5), seed=5, missing=0.0)
    X, gaps = np.argwhere(seen).astype(float), np.argwhere(~seen).astype(float)
    model = SpatialRegressor().fit(X, y[seen])
    mixture = model.fitted_.model.mixture
    assert len(mixture.components) == 2 and mixture.mass.sum() == 1
    assert model.choices_["kernel"].value == "a mixture" and "independent gaps" in str(model.choices_["kernel"])
    mean, sd = model.predict(gaps, return_std=True)
    each = [
        replace(mixture, components=[c], mass=np.ones(1)).latent(model.predict_distribution(gaps).rows)
        for c in mixture.components
    ]
    level = model.fitted_.layout.trend.level
    assert_allclose(mean, np.mean([e.mean for e in each], axis=0) + level)
    spread = np.mean([e.variance + e.mean**2 for e in each], axis=0) - np.mean([e.mean for e in each], axis=0) ** 2
    assert_allclose(sd, np.sqrt(spread), rtol=1e-6)
    low, high = model.predict_interval(gaps).T
    assert np.all((low < mean) & (mean < high))
