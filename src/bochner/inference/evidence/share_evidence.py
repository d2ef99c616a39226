"""Evidence of the exact kernel for every share of the field at once, from one tridiagonal form.

The covariance of the rows is f R + s D: a field of variance f and correlation R, and noise of variance s whose share of
each row, D, is diagonal. With D^-1/2 R D^-1/2 = Q T Q', T tridiagonal, every pair (f, s) costs O(n) once the 4/3 n^3 of
T are paid: a third of what eigenvectors would take. Where no errors are known beside the noise, the total variance is
integrated out with a flat prior on its logarithm, and given the share of the field predictions follow Student's t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import linalg, special

from bochner.arrays import FloatArray
from bochner.inference.evidence import limits
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import residual_of


@dataclass(frozen=True)
class Line:
    """Hyperparameters along the logit of the field's share, their log evidence, and the two variances at each.

    Attributes
    ----------
    logit : (k,)
    log_evidence : (k,)
        Up to a constant that is the same for all correlations.
    field, noise : (k,)
        Variances of the field and of the noise, the latter beside known errors.
    """

    logit: FloatArray
    log_evidence: FloatArray
    field: FloatArray
    noise: FloatArray


@dataclass(frozen=True)
class ShareEvidence:
    """Evidence of observations under correlations R, along the share of the field.

    Attributes
    ----------
    obs : Observations
    residual : (n,)
        Responses about their trend; the evidence with the trend integrated out does not see the difference.
    trend : (n, q)
        Orthonormal columns that span the trend.
    """

    obs: Observations
    residual: FloatArray
    trend: FloatArray

    @classmethod
    def of(cls, obs: Observations) -> ShareEvidence:
        """For observations; the trend is made orthonormal, so that no column is too small or too large."""
        trend = np.linalg.qr(obs.rows.trend)[0] if obs.n_trend else obs.rows.trend
        return cls(obs, residual_of(obs), trend)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the total variance."""
        return self.obs.total - self.obs.n_trend

    def along_shares(self, correlation: FloatArray, logit: FloatArray) -> Line:
        """Total variance integrated out, where no error is known beside the noise; O(n^3 + k n).

        The variances are those of the Gaussian whose 95 % interval is that of Student's t.
        """
        return self._along(Tridiagonal.of(*self._relative(correlation, 1 / self.obs.weight)), logit)

    def at_shares(self, correlation: FloatArray) -> Callable[[FloatArray], Line]:
        """The same for few shares, of which each costs a factor, n^3 / 3."""
        form = Direct(*self._relative(correlation, 1 / self.obs.weight))
        return lambda logit: self._along(form, logit)

    def _along(self, form: Form, logit: FloatArray) -> Line:
        obs, share, rest = self.obs, special.expit(logit), special.expit(-logit)
        logdet, square = self._forms(form, share, rest)
        copies = obs.total - len(obs)  # beyond the first of each merged row
        square = square + obs.scatter.sum() / rest
        log_evidence = -0.5 * (logdet + copies * np.log(rest) + self.freedom * np.log(square))
        wider = (special.stdtrit(self.freedom, limits.STUDENT_QUANTILE) / special.ndtri(limits.STUDENT_QUANTILE)) ** 2
        variance = wider * square / self.freedom
        return Line(logit, log_evidence, variance * share, variance * rest)

    def along_fields(self, correlation: FloatArray, noise: float, logit: FloatArray, total: float) -> Line:
        """At one noise variance beside the known errors; the field is f / (f + total) = the share."""
        obs, field = self.obs, total * np.exp(logit)
        rows = np.maximum(obs.copy_variance(noise) / obs.weight, 1e-10 * total)
        form = Tridiagonal.of(*self._relative(correlation, rows))
        logdet, square = self._forms(form, field, np.ones(len(field)))
        copies = obs.replicate_terms(noise)[0] if np.all(obs.copy_variance(noise) > 0) else 0.0
        log_evidence = copies - 0.5 * (logdet + np.sum(np.log(rows)) + square)
        return Line(logit, log_evidence, field, np.full(len(field), noise))

    def _relative(self, correlation: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The correlation relative to the noise of the rows, and so the columns of the trend and the residual."""
        columns = np.asfortranarray(np.column_stack([self.trend, self.residual]))
        if np.all(rows == 1):
            return correlation, columns
        root = 1 / np.sqrt(rows)
        return correlation * root * root[:, None], columns * root[:, None]

    def _forms(self, form: Form, field: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log determinant, that of the trend's precision included, and squared length of the residual, (k,) each."""
        found = [form.shifted(f, s) for f, s in zip(field, noise, strict=True)]
        logdet, products = np.array([each[0] for each in found]), np.stack([each[1] for each in found])
        q = self.trend.shape[1]
        square = products[:, q, q]
        if q:
            precision, with_y = products[:, :q, :q], products[:, :q, q]
            coef = np.linalg.solve(precision, with_y[:, :, None])[:, :, 0]
            logdet = logdet + np.linalg.slogdet(precision)[1]
            square = square - np.sum(with_y * coef, axis=1)
        return logdet, np.maximum(square, 1e-300)


class Form(Protocol):
    """A symmetric matrix, with some columns, that is to be shifted."""

    def shifted(self, factor: float, shift: float) -> tuple[float, FloatArray]:
        """Log determinant of A = factor * matrix + shift, and columns' A^-1 columns."""


@dataclass(frozen=True)
class Direct:
    """A symmetric matrix as it is, with some columns, (n, p): each shift costs a Cholesky factor."""

    matrix: FloatArray
    columns: FloatArray

    def shifted(self, factor: float, shift: float) -> tuple[float, FloatArray]:
        """Log determinant of A = factor * matrix + shift, and columns' A^-1 columns; O(n^3 / 3)."""
        shifted = np.multiply(self.matrix.T if self.matrix.flags.c_contiguous else self.matrix, factor, order="F")
        np.einsum("ii->i", shifted)[:] += shift
        root, failed = linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
        if failed:
            return Tridiagonal.of(self.matrix, self.columns).shifted(factor, shift)
        half = linalg.blas.dtrsm(1.0, root, self.columns, lower=1)
        return 2 * float(np.sum(np.log(root.diagonal()))), half.T @ half


@dataclass(frozen=True)
class Tridiagonal:
    """A symmetric matrix as Q T Q' with T tridiagonal, and Q' times some columns.

    Attributes
    ----------
    diagonal : (n,)
    beside : (n - 1,)
    columns : (n, p)
    """

    diagonal: FloatArray
    beside: FloatArray
    columns: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, columns: FloatArray) -> Tridiagonal:
        """By Householder's reflections; O(n^3)."""
        n = len(matrix)
        if n == 1:
            return cls(matrix[0].copy(), np.zeros(0), columns)
        packed, diagonal, beside, tau, _ = linalg.lapack.dsytrd(matrix, lower=1, lwork=limits.REFLECTIONS * n)
        turned = np.array(columns, order="F")
        # Q leaves the first row as it is; its reflections lie below the diagonal, as those of a QR factorisation do
        work = limits.REFLECTIONS * columns.shape[1]
        turned[1:] = linalg.lapack.dormqr("L", "T", packed[1:, :-1], tau, turned[1:], work)[0]
        return cls(diagonal, beside, turned)

    def shifted(self, factor: float, shift: float) -> tuple[float, FloatArray]:
        """Log determinant of A = factor * matrix + shift, and columns' A^-1 columns; O(n)."""
        if len(self.beside):
            d, e, info = linalg.lapack.dpttrf(factor * self.diagonal + shift, factor * self.beside)
            if info == 0:
                solved, _ = linalg.lapack.dpttrs(d, e, self.columns)
                return float(np.sum(np.log(d))), self.columns.T @ solved
        # one row, or rounding has made an eigenvalue negative
        values, both = self._eigen
        g = factor * np.maximum(values, 0.0) + shift
        return float(np.sum(np.log(g))), both.T @ (both / g[:, None])

    @cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, and the columns in terms of the eigenvectors."""
        values, vectors = linalg.eigh_tridiagonal(self.diagonal, self.beside)
        return values, vectors.T @ self.columns
