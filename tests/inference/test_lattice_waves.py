"""Waves of a lattice are taken where they hold what the data can tell, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.inference.observed.settings import Settings
from bochner.inference.schemes import lattice_scheme
from bochner.inference.schemes.lattice_scheme import lattice_waves
from bochner.kernels import Matern, SquaredExponential

SQUARE = (np.zeros(2), np.ones(2))


@pytest.mark.parametrize("noise", [1e-5, 1e-3, 1.0])
def test_few_waves_hold_a_smooth_kernel(noise: float) -> None:
    waves = lattice_waves(Settings(), SquaredExponential(0.3, 1.0), noise, 500, SQUARE)
    assert waves.features is not None and waves.error is not None and waves.left is None
    # what they leave out is all that is wrong with them, however little that is
    assert waves.error <= 2 * (1 - waves.features.frequencies.mass.sum()) + 1e-9


def test_no_number_of_waves_holds_a_rough_kernel() -> None:
    waves = lattice_waves(Settings(), Matern(0.1, 1.0, nu=0.5), 1e-3, 500, SQUARE)
    assert waves.features is None and "torus" in str(waves.choice)


def test_waves_that_must_do_are_as_many_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else can follow, a rough kernel takes all waves that are allowed, and no more."""
    monkeypatch.setattr(lattice_scheme, "MAX_LATTICE_WAVES", 150)
    waves = lattice_waves(Settings(), Matern(0.1, 1.0, nu=0.5), 1e-3, 5_000, SQUARE, last="so it is")
    assert waves.features is not None and waves.features.frequencies.n == 150


@pytest.mark.parametrize("noise", [1.0, 0.1])
def test_a_grid_asks_more_of_waves_only_where_it_can_do_without_them(noise: float) -> None:
    """Products on a grid hold all of a kernel, so waves must too; where they are the last resort, a grid is none."""
    taken = {
        (on_grid, last): lattice_waves(Settings(), Matern(0.5), noise, 10**6, SQUARE, last=last, on_grid=on_grid)
        for on_grid in (True, False)
        for last in (None, "so it is")
    }
    assert taken[True, None].features is None and taken[False, None].features is not None
    assert taken[True, "so it is"].features.frequencies.n == taken[False, "so it is"].features.frequencies.n
