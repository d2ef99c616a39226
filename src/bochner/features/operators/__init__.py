"""Covariance operators: fast products with the covariance matrix of very many rows.

A further operator is one file, and its place in one of the lists: `OPERATORS` here, or `SCATTERED` if it takes rows
anywhere.
"""

from __future__ import annotations

from bochner.arrays import FloatArray
from bochner.features.operators.base import Box, CovarianceOperator, first_faithful
from bochner.features.operators.dense import DenseOperator
from bochner.features.operators.grid import Grid, GridOperator, find_grid, torus_counts
from bochner.features.operators.parts import PartsOperator
from bochner.features.operators.scattered import SCATTERED
from bochner.features.operators.split import SplitOperator
from bochner.features.operators.turned import TurnedOperator
from bochner.features.operators.unavailable import UnavailableOperator
from bochner.kernels import Kernel

OPERATORS: tuple[type[CovarianceOperator], ...] = (GridOperator, *SCATTERED)
"""Kinds of operators, in the order in which they are asked: the first that is faithful is taken."""


def covariance_operator(kernel: Kernel, coords: FloatArray, box: Box) -> CovarianceOperator:
    """The operator that suits a kernel and some rows (n, dim); its `reason` says why.

    Parameters
    ----------
    kernel : Kernel
        A shift-invariant kernel.
    coords : ndarray of shape (n, dim)
        The rows.
    box : pair of ndarray of shape (dim,)
        Where rows and targets lie.
    """
    return first_faithful(OPERATORS, kernel, coords, box)


__all__ = [
    "OPERATORS",
    "CovarianceOperator",
    "DenseOperator",
    "Grid",
    "GridOperator",
    "PartsOperator",
    "SplitOperator",
    "TurnedOperator",
    "UnavailableOperator",
    "covariance_operator",
    "find_grid",
    "torus_counts",
]
