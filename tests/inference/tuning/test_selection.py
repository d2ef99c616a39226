"""Selection of a kernel: smoothness by the objective, a length scale per axis only where it pays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference.tuning.search import tune
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern
from tests.inference.tuning.objectives import NOISE, quadratic, search

GAINS = {0.5: 0.0, 1.5: 3.0, 2.5: 1.0}


@pytest.mark.parametrize(("toll", "smoothness"), [(0.0, 1.5), (2.9, 1.5), (3.1, 0.5)])
def test_the_best_smoothness_is_taken_where_it_pays_its_toll(toll, smoothness):
    objective = quadratic((0.2, 0.2), lambda kernel: GAINS[kernel.nu])
    selected = select_kernel(search(objective), n_rows=100, dim=2, toll=toll)
    tuned, told = selected.tuned, selected.choice
    assert told.value == f"matern {smoothness:g}" and told.name == "kernel"
    assert tuned.value == pytest.approx(GAINS[smoothness], abs=1e-6)
    assert_allclose([tuned.kernel.length_scale, tuned.noise_variance], [0.2, NOISE], rtol=1e-3)


@pytest.mark.parametrize("n_rows", [20, 100, 10_000])
@pytest.mark.parametrize("excess", [-0.05, 0.05])
def test_a_length_scale_per_axis_must_gain_schwarz_price(n_rows, excess):
    """One length scale for targets log a and log b loses (log a - log b)^2 / 2: made just less, or more, than that."""
    apart = np.sqrt(2 * (0.5 * np.log(n_rows) + excess))
    lengths = 0.3 * np.exp([apart / 2, -apart / 2])
    selected = select_kernel(search(quadratic(lengths)), n_rows, dim=2)
    tuned, told = selected.tuned, selected.choice
    assert told.value.endswith("per axis") == (excess > 0)
    if excess > 0:
        assert_allclose(tuned.kernel.length_scale, lengths, rtol=1e-3)
    else:
        assert_allclose(tuned.kernel.length_scale, 0.3, rtol=1e-3)


@pytest.mark.parametrize("toll", [0.0, 3.0])
def test_smoothness_is_asked_again_where_each_axis_has_its_own_length(toll):
    """One length for all axes may favour another smoothness than lengths of their own do."""

    def gain(kernel):
        apart = isinstance(kernel.length_scale, tuple)
        return {0.5: 20.0, 1.5: 12.0, 2.5: 10.0}[kernel.nu] if apart else {0.5: 0.0, 1.5: 3.0, 2.5: 5.0}[kernel.nu]

    selected = select_kernel(search(quadratic((0.9, 0.1), gain)), n_rows=100, dim=2, toll=toll)
    assert selected.choice.value == "matern 0.5 per axis" and selected.tuned.kernel.nu == 0.5
    assert selected.tuned.value == pytest.approx(20.0, abs=1e-6)
    assert selected.per_axis.kernel == selected.tuned.kernel
    assert "nu = 2.5: best of" in str(selected.choice) and "then nu = 0.5 is best (20.0)" in str(selected.choice)


def test_noise_that_is_given_is_kept():
    tuned = select_kernel(search(quadratic((0.2, 0.2)), noise_variance=0.5), n_rows=100, dim=2).tuned
    assert tuned.noise_variance == 0.5 and "noise_variance" not in tuned.at_bounds


def test_a_hyperparameter_at_its_bound_is_named():
    """No length scale beyond ten extents."""
    tuned = tune(search(quadratic((1e4, 1e4))), Matern())
    assert tuned.at_bounds == ("length_scale",)
    assert_allclose(tuned.kernel.length_scale, 10.0, rtol=1e-2)


def test_the_higher_of_two_peaks_is_climbed():
    """Peaks at short and at long range: starts are ranked, so that the near one does not catch the search."""

    def two_peaks(kernel, noise_variance):
        theta, noise = kernel.theta, np.log(noise_variance / NOISE)
        centres, heights = np.log([0.05, 0.6]), np.array([2.0, 3.0])
        bumps = heights * np.exp(-0.5 * ((theta[0] - centres) / 0.5) ** 2)
        slope = bumps @ (-(theta[0] - centres) / 0.25)
        return bumps.sum() - theta[1] ** 2 - noise**2, np.array([slope, -2 * theta[1], -2 * noise])

    tuned = tune(search(two_peaks), Matern())
    assert_allclose(tuned.kernel.length_scale, 0.6, rtol=0.02)


def test_what_cannot_be_factored_is_avoided():
    """A region in which the objective fails is bad, not fatal."""

    def failing(kernel, noise_variance):
        if kernel.theta[0] > np.log(0.3):
            raise np.linalg.LinAlgError
        return quadratic((0.2, 0.2))(kernel, noise_variance)

    tuned = tune(search(failing), Matern())
    assert 0.1 < tuned.kernel.length_scale < 0.3 and tuned.value > -5


def test_rounding_leads_no_climb_astray():
    """The evidence of many rows is known to some ten digits: steps that gain less end the climb, not line searches."""
    target = np.log([0.2, 3.0, 1e-2])

    def rounded(kernel, noise_variance):
        off = np.r_[kernel.theta, np.log(noise_variance)] - target
        pull = 300 * np.array([3.0, 1.0, 0.2])
        noise = 3e-9 * np.sin(1e9 * off.sum())
        return -1e4 - pull @ np.logaddexp(off, -off) + noise, -pull * np.tanh(off)

    tuned = search(rounded).maximise(Matern(length_scale=0.05), 0.3)
    assert_allclose(np.r_[tuned.kernel.theta, np.log(tuned.noise_variance)], target, atol=1e-4)
    assert tuned.n_evaluations <= 20
