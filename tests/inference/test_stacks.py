"""Stacks of images by conjugate gradients: iterations stay few as they grow, and stop where nothing more is told."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import fft

from bochner.features import Rows, covariance_operator
from bochner.features.operators.grid import cropped_irfftn, padded_rfftn
from bochner.inference import Observations
from bochner.inference.fits import iterative, iterative_system
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.folds import held_out_by_each, held_out_locally
from bochner.inference.fits.iterative import IterativeEngine
from bochner.inference.fits.iterative_system import solve_system
from bochner.kernels import Matern
from bochner.solvers import limits as solver_limits

NOISE = 0.05


def stack(shape, seed=0):
    """A field of three dimensions with a quarter of its pixels missing: blocks, and single ones."""
    rng = np.random.default_rng(seed)
    kernel = Matern((0.15 * shape[0], 0.1 * shape[1], 0.1 * shape[1]), nu=0.5)
    nodes = np.argwhere(np.ones(shape)).astype(float)
    waves = rng.standard_normal((40, 3)) / np.array(kernel.length_scale)
    field = np.cos(nodes @ waves.T + rng.uniform(0, 2 * np.pi, 40)) @ rng.standard_normal(40) / np.sqrt(20)
    seen = rng.uniform(size=len(nodes)) > 0.06
    seen &= ~np.all(np.abs(nodes[:, 1:] / np.array(shape[1:]) - 0.5) < 0.22, axis=1)
    y = field[seen] + np.sqrt(NOISE) * rng.standard_normal(int(seen.sum()))
    n = len(y)
    return kernel, Observations(Rows(nodes[seen], np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


def test_iterations_stay_few_as_a_stack_grows(monkeypatch):
    """Eight times the pixels, finer by two along each axis."""
    monkeypatch.setattr(iterative_system, "MANY_CG_ROWS", 100)
    steps = []
    for shape in ((6, 16, 20), (12, 32, 40)):
        kernel, obs = stack(shape)
        steps.append(solve_system(kernel, obs, NOISE).report.details["iterations"])
    assert max(steps) <= 15  # 23, to a residual of 1e-8


@pytest.mark.slow
def test_very_many_rows_settle_to_a_part_of_what_is_unknown(monkeypatch):
    shape = (8, 32, 40)
    kernel, obs = stack(shape)
    engine = IterativeEngine(kernel, NOISE)
    bounded = engine.fit(obs)
    monkeypatch.setattr(solver_limits, "FAST_FALL", 0.0)
    exact = engine.fit(obs)
    for module in (iterative, iterative_system):
        monkeypatch.setattr(module, "MANY_CG_ROWS", 100)
    early = engine.fit(obs)
    places = Rows(np.argwhere(np.ones(shape)).astype(float), np.ones((np.prod(shape), 1)))
    off = early.posterior.mean(places) - exact.posterior.mean(places)
    assert early.posterior.report.details["iterations"] < exact.posterior.report.details["iterations"]
    # the rule watches a change, the error left may be some times larger
    assert np.sqrt(np.mean(off**2)) < 0.02 * np.sqrt(exact.posterior.variance(places)).min()
    assert "predictions settled to" in str(early.solver) and "settled" not in str(exact.solver)
    # few or many: an error that is bounded is so everywhere
    off = bounded.posterior.mean(places) - exact.posterior.mean(places)
    assert np.max(np.abs(off) / np.sqrt(exact.posterior.variance(places))) < iterative_system.CG_UNKNOWN
    assert bounded.posterior.report.details["iterations"] < exact.posterior.report.details["iterations"]


@pytest.mark.parametrize("shape", [(7,), (6, 5), (4, 3, 5)])
def test_transforms_without_the_zeros_are_the_transforms(shape):
    field = np.random.default_rng(0).standard_normal(shape)
    counts = [fft.next_fast_len(2 * n, real=True) for n in shape]
    waves = padded_rfftn(field, counts, 1)
    assert_allclose(waves, fft.rfftn(field, s=counts), atol=1e-12)
    assert_allclose(cropped_irfftn(waves, counts, shape, 1), field, atol=1e-12)


def test_rows_of_a_stack_may_come_in_any_order():
    kernel, obs = stack((4, 8, 10))
    v = np.random.default_rng(1).standard_normal(len(obs))
    order = np.random.default_rng(2).permutation(len(obs))
    coords = obs.rows.coords
    box = (coords.min(axis=0), coords.max(axis=0))
    plain = covariance_operator(kernel, coords, box).apply(v)
    assert_allclose(covariance_operator(kernel, coords[order], box).apply(v[order]), plain[order], atol=1e-9)
    assert_allclose(plain, kernel(coords) @ v, atol=1e-9)


def test_kernels_that_share_their_neighbours_say_what_they_say_alone():
    kernel, obs = stack((4, 12, 12))
    test = np.arange(0, len(obs), 9)
    folds = [(np.setdiff1d(np.arange(len(obs)), test), test)]
    pairs = [(kernel, NOISE), (kernel.replace(nu=1.5), 0.1), (Matern(5.0), 0.1)]
    for held, (k, noise) in zip(held_out_by_each(pairs, obs, folds), pairs, strict=True):
        alone = held_out_locally(k, obs, noise, folds)
        assert_allclose(held.mean, alone.mean, atol=0.02 * obs.y.std())
        assert_allclose(held.variance, alone.variance, rtol=0.05)


def test_rows_far_more_exact_than_most_are_met_as_exactly():
    """Errors are bounded by the least sd of all rows: where most are noisy, the exact ones are met all the same."""
    rng = np.random.default_rng(4)
    n = 1200
    coords, exact = rng.uniform(size=(n, 2)), rng.uniform(size=n) < 0.45
    error = np.where(exact, 1e-8, 0.1)
    y = np.sin(9 * coords[:, 0]) + 0.5 * rng.normal(size=n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), error, np.zeros(n))
    kernel = Matern(0.02, nu=0.5)
    found = IterativeEngine(kernel, 1e-12).fit(obs)
    rows = Rows(coords[exact], np.ones((exact.sum(), 1)))
    off = found.posterior.mean(rows) - ExactEngine(kernel, 1e-12).fit(obs).posterior.mean(rows)
    assert np.max(np.abs(off)) < 0.05 * np.sqrt(1e-8)
