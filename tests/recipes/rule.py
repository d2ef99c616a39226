"""A frequency rule of one's own: Latin hypercubes, stratified along every coordinate of the uniform numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.frequencies import Rule, register_rule
from bochner.frequencies.base import Term, frequencies_of_product, n_uniforms_of


@dataclass(frozen=True)
class LatinHypercube(Rule):
    """One frequency in each of n strata of every coordinate (McKay, Beckman and Conover, 1979)."""

    name: ClassVar[str] = "latin"

    def draw_term(self, factors: Term, n: int, dim: int, rng: Generator) -> FloatArray:
        k = n_uniforms_of(factors, dim)
        strata = rng.permuted(np.tile(np.arange(n), (k, 1)), axis=1).T
        return frequencies_of_product(factors, (strata + rng.random((n, k))) / n, dim)

    def explain(self, dim: int) -> str:
        return "one frequency in every stratum of every coordinate"


register_rule(LatinHypercube())
