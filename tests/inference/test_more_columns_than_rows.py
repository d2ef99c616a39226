"""Waves that have more columns than there are rows: the exact kernel takes their place, unless waves were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.families import Gaussian
from bochner.features import Rows
from bochner.inference import Responses
from bochner.inference.observed.settings import Average, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.kernels import Matern


@pytest.mark.parametrize(("asked", "answers"), [("auto", "exact"), ("lattice", "lattice")])
def test_a_short_smooth_field_is_solved_in_the_rows(asked, answers):
    rng = np.random.default_rng(0)
    n, kernel = 80, Matern(0.01, nu=2.5)
    coords, ones = rng.uniform(size=(n, 1)), np.ones(n)
    r = Responses(Gaussian(), Rows(coords, ones[:, None]), rng.normal(size=n), ones, 0 * ones, ones, 0 * ones)
    task = Task.of(Settings(kernel=kernel, features=asked), r)
    solved = scheme_named("lattice").solve(task, Average.single(kernel, 0.1))
    assert solved.scheme == answers
    exact = scheme_named("exact").solve(task, Average.single(kernel, 0.1))
    at = Rows(rng.uniform(size=(20, 1)), np.ones((20, 1)))
    means = [each.modes[0].posterior.mean(at) for each in (solved, exact)]
    np.testing.assert_allclose(means[0], means[1], atol=0.05)
