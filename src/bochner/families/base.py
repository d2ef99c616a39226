"""The contract of a family: the pointwise mathematics of one observation."""

from __future__ import annotations

from typing import ClassVar

from bochner.arrays import FloatArray


class Family:
    """Law of a response given its linear predictor eta; all functions are pointwise."""

    name: ClassVar[str]

    def check(self, y: FloatArray) -> None:
        """Refuse responses outside the family's domain, naming the first bad row."""
        raise NotImplementedError

    def log_density(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """Log density, normalising constants included."""
        raise NotImplementedError

    def score(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """First derivative of the log density in eta."""
        raise NotImplementedError

    def curvature(self, y: FloatArray, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """Minus the second derivative of the log density in eta."""
        raise NotImplementedError

    def mean(self, eta: FloatArray) -> FloatArray:
        """Mean of the response."""
        raise NotImplementedError
