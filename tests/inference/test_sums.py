"""Sums of scales: what is whitened and coloured again, and that the sum is found where it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import sums
from bochner.inference.tuning.further_fields import gain_of_fields
from bochner.inference.tuning.search import Search, Tuned
from bochner.inference.tuning.sums import _coloured, _whitened, fit_sum
from bochner.kernels import Matern
from bochner.neighbours import Vecchia


def rows_of(coords, y=None):
    n = len(coords)
    y = np.zeros(n) if y is None else y
    return Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


@pytest.mark.parametrize(
    ("dim", "kernel"),
    [
        (1, Matern(0.3)),
        (2, Matern(0.3)),
        (2, Matern((0.5, 0.1), rotation=0.7)),
        (3, Matern((0.5, 0.1, 0.2), rotation=(0.1, 0.5, -0.3))),
        (3, Matern((0.5, 0.1, 0.2))),
    ],
)
def test_whitened_rows_and_coloured_fields_belong_together(dim, kernel):
    coords = np.random.default_rng(0).uniform(size=(30, dim))
    white = _whitened(rows_of(coords), kernel).rows.coords
    assert_allclose(kernel.replace(length_scale=1.0, rotation=None)(white), kernel(coords), atol=1e-12)
    fields = Matern(7.0, 2.0) + Matern(0.3, 0.5) + Matern(1.5, 1.0, nu=0.5)
    coloured = _coloured(fields, kernel)
    assert_allclose(coloured(coords), fields(white), atol=1e-12)
    assert [leaf.nu for leaf in coloured.leaves()] == [1.5, 0.5, 1.5]  # short to long


def simulated(kernel, n=1500):
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(n, 2))
    y = np.linalg.cholesky(kernel(coords) + 1e-4 * np.eye(n)) @ rng.standard_normal(n)
    train = np.arange(n) % 5 > 0
    return rows_of(coords, y), [(np.flatnonzero(train), np.flatnonzero(~train))]


def test_a_sum_is_found_where_it_is():
    obs, folds = simulated(Matern(0.03, 1.0) + Matern(1.0, 4.0))
    single = Tuned(Matern(0.1, 2.0, nu=0.8), 1e-4, 0.0, 1, ())
    found, gained = fit_sum(single, None, obs, folds, 0)
    assert found is not None and gained > 4
    short, _, _ = found.kernel.leaves()
    assert 0.015 < short.length_scale < 0.06


def test_no_sum_where_there_is_none():
    obs, folds = simulated(Matern(0.2, 1.0, nu=0.5))
    assert fit_sum(Tuned(Matern(0.2, 1.0, nu=0.5, learn_nu=True), 1e-4, 0.0, 1, ()), None, obs, folds, 0)[0] is None


def search_of(obs, n_neighbours=12):
    return Search(VecchiaEvidence(Vecchia.plan(*obs.columns, n_neighbours=n_neighbours), True), scale_of(obs), None)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_slopes_in_no_variance_foretell_what_little_of_it_gains(dim):
    """A little variance gains what its slope says, at a kernel that is no peak of the others, too."""
    rng = np.random.default_rng(2)
    coords = rng.uniform(size=(600, dim))
    truth = Matern(0.3, 1.0, nu=1.5)
    y = np.linalg.cholesky(truth(coords) + 0.1 * np.eye(600)) @ rng.standard_normal(600)
    plan = Vecchia.plan(*rows_of(coords, y).columns, n_neighbours=10)
    beside = truth + Matern(0.05, 1e-4)
    slope = plan.slopes(beside, 0.1).sum(axis=1)[[h.name for h in beside.hyperparameters].index("k2__variance")]
    step = (plan.value(truth + Matern(0.05, 2e-4), 0.1, False) - plan.value(truth, 0.1, False)) / 2e-4 * 1e-4
    # the effect of the trend is taken as it is
    assert_allclose(slope, step, rtol=0.02, atol=2e-4)


def test_what_slopes_foretell_is_about_what_a_climb_gains():
    obs, _ = simulated(Matern(0.05, 0.3) + Matern(0.6, 1.0))
    search = search_of(obs)
    peak = search.maximise(Matern(0.2, 1.0, nu=0.8, learn_nu=True), 1e-3)
    fields = [Matern(0.05, nu=1.5), Matern(0.6, nu=1.5)]
    several = search.maximise(Matern(0.05, 0.3) + Matern(0.6, 1.0), peak.noise_variance)
    assert several.value - peak.value > 4
    assert gain_of_fields(peak, fields, search) > 1

    obs, _ = simulated(Matern(0.2, 1.0, nu=0.5))
    search = search_of(obs)
    peak = search.maximise(Matern(0.2, 1.0, nu=0.5, learn_nu=True), 1e-3)
    assert -1e-9 <= gain_of_fields(peak, fields, search) < 1


def test_a_sum_of_which_slopes_foretell_nothing_is_not_climbed(monkeypatch):
    obs, folds = simulated(Matern(0.2, 1.0, nu=0.5))
    single = Tuned(Matern(0.2, 1.0, nu=0.5, learn_nu=True), 1e-4, 0.0, 1, ())
    beside = search_of(obs)
    monkeypatch.setattr(sums, "_likelihood", lambda *_: pytest.fail("another likelihood was made"))
    found, foreseen = fit_sum(single, None, obs, folds, 0, beside=beside)
    assert found is None and foreseen < 1


@pytest.mark.slow
def test_a_rough_and_long_single_field_may_be_a_short_and_a_long_smooth_one():
    rng = np.random.default_rng(5)
    coords = rng.uniform(size=(3000, 2))
    truth = Matern(0.025, 0.05, nu=2.5) + Matern(0.6, 1.0, nu=2.5)
    y = np.linalg.cholesky(truth(coords) + 0.015 * np.eye(3000)) @ rng.standard_normal(3000)
    obs, train = rows_of(coords, y), np.arange(3000) % 5 > 0
    folds, beside = [(np.flatnonzero(train), np.flatnonzero(~train))], search_of(rows_of(coords, y))
    single = beside.maximise(Matern(0.5, 1.0, nu=0.5, learn_nu=True), 0.01)
    assert single.kernel.length_scale > 0.5  # so that starts of a climb are longer than what is short
    found, gained = fit_sum(single, None, obs, folds, 0, beside=beside)
    assert found is not None and gained > 4
