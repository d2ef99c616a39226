"""The binomial family: positives out of a number of trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from bochner.arrays import FloatArray
from bochner.families.base import Derivatives, Family, check_counts, check_sizes, refuse
from bochner.families.factorials import log_choose
from bochner.families.links import Link, Logit, ProbabilityLink, Probit, by_name


@dataclass(frozen=True)
class Binomial(Family):
    r"""Positives out of trials: prevalence surveys.

    .. math:: y \sim \mathrm{Binomial}(n, p), \quad \mathrm{logit}\,p = \eta \text{ or } \Phi^{-1}(p) = \eta

    The size is the number of trials n of each row. Rows without any positive, or with positives alone, are welcome;
    where all rows are so, the likelihood has no maximum in an intercept, and it is for the fit to say so.
    """

    name: ClassVar[str] = "binomial"
    links: ClassVar[Mapping[str, Link]] = by_name(Logit(), Probit())
    law: ClassVar[str] = "its {inverse} is the {response}, and successes out of trials are binomial"
    surface_name: ClassVar[str | None] = "prevalence"
    size_name: ClassVar[str | None] = "trials"
    discrete: ClassVar[bool] = True
    bounded_by_size: ClassVar[bool] = True

    link: str = "logit"

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_sizes(size, "trials")
        refuse(
            size != np.floor(size),
            "trials is {size} in row {row}; needed is a whole number: pass how many were examined, not a share.",
            size=size,
        )
        check_counts(y)
        refuse(
            y > size,
            "y is {y} in row {row}, more than its {size} trials; needed are at most as many positives as trials: "
            "correct the row, or pass `trials` if that was left out.",
            y=y,
            size=size,
        )

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return self.link_of((y + 0.5) / (size + 1.0))

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(log_choose(size, y) + self._probability.log_density(y, size - y, eta))

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        return Derivatives(*self._probability.derivatives(y, size - y, eta))

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(size * self.mean(eta) * self.mean(-eta))

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        # P(Y <= y) = I_q(n - y, y + 1), with q = 1 - p taken from the symmetric link.
        y = np.floor(y)
        inside = (y >= 0) & (y < size)
        k = np.where(inside, y, 0.0)
        tail = special.betainc(np.where(inside, size - k, 1.0), k + 1.0, self.mean(-eta))
        return np.where(inside, tail, np.where(y < 0, 0.0, 1.0))

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        # dF/dp = -(n - y) P(Y = y) / q, and d log q / d eta is known to the link.
        hazard = self._probability.log_mean_derivatives(-eta)[0]
        return np.asarray((size - y) * hazard * np.exp(self.log_density(y, eta, size)))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(size * (mean - square))

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        return np.asarray(rng.binomial(np.asarray(size, dtype=np.int64), self.mean(eta)), dtype=np.float64)

    @property
    def _probability(self) -> ProbabilityLink:
        link = self.link_function
        assert isinstance(link, ProbabilityLink)
        return link
