"""Laws of every scheme: it solves, explains itself, holds out and says truly what answered, in 1 to 3 dimensions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bochner.choices import Choice
from bochner.families import Gaussian, Poisson
from bochner.features import Rows
from bochner.inference import Responses, Settings
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case
from bochner.inference.schemes.choose import SCHEMES, scheme_named
from bochner.kernels import Matern
from bochner.validation import BlockKFold
from tests.laws.registry import DIMS
from tests.laws.registry_fits import SCHEME_NAMES

every_scheme = pytest.mark.parametrize("name", SCHEME_NAMES)
every_dimension = pytest.mark.parametrize("dim", DIMS)
KERNEL, NOISE = Matern(0.8, 1.0, nu=1.5), 0.04


def task_of(dim, family=None, n=60, **settings):
    rng = np.random.default_rng(dim)
    coords = rng.uniform(-1, 1, size=(n, dim))
    eta = np.sin(2 * coords[:, 0]) + 0.5
    y = eta + 0.2 * rng.standard_normal(n) if family is None else rng.poisson(np.exp(eta)).astype(float)
    one, zero = np.ones(n), np.zeros(n)
    rows = Rows(coords, np.ones((n, 1)))
    responses = Responses(Gaussian() if family is None else family, rows, y, one, zero, one, zero)
    return Task.of(Settings(kernel=KERNEL, learns=False, noise_variance=NOISE, **settings), responses), eta


@pytest.mark.parametrize(
    ("family", "dim", "name"),
    [
        pytest.param(family, dim, name, id=f"{law}-{dim}-{name}", marks=[pytest.mark.slow] if takes_long else [])
        for law, family in (("gaussian", None), ("poisson", Poisson()))
        for dim in DIMS
        for name in SCHEME_NAMES
        # its spectrum is learned from place to place, in every Newton step
        for takes_long in [name == "nonstationary" and (dim == 3 or law == "poisson")]
    ],
)
def test_solves_and_says_what_answered(name, dim, family):
    task, eta = task_of(dim, family)
    scheme = scheme_named(name)
    scheme.refuse(Case(len(task.obs), dim, KERNEL))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few waves are coarse, and say so
        solved = scheme.solve(task, Average.single(KERNEL, NOISE))
    (mode,) = solved.modes
    assert scheme_named(solved.scheme).name == solved.scheme
    assert all(isinstance(choice, Choice) and choice.name for choice in solved.choices)
    assert solved.choices[-1].name == "solver"
    assert (solved.n_frequencies is None) == (not len(mode.posterior.feature_coef))
    # the surface is found to a fraction of its spread, sd 0.7
    error = mode.posterior.mean(task.responses.rows) - eta
    assert np.sqrt(np.mean(error**2)) < (0.25 if family is None else 0.45)


@every_scheme
@every_dimension
def test_holds_out_while_hyperparameters_are_judged(name, dim):
    task, _ = task_of(dim, n_frequencies="auto" if name in SCHEMES else 30)
    folds = list(BlockKFold(3, block_size=0.4).split(task.obs.rows.coords))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = scheme_named(name).held_out(task, KERNEL, NOISE, task.obs, folds)
    assert sorted(held.index) == list(range(len(task.obs)))
    assert (held.variance > 0).all()
    assert np.sqrt(np.mean((held.mean - task.obs.y[held.index]) ** 2)) < 0.9 * np.std(task.obs.y)


@every_scheme
@every_dimension
def test_own_evidence_only_where_frequencies_follow_theta(name, dim):
    """A scheme either gives frequencies as a smooth function of theta, or leaves the evidence to the kernel."""
    task, _ = task_of(dim, n_frequencies=20)
    draw = scheme_named(name).own_draw(task)
    if draw is None:
        assert name in SCHEMES
        return
    step = np.full(len(KERNEL.theta), 1e-6)
    at, near = draw(KERNEL, KERNEL.theta), draw(KERNEL, KERNEL.theta + step)
    assert at.n == 20 and at.dim == dim
    np.testing.assert_allclose(near.omega, at.omega, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "nonstationary" else []) for name in SCHEME_NAMES]
)
def test_averages_over_every_set_of_hyperparameters(name):
    task, _ = task_of(2)
    learned = Average((KERNEL, KERNEL.replace(length_scale=0.5)), np.array([NOISE, 0.06]), np.array([0.7, 0.3]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solved = scheme_named(name).solve(task, learned)
    assert len(solved.modes) == 2
