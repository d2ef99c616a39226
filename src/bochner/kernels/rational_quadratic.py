"""The rational quadratic kernel: a mixture of squared exponentials of many scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.kernels.bessel import log_bessel_k
from bochner.kernels.parameters import check_positive
from bochner.kernels.stationary import IsotropicKernel


@dataclass(frozen=True, repr=False)
class RationalQuadratic(IsotropicKernel):
    r"""Rational quadratic kernel, for fields that are smooth at many scales at once.

    .. math:: k(r) = \sigma^2 \left(1 + \frac{r^2}{2 \alpha \ell^2}\right)^{-\alpha}

    Parameters
    ----------
    length_scale : float or tuple of float
        One length scale, or one per axis, in the unit of the coordinates.
    variance : float
        Variance of the field.
    alpha : float
        Mixing of scales, learned with the rest; large values approach the squared exponential.
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, alpha=self.alpha)

    @property
    def shapes(self) -> tuple[str, ...]:
        return ("alpha",)

    def correlation(self, distance: FloatArray) -> FloatArray:
        return np.exp(-self.alpha * np.log1p(distance**2 / (2 * self.alpha)))

    def decay(self, distance: FloatArray) -> FloatArray:
        return distance**2 * np.exp(-(self.alpha + 1) * np.log1p(distance**2 / (2 * self.alpha)))

    def radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        return np.exp(self.log_radial_density(w, dim))

    def log_radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        # omega = z sqrt(g), z Gaussian and g ~ Gamma(alpha, rate alpha); integrating g out leaves a Bessel K.
        a, order = self.alpha, self.alpha - dim / 2
        t = np.sqrt(2 * a) * np.maximum(w, 1e-12)
        log_constant = np.log(2) + a * np.log(a) - special.gammaln(a) - dim / 2 * np.log(2 * np.pi)
        return np.asarray(log_constant + order * np.log(t / (2 * a)) + log_bessel_k(order, t))
