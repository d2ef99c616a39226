"""Solvers of a linear model: which route leads from its rows to a factor of the precision of its coefficients.

A solver is one file and one registration. It asks the system for what it needs: moments, whose making costs n p^2, or
the features of all rows, which take n p numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bochner import archive
from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import PartError
from bochner.solvers.base import Factor


class LinearSystem(Protocol):
    """A linear model with prior precision I on its features; parts are made when first asked for."""

    n_rows: int
    n_columns: int  # of the features
    n_trend: int

    @property
    def moments(self) -> Any:
        """Gram, with the trend's prior precision, projection and energy of the rows (`DenseMoments`)."""

    @property
    def phi(self) -> FloatArray:
        """Features of all rows, (n, p)."""

    @property
    def trend(self) -> FloatArray:
        """Trend columns, (n, q)."""

    @property
    def trend_precision(self) -> FloatArray:
        """Prior precision of the trend's coefficients, (q, q); zero: a flat prior."""

    @property
    def y(self) -> FloatArray:
        """Responses, (n,)."""

    @property
    def precision(self) -> FloatArray:
        """Precision of each row about the surface, (n,)."""


@dataclass(frozen=True)
class Solution:
    """Coefficients [features, trend], the factor of their precision, and the misfit y'N y - b'P^-1 b."""

    factor: Factor
    coef: FloatArray
    misfit: float


class LinearSolver(ABC):
    """A way to solve a linear model.

    Attributes
    ----------
    name : str
        What the choice of a solver says.
    saves : tuple of type
        Frozen dataclasses of its own that a model file holds: its factor.
    """

    name: ClassVar[str]
    saves: ClassVar[tuple[type, ...]] = ()

    @abstractmethod
    def suits(self, n_rows: int, n_columns: int) -> str | None:
        """Why it is taken for a system of this size; None if it is not."""

    @abstractmethod
    def solve(self, system: LinearSystem) -> Solution:
        """The posterior of the coefficients."""


SOLVERS: list[LinearSolver] = []


def register_solver(solver: LinearSolver, *, first: bool = False) -> None:
    """Let a solver be asked whether it suits a system; with `first`, before all others."""
    archive.register(*solver.saves)
    SOLVERS.insert(0 if first else len(SOLVERS), solver)


def choose_solver(n_rows: int, n_columns: int) -> tuple[LinearSolver, Choice]:
    """The first solver that suits a system of a size, and why."""
    for solver in SOLVERS:
        reason = solver.suits(n_rows, n_columns)
        if reason is not None:
            return solver, Choice("solver", solver.name, reason, text=reason)
    raise PartError(f"no solver suits {n_rows:,} rows and {n_columns:,} columns; register one that does.")
