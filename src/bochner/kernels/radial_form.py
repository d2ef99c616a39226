"""The radial form of a kernel: a sum of products of functions of squared scaled lags, for compiled loops.

.. math:: k(\\tau) = \\sum_t \\sigma_t^2 \\prod_f \\rho_f(q_f), \\qquad q_f = \\tau' M_f \\tau

Whatever a kernel is made of, a loop then needs only numbers: variances, metrics M, a table of each function
(`radial_table`) and how each entry of theta moves them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bochner.arrays import FloatArray

VARIANCE, METRIC, SHAPE = "variance", "metric", "shape"


class Profile(Hashable, Protocol):
    """A function of the scaled distance s; a frozen value, since its table is kept."""

    def profile(self, distance: FloatArray) -> list[FloatArray]:
        """Value, -s times its derivative, and its derivatives in the log of each shape parameter."""
        ...


@dataclass(frozen=True)
class Factor:
    """One function of q = tau' M tau."""

    function: Profile
    metric: FloatArray  # (dim, dim)


@dataclass(frozen=True)
class Slope:
    """How one entry of theta moves one term: by its variance, the metric of a factor or the shape of its function.

    An entry may have several slopes, which add.
    """

    theta: int
    term: int
    factor: int  # among those of the term
    kind: str
    change: FloatArray  # (dim, dim): derivative of the metric; zero for the other kinds
    shape: int = 0  # which of the shape parameters


@dataclass(frozen=True)
class RadialForm:
    """Terms with their variances and factors, and the slopes of all of theta."""

    variances: tuple[float, ...]
    factors: tuple[tuple[Factor, ...], ...]
    slopes: tuple[Slope, ...]

    def plus(self, other: RadialForm, n_theta: int) -> RadialForm:
        """Sum of two; this one has `n_theta` entries of theta."""
        n = len(self.variances)
        moved = (replace(s, theta=s.theta + n_theta, term=s.term + n) for s in other.slopes)
        return RadialForm(self.variances + other.variances, self.factors + other.factors, (*self.slopes, *moved))

    def times(self, other: RadialForm, n_theta: int, free: list[bool]) -> RadialForm:
        """Product of two; of the other's theta only the free entries count."""
        m = len(other.variances)
        pairs = [(a, b) for a in range(len(self.variances)) for b in range(m)]
        position = n_theta + np.cumsum(free) - 1
        own = [replace(s, term=s.term * m + b) for s in self.slopes for b in range(m)]
        others = [
            replace(s, theta=int(position[s.theta]), term=a * m + s.term, factor=s.factor + len(self.factors[a]))
            for s in other.slopes
            if free[s.theta]
            for a in range(len(self.variances))
        ]
        return RadialForm(
            tuple(self.variances[a] * other.variances[b] for a, b in pairs),
            tuple(self.factors[a] + other.factors[b] for a, b in pairs),
            (*own, *others),
        )

    def embedded(self, axes: tuple[int, ...], dim: int) -> RadialForm:
        """The same on some axes of more: lags along the others do not count."""

        def wider(matrix: FloatArray) -> FloatArray:
            out = np.zeros((dim, dim))
            out[np.ix_(axes, axes)] = matrix
            return out

        factors = tuple(tuple(replace(f, metric=wider(f.metric)) for f in term) for term in self.factors)
        return RadialForm(self.variances, factors, tuple(replace(s, change=wider(s.change)) for s in self.slopes))


def one_factor(variance: float, factor: Factor, changes: list[FloatArray], n_shapes: int) -> RadialForm:
    """Form of a kernel of one scaled distance: theta holds changes of its metric, the variance, its shapes."""
    nothing, n = np.zeros_like(factor.metric), len(changes)
    slopes = [Slope(j, 0, 0, METRIC, change) for j, change in enumerate(changes)]
    slopes.append(Slope(n, 0, 0, VARIANCE, nothing))
    slopes += [Slope(n + 1 + j, 0, 0, SHAPE, nothing, j) for j in range(n_shapes)]
    return RadialForm((variance,), ((factor,),), tuple(slopes))


def metric_changes(scales: FloatArray, apart: bool) -> list[FloatArray]:
    """Derivatives of diag(1 / l^2) in the log of each length scale, or of all together."""
    along = [np.diag(-2.0 * (np.arange(len(scales)) == j) / scales**2) for j in range(len(scales))]
    return along if apart else [np.asarray(sum(along))]
