"""Evidence of the exact kernel for every share of the field at once, from one eigendecomposition.

The covariance of the rows is f R + s D: a field of variance f and correlation R, and noise of variance s whose share of
each row, D, is diagonal. With D^-1/2 R D^-1/2 = U diag(w) U' every pair (f, s) costs O(n) once the O(n^3) of the
eigenvalues is paid. Where no errors are known beside the noise, the total variance is integrated out with a flat prior
on its logarithm, and given the share of the field predictions follow Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

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
        obs, share, rest = self.obs, special.expit(logit), special.expit(-logit)
        logdet, square = self._forms(correlation, 1 / obs.weight, share, rest)
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
        logdet, square = self._forms(correlation, rows, field, np.ones(len(field)))
        copies = obs.replicate_terms(noise)[0] if np.all(obs.copy_variance(noise) > 0) else 0.0
        log_evidence = copies - 0.5 * (logdet + np.sum(np.log(rows)) + square)
        return Line(logit, log_evidence, field, np.full(len(field), noise))

    def _forms(
        self, correlation: FloatArray, rows: FloatArray, field: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Log determinant, that of the trend's precision included, and squared length of the residual, (k,) each."""
        root = 1 / np.sqrt(rows)
        values, vectors = np.linalg.eigh(correlation * root * root[:, None])
        both = vectors.T @ (np.column_stack([self.trend, self.residual]) * root[:, None])
        g = field[:, None] * np.maximum(values, 0.0) + noise[:, None]
        products = np.einsum("ia,ki,ib->kab", both, 1 / g, both, optimize=True)
        q = self.trend.shape[1]
        logdet, square = np.sum(np.log(g), axis=1), products[:, q, q]
        if q:
            precision, with_y = products[:, :q, :q], products[:, :q, q]
            coef = np.linalg.solve(precision, with_y[:, :, None])[:, :, 0]
            logdet = logdet + np.linalg.slogdet(precision)[1]
            square = square - np.sum(with_y * coef, axis=1)
        return logdet, np.maximum(square, 1e-300)
