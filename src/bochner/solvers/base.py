"""The contract of a factor: a precision matrix, factored once and used many times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.random import Generator

from bochner.arrays import FloatArray


@dataclass(frozen=True)
class Report:
    """How a system was solved."""

    method: str
    size: int
    details: dict[str, Any] = field(default_factory=dict)


class Factor:
    """Factored precision P of the coefficients [features, trend]; P^-1 is their posterior covariance."""

    report: Report
    prior_precision: ClassVar[float] = 1.0  # that was added to the Gram of the features

    def solve(self, b: FloatArray) -> FloatArray:
        """P^-1 b, for (p + q,) or (p + q, k)."""
        raise NotImplementedError

    def logdet(self) -> float:
        """Log determinant of P."""
        raise NotImplementedError

    def trend_logdet(self) -> float:
        """Log determinant of the trend's precision after the features are eliminated."""
        raise NotImplementedError

    def quadratic_form(self, phi: FloatArray) -> FloatArray:
        """Diagonal of phi P^-1 phi', for rows phi (n, p + q)."""
        raise NotImplementedError

    def draw(self, n_draws: int, rng: Generator) -> FloatArray:
        """Draws from N(0, P^-1), (p + q, n_draws)."""
        raise NotImplementedError
