"""Trend: intercept and covariates, brought to a common footing and checked for collinearity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import CollinearityWarning, warn
from bochner.layout import limits
from bochner.layout.curves import Curve


@dataclass(frozen=True)
class Trend:
    """Fixed effects with a flat prior.

    Covariates are centred and scaled inside (so that elevations in metres and rates in percent
    are equally easy to solve for), and the mean is taken off the response (so that no digits are
    lost on it); `coefficients` gives them back in the user's units.
    """

    names: tuple[str, ...]  # of the user's coefficients, intercept first
    intercept: bool
    centre: FloatArray
    scale: FloatArray
    basis: FloatArray  # (q, rank): identity unless columns are collinear
    level: float = 0.0  # taken off the response, and part of the intercept
    curves: tuple[Curve, ...] = ()  # of covariates whose effect bends; their columns come after the covariates

    @classmethod
    def learn(
        cls,
        covariates: FloatArray,
        y: FloatArray,
        weight: FloatArray,
        names: tuple[str, ...],
        fit_intercept: bool,
        curves: tuple[Curve, ...] = (),
    ) -> Trend:
        """Centre, scale, basis and level from the rows with positive weight."""
        kept = _with_curves(covariates[weight > 0], curves)
        names = (*names, *(f"{names[c.covariate]}, bend {k + 1}" for c in curves for k in range(c.n_columns)))
        w = weight[weight > 0] / weight.sum()
        centre = w @ kept if fit_intercept else np.zeros(kept.shape[1])
        scale = np.sqrt(w @ (kept - centre) ** 2)
        constant = scale <= 1e-12 * np.maximum(np.abs(centre), 1e-300) if fit_intercept else scale == 0
        scale = np.where(constant, 1.0, scale)
        labels = ("intercept", *names) if fit_intercept else names
        draft = cls(labels, fit_intercept, centre, scale, np.eye(len(labels)))
        level = _rounded(float(w @ y[weight > 0])) if fit_intercept else 0.0
        return cls(labels, fit_intercept, centre, scale, _basis(draft, kept, w, not curves), level, curves)

    def columns(self, covariates: FloatArray) -> FloatArray:
        """Trend columns, (n, rank)."""
        if self.intercept and not len(self.scale):
            return np.broadcast_to(1.0, (len(covariates), 1))
        z = (_with_curves(covariates, self.curves) - self.centre) / self.scale
        full = np.column_stack([np.ones(len(z)), z]) if self.intercept else z
        return np.asarray(full @ self.basis)

    def coefficients(self, coef: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients and their covariance in the user's units."""
        back = np.diag(1 / np.r_[np.ones(int(self.intercept)), self.scale])
        if self.intercept:
            back[0, 1:] = -self.centre / self.scale
        back = back @ self.basis
        mean = back @ coef
        mean[: int(self.intercept)] += self.level
        return mean, back @ covariance @ back.T

    def covariates(self, columns: FloatArray) -> FloatArray:
        """Covariates in the user's units, (n, q), out of trend columns."""
        full = columns @ np.linalg.pinv(self.basis)
        given = full[:, int(self.intercept) :] * self.scale + self.centre
        return np.asarray(given[:, : self.n_covariates])

    @property
    def n_covariates(self) -> int:
        """Number of the user's covariates."""
        return len(self.centre) - sum(curve.n_columns for curve in self.curves)

    @property
    def n_bends(self) -> int:
        """Number of the last columns by which effects bend; none where collinear columns were mixed."""
        return sum(c.n_columns for c in self.curves) if self.basis.shape[0] == self.basis.shape[1] else 0

    def apart(self, covariate: int, values: FloatArray) -> FloatArray:
        """What rows with these values of one covariate have more of each effect than a row at its mean, (n, q)."""
        mean = self.centre[: self.n_covariates]
        rows = np.tile(mean, (len(values) + 1, 1))
        rows[1:, covariate] = values
        full = _with_curves(rows, self.curves)
        return np.column_stack([np.zeros((len(values), int(self.intercept))), full[1:] - full[0]])

    @property
    def curved(self) -> list[str]:
        """Names of the covariates whose effect bends."""
        return [self.names[int(self.intercept) + curve.covariate] for curve in self.curves]

    @property
    def log_scale(self) -> float:
        """What the scaling adds to the log evidence of the scaled model, to be taken off."""
        return float(np.sum(np.log(self.scale)))


def _with_curves(covariates: FloatArray, curves: tuple[Curve, ...]) -> FloatArray:
    """Covariates, and the columns by which some of them bend."""
    return np.column_stack([covariates, *(c.columns(covariates) for c in curves)]) if curves else covariates


def _rounded(value: float) -> float:
    # to 20 bits: a mean over copies and one over weights then agree to the last bit, and so does all that follows
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**20), exponent - 20)


def _basis(trend: Trend, covariates: FloatArray, weight: FloatArray, tell: bool) -> FloatArray:
    """Directions that can be learned; those lost are told once, before any covariate bends."""
    if not covariates.shape[1]:
        return np.eye(int(trend.intercept))
    columns = trend.columns(covariates) * np.sqrt(weight)[:, None]
    if not columns.shape[1]:
        return np.zeros((0, 0))
    _, s, vt = np.linalg.svd(columns, full_matrices=False)
    kept = s > limits.COLLINEAR * max(s[0], 1e-300)
    if kept.all() and len(s) == columns.shape[1]:
        return np.eye(columns.shape[1])
    if not tell:
        return np.asarray(vt[kept].T)
    lost = np.ones(len(vt), dtype=bool) if len(s) < columns.shape[1] else ~kept
    involved = np.abs(vt[lost]).max(axis=0) > 1e-3
    names = [name for name, is_in in zip(trend.names, involved, strict=True) if is_in]
    first = int(trend.intercept)
    given = zip(trend.names[first:], covariates.T, strict=True)
    constant = {name for name, values in given if first and np.ptp(values) == 0}
    warn(_told(names, constant, int(kept.sum()), columns.shape[1]), CollinearityWarning)
    return np.asarray(vt[kept].T)


def _told(names: list[str], constant: set[str], n_learned: int, n_columns: int) -> str:
    """Which columns say nothing new, and what was done."""
    if constant >= set(names):
        verb = "is" if len(names) == 1 else "are"
        return (
            f"{', '.join(names)} {verb} the same in every row and can say nothing: the coefficient is 0. Leave it out."
        )
    listed = names if len(names) <= 8 else [*names[:8], f"{len(names) - 8} more"]
    return (
        f"trend columns {listed} are collinear: {n_learned} of {n_columns} directions can be learned. The coefficients "
        f"of least norm are taken; predictions are unaffected. Drop one of the columns to read them."
    )
