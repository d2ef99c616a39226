"""Cholesky factor of a dense precision matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.resources import current, look_around
from bochner.solvers import limits
from bochner.solvers.base import Factor, Report


@dataclass(frozen=True)
class CholeskyFactor(Factor):
    """P = L L', columns scaled to a unit diagonal first. The last `n_trend` columns are the trend."""

    root: FloatArray  # lower
    scale: FloatArray
    n_trend: int
    report: Report
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # what can be made again does not travel

    def solve(self, b: FloatArray) -> FloatArray:
        scale = self.scale if b.ndim == 1 else self.scale[:, None]
        if not b.size:
            return b * scale
        return np.asarray(linalg.lapack.dpotrs(self.root, b * scale, lower=1)[0] * scale)

    def half_solve(self, b: FloatArray) -> FloatArray:
        """L^-1 b, whose squared length is b'P^-1 b; (p,) or (p, k)."""
        if not len(self.root):
            return b
        if b.ndim == 1:
            return np.asarray(linalg.blas.dtrsv(self.root, b * self.scale, lower=1))
        look_around()
        # X L' = b' from the right: rows of many columns, as numpy keeps them, need no second copy in Fortran's order
        scaled = np.multiply(b, self.scale[:, None], order="C")
        return np.asarray(linalg.blas.dtrsm(1.0, self.root, scaled.T, side=1, lower=1, trans_a=1, overwrite_b=1).T)

    def half_inverse(self, kind: type[np.floating[Any]] = np.float64) -> FloatArray:
        """L^-1, a lower triangle, in numbers of some kind; its Gram matrix is P^-1."""
        inverse = _inverted(self.root.astype(kind, order="F", copy=False))
        return np.multiply(inverse, self.scale.astype(kind), order="F")

    def logdet(self) -> float:
        return float(2 * np.sum(np.log(self.root.diagonal() / self.scale)))

    def trend_logdet(self) -> float:
        # The last block of the factor is the root of the Schur complement.
        first = len(self.root) - self.n_trend
        return float(2 * np.sum(np.log(np.diag(self.root)[first:]) - np.log(self.scale[first:])))

    def quadratic_form(self, phi: FloatArray) -> FloatArray:
        if not len(self.root):
            return np.zeros(len(phi))
        look_around()
        # rows of phi, as numpy keeps them, are the columns that BLAS wants
        inverse = self._inverse_for(len(phi))
        if inverse is None:
            scaled = np.multiply(phi, self.scale, order="C", dtype=np.float64)
            whitened = linalg.blas.dtrsm(1.0, self.root, scaled.T, lower=1, overwrite_b=1).T
        else:
            columns = np.array(phi, order="C", dtype=np.float64)
            whitened = linalg.blas.dtrmm(1.0, inverse, columns.T, lower=1, overwrite_b=1).T
        return np.asarray(np.einsum("ij,ij->i", whitened, whitened))

    def _inverse_for(self, n_rows: int) -> FloatArray | None:
        """L^-1, kept, for so many rows at once that it pays: products take a third to a half of substitution.

        By the rows of this call alone: the same call gives the same bits, whatever was asked before.
        """
        p = len(self.root)
        if n_rows < limits.INVERSE_FROM * p or p > limits.INVERTED_COLUMNS:
            return None
        if "inverse" not in self._cache:
            if 16.0 * p**2 > current().room:
                return None
            self._cache["inverse"] = self.half_inverse()
        found: FloatArray = self._cache["inverse"]
        return found

    def draw(self, n_draws: int, rng: Generator) -> FloatArray:
        z = rng.standard_normal((len(self.root), n_draws))
        if not len(self.root):  # scipy before 1.14 solves no system without unknowns
            return z
        return np.asarray(linalg.solve_triangular(self.root, z, lower=True, trans="T") * self.scale[:, None])


def cholesky_factor(precision: FloatArray, n_trend: int = 0, added: FloatArray | float = 0.0) -> CholeskyFactor:
    """Factor a symmetric positive definite matrix, `added` to its diagonal; O(p^3 / 3), two matrices beside it.

    A diagonal scaling brings columns of very different size to the same footing.
    """
    if len(precision) == 0:  # no trend columns
        return CholeskyFactor(np.zeros((0, 0)), np.zeros(0), 0, Report("cholesky", 0))
    look_around()
    diagonal = precision.diagonal() + added
    scale = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
    report = Report("cholesky", len(precision))
    root = _root(precision, scale, diagonal * scale * scale)
    if root is None:
        report = Report("cholesky", len(precision), {"jitter": limits.FACTOR_JITTER})
        root = _root(precision, scale, diagonal * scale * scale + limits.FACTOR_JITTER)
    if root is None:
        raise ConvergenceError(
            f"the precision matrix of {len(precision)} coefficients is not positive definite even after "
            f"{limits.FACTOR_JITTER:g} was "
            f"added to its scaled diagonal; raise noise_variance, or drop collinear covariates."
        )
    return CholeskyFactor(root, scale, n_trend, report)


def _root(matrix: FloatArray, scale: FloatArray, diagonal: FloatArray) -> FloatArray | None:
    """Lower Cholesky factor of a scaled matrix with a diagonal of its own; None if it is not positive definite.

    By LAPACK itself: around a small matrix SciPy's checks take longer than the factor.
    """
    # of a symmetric matrix that lies row by row, the transpose lies as LAPACK wants it
    scaled = np.multiply(matrix.T if matrix.flags.c_contiguous else matrix, scale, order="F")
    scaled *= scale[:, None]
    np.einsum("ii->i", scaled)[:] = diagonal
    root, failed = linalg.lapack.dpotrf(scaled, lower=1, clean=1, overwrite_a=1)
    return None if failed else np.asarray(root)


def _inverted(root: FloatArray) -> FloatArray:
    """Inverse of a lower triangle by halves, whose products are quicker than LAPACK's way through its columns."""
    n, single = len(root), root.dtype == np.float32
    if n <= limits.INVERTED_ROWS:
        return np.asarray((linalg.lapack.strtri if single else linalg.lapack.dtrtri)(root, lower=1)[0])
    half = n // 2
    first, last = _inverted(root[:half, :half]), _inverted(root[half:, half:])
    inverse = np.zeros((n, n), root.dtype, order="F")
    inverse[:half, :half], inverse[half:, half:] = first, last
    product = linalg.blas.strmm if single else linalg.blas.dtrmm
    right = product(-1.0, first, root[half:, :half], side=1, lower=1)
    inverse[half:, :half] = product(1.0, last, right, lower=1, overwrite_b=1)
    return inverse
