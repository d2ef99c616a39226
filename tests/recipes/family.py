"""A family of one's own: exponential waiting times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.families import Derivatives, Family, Link, register_family
from bochner.families.base import check_finite, refuse
from bochner.families.links import Log, by_name
from bochner.families.overflow import bounded_exp


@dataclass(frozen=True)
class Exponential(Family):
    r"""Waiting times without a memory.

    .. math:: p(y \mid \eta) = \exp(-\eta - y e^{-\eta})
    """

    name: ClassVar[str] = "exponential"
    links: ClassVar[Mapping[str, Link]] = by_name(Log())
    law: ClassVar[str] = "its {inverse} is the mean {response}, and single values are exponential"
    positive_only: ClassVar[bool] = True

    link: str = "log"

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_finite(y)
        refuse(y <= 0, "y is {y} in row {row}; needed is a time > 0: correct or drop that row.", y=y)

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return np.log(y)

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(-eta - y * bounded_exp(-eta))

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        waited = y * bounded_exp(-eta)
        return Derivatives(waited - 1, waited, -waited)

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.broadcast_to(self.mean(np.minimum(eta, 350.0)) ** 2, np.broadcast(eta, size).shape)

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-y * bounded_exp(-eta)))

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        waited = y * bounded_exp(-eta)
        return np.asarray(waited * np.exp(-waited))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return square

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        return np.asarray(self.mean(eta) * rng.standard_exponential(np.shape(eta)))


register_family(Exponential())
