"""Monte Carlo: independent frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.frequencies.base import Rule, Term, frequencies_of_product, n_uniforms_of


@dataclass(frozen=True)
class MonteCarlo(Rule):
    """Independent draws from the spectral measure (Rahimi and Recht, 2007).

    The error at lag tau has standard deviation variance * sqrt(((1 + k(2 tau)) / 2 - k(tau)^2) / m)
    for k the correlation: at most variance / sqrt(m), in any dimension.
    """

    name: ClassVar[str] = "monte-carlo"

    def draw_term(self, factors: Term, n: int, dim: int, rng: Generator) -> FloatArray:
        return frequencies_of_product(factors, rng.random((n, n_uniforms_of(factors, dim))), dim)

    def explain(self, dim: int) -> str:
        return "independent draws from the spectral measure"
