"""Where a search begins with a given kernel, and which evidence is asked: both follow from the data alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.inference import Domain
from bochner.inference.learning import starts
from bochner.inference.learning.forms import blocks_of, probes
from bochner.inference.learning.ladder import (
    exact_rows,
    first_units,
    metric_of,
    most_nodes,
    neighbour_plan,
    next_rungs,
    rungs,
)
from bochner.inference.learning.policy import POLICY
from bochner.kernels import Matern, Periodic, Separable, SquaredExponential
from tests.inference.learning.evidences import task_of


@pytest.mark.parametrize(
    "kernel", [Matern(0.3), Matern((0.3, 0.5), learn_nu=True), Matern() + SquaredExponential(), Periodic() * Matern()]
)
@pytest.mark.parametrize("noise", [None, 0.1])
def test_starts_lie_within_bounds_and_begin_with_the_kernel(kernel, noise):
    task = task_of("gaussian", kernel=kernel)
    found = starts.of_kernel({}, kernel, task, noise)
    assert found[0][0] == kernel and len(found) >= 4
    low, high = np.array(starts.bounds(kernel, task.scale)).T
    for start, at in found[1:]:
        others = [i for i, h in enumerate(kernel.hyperparameters) if not h.role.is_variance]
        assert np.all((low <= start.theta) & (start.theta <= high), where=np.isin(np.arange(len(low)), others))
        assert at > 0 if noise is None else at == noise


def test_length_scales_that_are_shared_are_tied():
    kernel = Matern((1.0, 2.0, 3.0)) + Matern((1.0, 2.0, 3.0))
    names = [h.name for h in kernel.hyperparameters]
    ties = starts.ties(kernel, (0, 0, 1))
    first = {names[i]: names[k] for i, k in enumerate(ties)}
    assert (
        first["k1__length_scale[1]"] == "k1__length_scale[0]" and first["k2__length_scale[1]"] == "k2__length_scale[0]"
    )
    assert first["k1__length_scale[2]"] == "k1__length_scale[2]"
    assert starts.ties(kernel, None).tolist() == list(range(len(names)))


@pytest.mark.parametrize(
    ("family", "n", "name"),
    [
        ("gaussian", 40, "exact"),
        ("gaussian", 6_000, "nearest"),
        ("poisson", 40, "exact"),
        ("poisson", 6_000, "composite"),
    ],
)
def test_few_rows_are_asked_exactly_and_many_otherwise(family, n, name):
    task = task_of(family, n)
    rung = rungs(task, None, blocks_of(task))
    assert rung.name == name
    assert bool(next_rungs(task, rung, blocks_of(task))) == (name != "exact")
    assert (most_nodes(task) > 1) == (n == 40)


def test_budgets_grow_with_the_rows_they_leave_out():
    """More rows are given fewer neighbours, then fewer rows are asked; nothing depends on how quick a machine is."""
    few, many = POLICY.neighbours
    assert neighbour_plan(1_000, 2, 3.0) == (1_000, many)
    n, k = neighbour_plan(10**7, 2, 3.0)
    assert n < 10**7 and k == few
    assert neighbour_plan(10**7, 2, 0.5)[0] < n
    assert exact_rows(gaussian=False) > exact_rows(gaussian=True) > 200


def test_neighbours_are_near_in_the_units_of_the_axes():
    plane, columns, time = (
        task_of("gaussian"),
        task_of("gaussian", dim=5),
        task_of("gaussian", dim=3, domain=Domain(last_is_time=True)),
    )
    assert first_units(plane) is None and first_units(columns).shape == (5,)
    assert first_units(time)[0] == first_units(time)[1]
    assert metric_of(Matern(0.3), plane) is None
    assert metric_of(Matern((0.3, 0.4), rotation=0.2), plane) is None
    assert metric_of(Matern((0.3, 3.0), rotation=0.2), plane).shape == (2, 2)
    assert_allclose(metric_of(Matern((0.3, 3.0)), plane), [0.3, 3.0])
    assert metric_of(Separable(Matern(), Matern()), time).shape == (3,)


def test_covariates_share_a_block_and_so_do_their_bends_and_the_intercept_has_none():
    assert blocks_of(task_of("gaussian", covariates=3)).tolist() == [-1, 0, 0, 0]
    assert blocks_of(task_of("gaussian")).tolist() == [-1]
    assert blocks_of(task_of("gaussian", covariates=3, n_bends=2)).tolist() == [-1, 0, 1, 1]


def test_probes_lie_between_rows_far_apart_or_where_they_are_asked_for():
    coords = np.random.default_rng(0).uniform(size=(200, 2))
    found = probes(coords, None)
    assert len(found) == POLICY.probes and found.min() >= 0 and found.max() <= 1
    assert len(probes(coords[:3], None)) == 2
    asked = np.random.default_rng(1).uniform(5, 6, size=(1_000, 2))
    assert np.all(np.isin(probes(coords, asked), asked))
