"""A solver of one's own: the precision of few coefficients by its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.solvers import Factor, LinearSolver, LinearSystem, Report, Solution, register_solver


@dataclass(frozen=True)
class EigenFactor(Factor):
    """P = V diag(values) V'. The last `n_trend` columns are the trend."""

    values: FloatArray
    vectors: FloatArray
    n_trend: int
    report: Report

    def solve(self, b: FloatArray) -> FloatArray:
        return self.vectors @ ((self.vectors.T @ b).T / self.values).T

    def logdet(self) -> float:
        return float(np.sum(np.log(self.values)))

    def trend_logdet(self) -> float:
        # the trend's block of P^-1 is the inverse of its Schur complement
        last = self.vectors[len(self.values) - self.n_trend :]
        return -float(np.linalg.slogdet((last / self.values) @ last.T)[1])

    def quadratic_form(self, phi: FloatArray) -> FloatArray:
        return np.asarray((phi @ self.vectors) ** 2 @ (1 / self.values))

    def draw(self, n_draws: int, rng: Generator) -> FloatArray:
        return (self.vectors / np.sqrt(self.values)) @ rng.standard_normal((len(self.values), n_draws))


class Eigen(LinearSolver):
    """O(10 p^3), ten times a Cholesky factor: worth it only where the spectrum itself is of interest."""

    name = "eigen"
    saves: ClassVar[tuple[type, ...]] = (EigenFactor,)

    def suits(self, n_rows: int, n_columns: int) -> str | None:
        return f"{n_columns} columns: by eigenvalues" if n_columns <= min(n_rows, 50) else None

    def solve(self, system: LinearSystem) -> Solution:
        moments = system.moments
        factor = eigen_factor(moments.gram, system.n_columns)
        coef = factor.solve(moments.projection)
        return Solution(factor, coef, float(moments.energy - moments.projection @ coef))


def eigen_factor(gram: FloatArray, n_columns: int) -> EigenFactor:
    """Factor of a Gram matrix of features and trend, with the prior precision of the features added."""
    n_trend = len(gram) - n_columns
    values, vectors = np.linalg.eigh(gram + np.diag(np.repeat([1.0, 0.0], [n_columns, n_trend])))
    return EigenFactor(values, vectors, n_trend, Report("eigen", len(gram)))


register_solver(Eigen(), first=True)
