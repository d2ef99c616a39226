"""The search: it ends where no slope is left, says how each climb ended, and knows what it has seen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from bochner import SpatialRegressor
from bochner.inference.learning.forms import blocks_of, common_of, forms_of
from bochner.inference.learning.ladder import rungs
from bochner.inference.learning.learn import searched
from bochner.inference.learning.learned import known_noise
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Found, Posterior, climb, search
from bochner.inference.observed.task import Task
from bochner.kernels import Matern
from tests.inference.learning.evidences import slopes, task_of


def posteriors(task: Task) -> list[Posterior]:
    """Of every form of the table."""
    rung = rungs(task, None, blocks_of(task))
    return [Posterior(form, rung.evidence) for form in forms_of(task, common_of(task, rung, known_noise(task)[0]))]


@pytest.mark.parametrize(("family", "covariates"), [("gaussian", 0), ("gaussian", 3), ("poisson", 0), ("binomial", 0)])
def test_slopes_of_the_log_posterior(family, covariates):
    begun = {}
    for posterior in posteriors(task_of(family, 30, covariates=covariates)):
        x = posterior.form.points(begun)[0]
        begun[posterior.form.name] = [posterior.form.at(x)]
        here = posterior.at(x)
        assert_allclose(here.gradient, slopes(posterior.value, x, 1e-3), atol=1e-3)
        assert_allclose(here.value, posterior.value(x), atol=1e-6)
        assert np.linalg.eigvalsh(here.information)[0] > 0


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_search_ends_where_no_slope_is_left(family):
    posterior = posteriors(task_of(family, 60))[0]
    modes = search(posterior, {})
    assert modes[0].status == "climbed"
    assert modes[0].value == max(mode.value for mode in modes)
    gain = 0.5 * modes[0].gradient @ np.linalg.solve(modes[0].information, modes[0].gradient)
    assert gain < 2 * POLICY.climbed
    best = optimize.minimize(lambda x: -posterior.value(x), modes[0].x, method="Nelder-Mead", options={"maxiter": 300})
    assert -best.fun < modes[0].value + 5 * POLICY.climbed


def test_climbs_say_how_they_ended():
    """At a mode of their own, or at one that is known."""
    posterior = posteriors(task_of("gaussian", 60))[0]
    start = posterior.form.points({})[0]
    mode = climb(posterior, start)
    assert mode.status == "climbed"
    assert climb(posterior, start, [mode]).status == "known"


def test_likelier_forms_come_first_and_hopeless_ones_are_left_out():
    task = task_of("gaussian", 60)
    found = searched(task, rungs(task, None, blocks_of(task)), None)
    logs = [one.log_evidence for one in found]
    assert logs == sorted(logs, reverse=True) and logs[-1] > logs[0] - 2 * POLICY.ruled_out
    assert all(isinstance(one, Found) and one.modes for one in found)
    assert not found[0].at_bounds


def test_a_common_factor_is_put_back():
    """Hyperparameters of a mode have the size of the responses, and scale with them."""
    task = task_of("gaussian", 60)
    theta = searched(task, rungs(task, None, blocks_of(task)), None)[0].theta
    total = float(np.mean(theta.kernel.diag(task.obs.rows.coords))) + theta.noise
    assert 0.3 * task.scale.variance < total < 10 * task.scale.variance


def test_the_likelihood_of_a_given_kernel_is_maximised():
    """Against a plain search of a dense likelihood, the trend at its best."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + 0.3 * rng.standard_normal(60)

    def loss(point):
        sigma = Matern(float(np.exp(point[0])), float(np.exp(point[1])))(X) + np.exp(point[2]) * np.eye(60)
        weight = np.linalg.solve(sigma, np.ones(60))
        return -stats.multivariate_normal(np.full(60, weight @ y / weight.sum()), sigma).logpdf(y)

    best = min(optimize.minimize(loss, [np.log(r), 0.0, -2.0], method="Nelder-Mead").fun for r in (0.1, 0.5, 1.5))
    model = SpatialRegressor(Matern(), tune="likelihood").fit(X, y)
    assert_allclose(model.log_likelihood_, -best, atol=2e-3)
    assert_allclose(model.log_likelihood_, -loss([*model.kernel_.theta, np.log(model.noise_variance_)]), atol=1e-6)
