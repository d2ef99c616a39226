"""Every form of the table: points and hyperparameters are one another's inverse, with slopes, priors and odds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference import Domain
from bochner.inference.learning.form import Form
from bochner.inference.learning.forms import blocks_of, common_of, forms_of
from bochner.inference.learning.ladder import rungs
from bochner.inference.learning.learned import known_noise
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.task import Task, scale_of
from bochner.kernels import Matern, Periodic, Separable, SquaredExponential
from tests.inference.learning.evidences import point_of, slopes, task_of

SPHERE, TIME = Domain(shared=(0, 0, 0)), Domain(last_is_time=True)
TASKS = {
    "line": lambda: task_of("gaussian", dim=1),
    "plane": lambda: task_of("gaussian"),
    "space": lambda: task_of("gaussian", dim=3),
    "sphere": lambda: task_of("gaussian", dim=3, domain=SPHERE),
    "space and time": lambda: task_of("gaussian", dim=3, domain=TIME),
    "columns": lambda: task_of("gaussian", dim=5),
    "covariates": lambda: task_of("gaussian", covariates=3),
    "noise that is known": lambda: task_of("gaussian", noise_variance=0.1),
    "counts": lambda: task_of("poisson", covariates=2),
    "counts of space and time": lambda: task_of("binomial", dim=2, domain=TIME),
    "scattered counts": lambda: task_of("negative-binomial"),
    "likelihood": lambda: task_of("gaussian", criterion="likelihood"),
    "likelihood of counts": lambda: task_of("negative-binomial", criterion="likelihood"),
    "a kernel": lambda: task_of("gaussian", kernel=Matern((1.0, 2.0), nu=1.2, learn_nu=True)),
    "a sum": lambda: task_of("poisson", kernel=Matern(0.2) + SquaredExponential((1.0, 2.0))),
    "a product": lambda: task_of("gaussian", dim=3, kernel=Separable(Matern(), Periodic()), domain=TIME),
    "a kernel on the sphere": lambda: task_of("gaussian", dim=3, kernel=Matern((1.0, 1.0, 1.0)), domain=SPHERE),
}
every_task = pytest.mark.parametrize("task_in", TASKS.values(), ids=TASKS.keys())


def table(task: Task) -> list[tuple[Form, np.ndarray]]:
    """Forms, each with a point near one that a search begins from."""
    rng, begun, found = np.random.default_rng(0), {}, []
    for form in forms_of(task, common_of(task, rungs(task, None, blocks_of(task)), known_noise(task)[0])):
        starts = form.points(begun)
        begun[form.name] = [form.at(x) for x in starts[:2]]
        low, high = form.bounds.T
        assert all(np.all((low <= x) & (x <= high)) for x in starts)
        x = starts[-1] + 0.1 * rng.standard_normal(len(form.names))
        found.append((form, np.clip(x, low + 1e-2, high - 1e-2)))
    return found


@every_task
def test_points_are_found_again_from_what_they_mean(task_in):
    for form, x in table(task_in()):
        theta = form.at(x)
        assert_allclose(form.point(theta.kernel, theta.noise, theta), x, atol=1e-7)
        if form.common.free:
            assert_allclose(np.exp(theta.kernel.theta[form.variances]).sum() + theta.noise, form.common.sd**2)


@every_task
def test_slopes_of_what_a_point_means(task_in):
    for form, x in table(task_in()):
        found = form.slopes(x)
        assert_allclose(found, slopes(lambda at: point_of(form.at(at)), x).T, atol=1e-6)  # noqa: B023


@every_task
def test_slopes_of_the_prior_and_its_bend(task_in):
    for form, x in table(task_in()):
        _, slope = form.log_prior(x)
        assert_allclose(slope, slopes(lambda at: form.log_prior(at)[0], x), rtol=1e-5, atol=1e-5)  # noqa: B023
        assert np.linalg.eigvalsh(form.prior_bend(x))[0] > -1e-9
        assert form.common.proper == (form.log_prior(x)[0] != 0)


def test_forms_and_their_prior_odds():
    """A further field must be worth something."""
    odds = {name: {form.name: form.log_odds for form, _ in table(TASKS[name]())} for name in TASKS}
    more = POLICY.addition
    assert odds["line"] == {"matern": 0.0, "near-far": more}
    assert odds["plane"] == odds["space"] == odds["counts"] == {"matern": 0.0, "matern-metric": 0.0, "near-far": more}
    assert odds["sphere"] == {"matern": 0.0, "matern-metric": 0.0, "near-far": more}
    times = {"matern": 0.0, "product": 0.0, "additive": more, "product-lasting": more, "product-additive": 2 * more}
    assert odds["space and time"] == times
    assert odds["columns"] == odds["likelihood"] == {"matern": 0.0}
    assert odds["a kernel"] == odds["a product"] == {"given": 0.0}


def test_length_scales_on_the_sphere_move_together():
    for form, x in table(TASKS["sphere"]()) + table(TASKS["a kernel on the sphere"]()):
        lengths = np.atleast_1d(next(iter(form.at(x).kernel.leaves())).length_scale)
        assert form.name not in ("matern", "given") or np.ptp(lengths) < 1e-12


@pytest.mark.parametrize("kernel", [Matern(0.6), Matern((0.6, 0.9)), Matern(0.3) + SquaredExponential(0.9)], ids=str)
def test_the_prior_of_a_given_kernel_does_not_depend_on_units(kernel):
    """Metres or kilometres, and any unit of the response, up to that of the density of a logarithm."""
    task = task_of("gaussian", kernel=kernel)
    obs = replace(task.obs, rows=replace(task.obs.rows, coords=1e3 * task.obs.rows.coords), y=10 * task.obs.y)
    other = replace(task, data=obs, obs=obs, scale=scale_of(obs))
    (plain, x), (scaled, _) = table(task)[0], table(other)[0]
    theta = plain.at(x)
    moved = theta.kernel.theta + [
        {"length_scale": np.log(1e3)}.get(h.role.name, np.log(1e2)) for h in kernel.hyperparameters
    ]
    there = scaled.point(kernel.with_theta(moved), 1e2 * theta.noise)
    assert_allclose(scaled.log_prior(there)[0], plain.log_prior(x)[0], atol=1e-4)


def test_a_frame_turns_with_the_stretch():
    form, x = next((f, x) for f, x in table(TASKS["plane"]()) if f.name == "matern-metric")
    x[1:3] = 0.5 * np.array([np.cos(0.7), np.sin(0.7)])
    frame = form.frame(x)
    assert_allclose(frame.T @ frame, np.eye(len(x)), atol=1e-12)
    assert_allclose(frame[1:3, 1], x[1:3] / 0.5)
