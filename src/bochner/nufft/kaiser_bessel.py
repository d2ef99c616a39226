r"""Kaiser-Bessel bell, the kernel with which the built-in NUFFT spreads a point over its neighbours on the grid.

.. math:: \phi(u) = I_0(\beta \sqrt{1 - (2u/w)^2}) / I_0(\beta), \quad |u| \le w/2

u in grid cells, w whole. With a grid twice as fine as the modes need, the error falls tenfold with each unit of w.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from bochner.arrays import FloatArray
from bochner.nufft.contract import Array

UPSAMPLING = 2


@dataclass(frozen=True)
class KaiserBessel:
    """Bell that is `width` cells wide, of a grid so many times as fine as the modes need."""

    width: int
    upsampling: float = UPSAMPLING

    @property
    def beta(self) -> float:
        # pi (1 - 1/(2 upsampling)) = 2.356 per cell puts the edge of the bell's spectrum where the first alias
        # starts; the correction is fitted to the least mean square of all aliases, widths 2 to 14.
        return (np.pi * (1 - 0.5 / self.upsampling) - 0.0012) * self.width - 1 / self.width

    def at(self, u: FloatArray) -> FloatArray:
        """Height of the bell u cells from its middle."""
        inside = np.sqrt(np.maximum(0.0, 1 - (2 * u / self.width) ** 2))
        return np.asarray(special.i0(self.beta * inside) / special.i0(self.beta))

    def transform(self, xi: FloatArray) -> FloatArray:
        """Integral of phi(u) exp(-2 pi i xi u), for |xi| <= 1 / (2 upsampling) cycles per cell."""
        z = np.sqrt(self.beta**2 - (np.pi * self.width * xi) ** 2)
        return np.asarray(self.width * np.sinh(z) / (z * special.i0(self.beta)))

    def tap_coefficients(self) -> FloatArray:
        """Polynomials in z = 2t - 1 of the bell at its grid points, (degree + 1, width), the constant first."""
        return _tap_polynomials(self)

    def taps(self, t: Array) -> Array:
        """Bell at the `width` grid points from t - width/2 on, one row per t in [0, 1]."""
        coef = _tap_polynomials(self).astype(t.dtype)
        z = 2 * t - 1
        powers = np.ones((len(coef), len(t)), t.dtype)
        for k in range(1, len(coef)):
            np.multiply(powers[k - 1], z, out=powers[k])
        return np.asarray(powers.T @ coef)


def kernel_for(eps: float, n_bells: int) -> KaiserBessel:
    """Narrowest bell that keeps the relative error below eps when a product of n_bells is used."""
    # The root mean square of one bell's aliases is 0.036 at width 2 and falls by 10^0.966 per cell to 9e-13 at
    # width 13; those of several bells add in quadrature.
    digits = np.log10(np.sqrt(n_bells) / eps)
    return KaiserBessel(max(2, int(np.ceil(2 + (digits - 1.44) / 0.966))))


@cache
def _tap_polynomials(bell: KaiserBessel) -> FloatArray:
    """Coefficients (degree + 1, width) in z = 2t - 1; the bell is entire in u, so they fall fast."""
    degree = bell.width + 3
    nodes = chebyshev.chebpts1(degree + 1)
    values = bell.at(np.arange(bell.width) + (nodes[:, None] + 1) / 2 - bell.width / 2)
    series = chebyshev.chebfit(nodes, values, degree)
    return np.stack([np.resize(chebyshev.cheb2poly(tap), degree + 1) for tap in series.T], axis=1)
