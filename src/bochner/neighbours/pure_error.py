"""Pure error: what rows at the same place tell of the noise, whatever the field is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bochner.arrays import FloatArray
from bochner.neighbours.replicates import Replicates


@dataclass(frozen=True)
class PureError:
    r"""Density of the contrasts among m rows of equal place, trend and known error, given the noise.

    .. math:: (2 \pi s^2)^{-(m - 1) / 2}\, (\textstyle\prod_i w_i / W)^{1/2}\, e^{-\mathrm{scatter} / 2 s^2}

    Row i has variance :math:`s^2 / w_i`, and W is the sum of the :math:`w_i`. See `merge`.
    """

    contrasts: FloatArray  # (g,) m - 1 of each place with repeats
    scatter: FloatArray  # (g,) weighted sum of squares about the mean
    measurement_variance: FloatArray  # (g,)
    log_volume: float  # log of W over the product of the w_i, summed

    @classmethod
    def of(cls, merged: Replicates, measurement_variance: FloatArray) -> Self:
        """Of the places with more than one row."""
        several = merged.size > 1
        log_volume = np.sum(np.log(merged.weight[several]) - merged.log_weights[several])
        return cls(merged.size[several] - 1, merged.scatter[several], measurement_variance[several], float(log_volume))

    def information(self, noise_variance: float) -> float:
        """Expected information about log `noise_variance`."""
        s2 = np.maximum(noise_variance + self.measurement_variance, 1e-300)
        return 0.5 * float(np.sum(self.contrasts * (noise_variance / s2) ** 2))

    def log_density(self, noise_variance: float) -> tuple[float, float]:
        """Log density of all contrasts, and its derivative in log `noise_variance`."""
        s2 = np.maximum(noise_variance + self.measurement_variance, 1e-300)
        value = np.sum(self.contrasts * np.log(2 * np.pi * s2) + self.scatter / s2) + self.log_volume
        slope = np.sum(noise_variance / s2 * (self.contrasts - self.scatter / s2))
        return -0.5 * float(value), -0.5 * float(slope)
