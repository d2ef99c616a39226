"""Predictive: the law of new observations, a family averaged over what is known of its linear predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bochner.arrays import FloatArray
from bochner.families import Family
from bochner.posterior import quadrature
from bochner.posterior.mixture import Latent


@dataclass(frozen=True)
class Predictive:
    """Posterior predictive law of one new observation per row.

    Attributes
    ----------
    family : Family
        Law of an observation given eta; its dispersion, where it has one, is a number.
    eta : Latent
        Gaussian mixture of the linear predictor, offset and effect of the row included.
    size : ndarray of shape (n,)
        Trials or exposure.
    """

    family: Family
    eta: Latent
    size: FloatArray

    def cdf(self, value: FloatArray) -> FloatArray:
        """Probability of not more than one value per row, (n,)."""
        return quadrature.mixture_cdf(self.family, value, self.eta.means, self.eta.variances, self.eta.mass, self.size)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Log probability (of counts) or log density, (n,)."""
        pairs = zip(self.eta.means, self.eta.variances, strict=True)
        each = np.stack([quadrature.log_evidence(self.family, y, *pair, self.size) for pair in pairs])
        return np.asarray(special.logsumexp(each, axis=0, b=self.eta.mass[:, None]))

    def at(self, rows: NDArray[Any]) -> Predictive:
        """The law at some of the rows: indices or a mask."""
        return Predictive(self.family, self.eta.at(rows), self.size[rows])
