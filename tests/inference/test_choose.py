"""What "auto" takes: a table of cases, and what each scheme refuses."""

from __future__ import annotations

import numpy as np
import pytest

import bochner
from bochner.exceptions import InputError, KernelError, MemoryLimitError, PartError
from bochner.kernels import Linear, Matern, Periodic, Polynomial, SquaredExponential

pytestmark = pytest.mark.every_case

GB = 10**9
TABLE = [  # rows, dimensions, what else is known, what is chosen
    (1, 1, {}, "exact"),
    (400, 1, {}, "exact"),
    (400, 2, {}, "exact"),
    (3_000, 2, {}, "exact"),
    (3_001, 1, {}, "lattice"),
    (3_001, 2, {}, "lattice"),
    (3_001, 3, {}, "lattice"),
    (100_000, 2, {}, "lattice"),
    (1_000_000_000, 2, {}, "lattice"),
    (3_001, 4, {}, "exact"),
    (5_000, 4, {}, "exact"),
    (5_001, 4, {}, "orthogonal"),
    (5_001, 30, {}, "orthogonal"),
    (1_000_000, 8, {}, "orthogonal"),
    (2_000, 2, {"kernel": Polynomial()}, "exact"),
    (3_001, 2, {"kernel": Polynomial()}, "nystroem"),
    (10_000, 6, {"kernel": Linear()}, "nystroem"),
    (10_000, 2, {"kernel": Matern() + Linear()}, "nystroem"),
    (10_000, 1, {"kernel": Periodic()}, "lattice"),
    (10_000, 2, {"kernel": SquaredExponential() + Matern(nu=0.5)}, "lattice"),
    (2_000, 2, {"memory_limit": GB}, "exact"),
    (2_000, 2, {"memory_limit": GB // 10}, "lattice"),
    (4_000, 5, {"memory_limit": GB // 10}, "orthogonal"),
    (2_000, 2, {"has_areas": True}, "exact"),
    (20_000, 2, {"has_areas": True}, "exact"),
    (400, 2, {"features": "lattice"}, "lattice"),
    (100_000, 2, {"features": "exact"}, "exact"),
    (400, 2, {"features": "quasi"}, "quasi"),
    (400, 9, {"features": "structured"}, "structured"),
    (400, 2, {"features": "leverage"}, "leverage"),
    (400, 2, {"features": "nonstationary"}, "nonstationary"),
    (9_000, 2, {"features": "nearest"}, "nearest"),
    (9_000, 2, {"features": "conjugate-gradients"}, "conjugate-gradients"),
]


@pytest.mark.parametrize(("n", "dim", "known", "chosen"), TABLE)
def test_the_scheme_for_so_many_rows(n, dim, known, chosen):
    choice = bochner.choose(n, dim, **known)
    assert choice.name == "features"
    assert choice.value == chosen
    assert choice.given == ("features" in known)
    assert choice.reason


@pytest.mark.parametrize(
    ("n", "dim", "known", "error", "told"),
    [
        (400, 2, {"features": "fourier"}, InputError, "lattice"),
        (400, 4, {"features": "lattice"}, PartError, "1 to 3"),
        (400, 2, {"features": "lattice", "kernel": Polynomial()}, KernelError, "exact"),
        (400, 2, {"features": "learned", "kernel": Linear()}, KernelError, "exact"),
        (9_000, 2, {"features": "exact", "memory_limit": GB}, MemoryLimitError, "raise the limit"),
        (400, 2, {"features": "lattice", "has_areas": True}, PartError, "exact"),
    ],
)
def test_what_cannot_be_is_refused(n, dim, known, error, told):
    with pytest.raises(error, match=told):
        bochner.choose(n, dim, **known)


@pytest.mark.parametrize("features", [np.arange(3), None, 7, ["exact"]], ids=["array", "none", "number", "list"])
def test_what_is_no_name_is_told(features):
    with pytest.raises(InputError, match="is not known; choose from"):
        bochner.choose(100, 2, features=features)
