"""Which doubt is carried how: a grid for one field of few rows, and for none whose dispersion is learned beside it."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.families import Gamma, Gaussian, NegativeBinomial, Poisson
from bochner.features import Rows
from bochner.inference import Responses
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes import limits as scheme_limits
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.schemes.lattice_scheme import _why_no_iteration
from bochner.inference.tuning.climb import Climb
from bochner.inference.tuning.learning import _on_grid
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Matern
from tests.inference.tuning.objectives import NOISE, quadratic, search


def task_of(family, n: int = 40) -> Task:
    rng = np.random.default_rng(0)
    rows, one, zero = Rows(rng.uniform(size=(n, 2)), np.ones((n, 1))), np.ones(n), np.zeros(n)
    return Task.of(Settings(), Responses(family, rows, 1.0 + rng.poisson(4.0, n), one, zero, one, zero))


@pytest.mark.parametrize(
    ("family", "kernel", "gridded"),
    [
        (Poisson(), Matern(), True),
        (NegativeBinomial(dispersion=0.5), Matern(), True),
        (NegativeBinomial(), Matern(), False),
        (Gamma(), Matern(), False),
        (Poisson(), Matern((0.2, 0.4)), False),
        (Poisson(), Matern() + Matern(0.1), False),
    ],
)
def test_a_grid_is_for_one_field_without_a_dispersion(family, kernel, gridded):
    task = task_of(family)
    climb = Climb(search(quadratic((0.2,))), Tuned(kernel, NOISE, 0.0, 1, ()), ())
    laplace = LaplaceObjective([task.data], ExactBound, reml=True)
    assert _on_grid(task, scheme_named("exact"), climb, laplace) == gridded
    assert not _on_grid(task, scheme_named("exact"), climb, LaplaceObjective([task.data] * 2, ExactBound, reml=True))


def test_many_counts_are_not_iterated_over(monkeypatch):
    """Conjugate gradients inside Newton's method are for few rows of counts, and for any number of Gaussian ones."""
    counts, gaussian = task_of(Poisson()), task_of(Gaussian())
    assert _why_no_iteration(counts) is None
    monkeypatch.setattr(scheme_limits, "MAX_LAPLACE_CG_ROWS", 20)
    assert "more than 20 rows of this family" in _why_no_iteration(counts)
    assert _why_no_iteration(gaussian) is None
