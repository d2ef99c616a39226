"""Curves: natural splines of a covariate, the smoothest first, beside its straight line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.layout import limits


@dataclass(frozen=True)
class Curve:
    """How the effect of a covariate may bend: columns that are uncorrelated with its line and with each other.

    They are Demmler and Reinsch's: the first of them bends least for what it explains. Beyond the outer knots they are
    straight, so that predictions outside of what was seen go on as lines.

    Attributes
    ----------
    covariate : int
        Number of the covariate.
    centre, scale : float
        Mean and standard deviation of its values in training.
    knots : (k,)
        Of the splines, in standard deviations from the mean.
    line : (2, k - 2)
        The straight line in each spline, which is taken off.
    mix : (k - 2, n_columns)
        Splines to columns.
    """

    covariate: int
    centre: float
    scale: float
    knots: FloatArray
    line: FloatArray
    mix: FloatArray

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.mix.shape[1]

    @classmethod
    def learn(cls, covariate: int, values: FloatArray, weight: FloatArray, n_columns: int) -> Curve | None:
        """At most so many columns of variance one; None where the values differ too little to show a bend."""
        w = weight / weight.sum()
        centre = float(w @ values)
        scale = float(np.sqrt(w @ (values - centre) ** 2))
        if not scale > 1e-12 * max(abs(centre), 1e-300):
            return None
        x = (values - centre) / scale
        knots = _knots(x, w, n_columns + 2)
        if len(knots) < 3:
            return None
        splines, line = _splines(x, knots), np.column_stack([np.ones(len(x)), x])
        straight = np.linalg.solve(line.T @ (line * w[:, None]), line.T @ (splines * w[:, None]))
        rest = splines - line @ straight
        gram = rest.T @ (rest * w[:, None])
        try:
            _, mix = linalg.eigh(_roughness(knots), gram)
        except linalg.LinAlgError:
            return None
        return cls(covariate, centre, scale, knots, straight, mix[:, :n_columns])

    def first(self, n_columns: int) -> Curve:
        """The smoothest of the columns."""
        return replace(self, mix=self.mix[:, :n_columns])

    def columns(self, covariates: FloatArray) -> FloatArray:
        """Columns (n, n_columns) of rows with these covariates."""
        x = (covariates[:, self.covariate] - self.centre) / self.scale
        line = np.column_stack([np.ones(len(x)), x])
        return np.asarray((_splines(x, self.knots) - line @ self.line) @ self.mix)


def _knots(x: FloatArray, weight: FloatArray, n_knots: int) -> FloatArray:
    """Quantiles, those at the ends where the values are not yet few; values that many rows share count once."""
    values, place = np.unique(x, return_inverse=True)
    if len(values) <= n_knots:
        return np.asarray(values[np.diff(values, prepend=-np.inf) > limits.LEAST_KNOT_GAP])
    share = np.bincount(place.ravel(), weight)
    wanted = np.linspace(limits.OUTER_KNOTS, 1 - limits.OUTER_KNOTS, n_knots)
    knots = np.interp(wanted, np.cumsum(share) - share / 2, values)
    apart = np.diff(knots, prepend=-np.inf) > limits.LEAST_KNOT_GAP
    return np.asarray(knots[apart])


def _splines(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Natural cubic splines of a basis, without constant and line: (n, k - 2)."""
    beyond = np.maximum(x[:, None] - knots, 0.0) ** 3
    *begin, before, last = range(len(knots))
    slope = (beyond - beyond[:, [last]])[:, :last] / (knots[last] - knots[:last])
    return np.asarray(slope[:, begin] - slope[:, [before]])


def _roughness(knots: FloatArray) -> FloatArray:
    """Integrals of the products of second derivatives, which are straight between the knots."""
    *begin, before, last = range(len(knots))
    slope = 6 * np.maximum(knots[:, None] - knots[:last], 0.0) / (knots[last] - knots[:last])
    bend = slope[:, begin] - slope[:, [before]]
    width, left, right = np.diff(knots)[:, None], bend[:-1], bend[1:]
    cross = left.T @ (width * right)
    return np.asarray((left.T @ (width * left) + right.T @ (width * right)) / 3 + (cross + cross.T) / 6)
