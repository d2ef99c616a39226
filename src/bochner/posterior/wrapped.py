"""A posterior that answers through another one: what is not changed on the way is the other's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.posterior.base import Cost, Posterior


@dataclass(frozen=True)
class WrappedPosterior(Posterior):
    """What a posterior says of itself, by the one within; mean, variance, covariance and draws are left to be told."""

    inner: Posterior

    @property
    def trend_coef(self) -> FloatArray:  # type: ignore[override]
        return self.inner.trend_coef

    @property
    def takes_areas(self) -> bool:  # type: ignore[override]
        return self.inner.takes_areas

    @property
    def evidence_told(self) -> str:  # type: ignore[override]
        return self.inner.evidence_told

    @property
    def beyond(self) -> str:  # type: ignore[override]
        return self.inner.beyond

    def trend_covariance(self) -> FloatArray:
        return self.inner.trend_covariance()

    @property
    def cost(self) -> Cost:
        return self.inner.cost

    def outside(self, coords: FloatArray) -> NDArray[np.bool_]:
        return self.inner.outside(coords)

    @property
    def feature_coef(self) -> FloatArray:
        return self.inner.feature_coef

    @property
    def left_out(self) -> float:
        return self.inner.left_out
