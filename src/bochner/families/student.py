"""The Student family: a response that scatters about its mean, now and then far from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy import optimize, special

from bochner.arrays import FloatArray, positive
from bochner.exceptions import PartError
from bochner.families.averages import in_chunks
from bochner.families.base import Derivatives, Family, check_finite
from bochner.families.links import Identity, Link, by_name

_FIRST_DOF = 4.0
_LEARNED_DOF = (2.1, 100.0)  # above two, so that a standard deviation exists; beyond a hundred it is a Gaussian
_LOG_PRECISION_STEP = 0.4  # of the log precision in the mixture, at most: densities are good to 1e-9
_MAX_REFITTED = 4_000  # rows that are enough to learn two parameters
_NO_MASS = 1e-14  # of the mixture, in the far tails


@dataclass(frozen=True)
class Student(Family):
    r"""Measurements with outliers: Student t errors about the surface.

    .. math:: y = \eta + \sqrt{\phi}\, t_\nu, \quad \mathrm{Var}\,(y \mid \eta) = \phi \nu / (\nu - 2)

    The dispersion :math:`\phi` is the square of the scale of the errors, and :math:`\nu` are their degrees of freedom:
    the fewer, the farther single rows may lie from the surface without bending it.

    Such noise is Gaussian with a hidden precision of each row, gamma with mean :math:`1 / \phi`. Given eta, its
    expectation is :math:`(\nu + 1) / (\nu \phi + (y - \eta)^2)`: rows count by it, and outliers hardly do.
    Minus the second derivative of the log density can be negative; the curvature is its expectation,
    :math:`(\nu + 1) / ((\nu + 3) \phi)`.

    Parameters
    ----------
    dof : float, optional
        Degrees of freedom; None: learned. With two or fewer there is no standard deviation.
    """

    name: ClassVar[str] = "student"
    links: ClassVar[Mapping[str, Link]] = by_name(Identity())
    law: ClassVar[str] = "the {response} scatters about that sum with Student t noise: now and then it lies far off"
    has_dispersion: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    reweighted: ClassVar[bool] = True

    dof: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dof is not None:
            object.__setattr__(self, "dof", positive(self.dof, "dof"))

    @property
    def parameters(self) -> dict[str, float | None]:
        return {"dispersion": self.dispersion, "dof": self.dof}

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_finite(y)

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        nu, phi = self._dof, self._dispersion
        # log Gamma((nu + 1) / 2) - log Gamma(nu / 2) without the cancellation of large ones
        constant = np.log(special.poch(nu / 2, 0.5)) - 0.5 * np.log(np.pi * nu * phi)
        return np.asarray(constant - 0.5 * (nu + 1) * np.log1p(self._square(y, eta) / nu))

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        nu, phi = self._dof, self._dispersion
        score = (nu + 1) / (nu + self._square(y, eta)) * (y - eta) / phi
        return Derivatives(score, np.full_like(score, (nu + 1) / ((nu + 3) * phi)), np.zeros_like(score))

    def dispersion_slopes(
        self, y: FloatArray, eta: FloatArray, size: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        nu, square = self._dof, self._square(y, eta)
        weight = (nu + 1) / (nu + square)
        d = self.derivatives(y, eta, size)
        return 0.5 * (weight * square - 1), -d.score * nu / (nu + square), -d.curvature

    def expected_precision(self, square: FloatArray, variance: FloatArray) -> FloatArray:
        return in_chunks(self._precision, len(self.noise_parts()[1]), square, variance)

    def _precision(self, square: FloatArray, variance: FloatArray) -> FloatArray:
        log_density, parts = self._parts(square, variance)
        share = np.exp(log_density - log_density.max(axis=0))
        return np.asarray((share / parts[:, None]).sum(axis=0) / share.sum(axis=0))

    def _parts(self, square: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log densities (k, n) of the Gaussian parts, eta being known up to a variance, and their variances (k,)."""
        parts, mass = self.noise_parts()
        total = parts[:, None] + variance
        return np.log(mass)[:, None] - 0.5 * (np.log(2 * np.pi * total) + square / total), parts

    def log_average(self, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
        def average(square: FloatArray, variance: FloatArray) -> FloatArray:
            return np.asarray(special.logsumexp(self._parts(square, variance)[0], axis=0))

        return in_chunks(average, len(self.noise_parts()[1]), (y - mean) ** 2, variance)

    def refitted(self, square: FloatArray, variance: FloatArray, weight: FloatArray) -> Self:
        if not self.unknown:
            return self
        every = max(1, len(square) // _MAX_REFITTED)
        square, variance, weight = square[::every], variance[::every], weight[::every]
        excess = np.maximum(square - variance, 0.1 * square)
        size = max(1.4826**2 * float(np.median(excess)), 1e-12 * float(np.mean(square)), 1e-300)
        off, zero = np.sqrt(square), np.zeros(len(square))
        first = {"dispersion": size, "dof": _FIRST_DOF}
        ends = {"dispersion": (1e-10 * size, 1e10 * size), "dof": _LEARNED_DOF}

        def at(x: FloatArray) -> Student:
            return self.replace(**dict(zip(self.unknown, map(float, np.exp(x)), strict=True)))

        def negative(x: FloatArray) -> float:
            return -float(weight @ at(x).log_average(off, zero, variance, zero)) / float(weight.sum())

        found = optimize.minimize(
            negative,
            np.log([first[name] for name in self.unknown]),
            method="L-BFGS-B",
            bounds=[tuple(np.log(ends[name])) for name in self.unknown],
        )
        return self.replace(**at(np.asarray(found.x)).parameters)

    def noise_parts(self) -> tuple[FloatArray, FloatArray]:
        """Variances and masses of Gaussians: t is normal with a precision that is gamma; trapezoidal in its log."""
        nu = self._dof
        step, reach = min(_LOG_PRECISION_STEP, 0.6 * float(np.sqrt(2 / nu))), -2 * np.log(_NO_MASS) / nu
        x = step * np.arange(np.floor(-(reach + 2) / step), np.ceil(np.log(reach + 10) / step) + 1)
        log_mass = 0.5 * nu * (x + 1 - np.exp(x))  # at most zero
        x, log_mass = x[log_mass > np.log(_NO_MASS)], log_mass[log_mass > np.log(_NO_MASS)]
        mass = np.exp(log_mass)
        return self._dispersion * np.exp(-x), mass / mass.sum()

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        nu = self._dof
        return np.full(np.shape(eta), self._dispersion * nu / (nu - 2) if nu > 2 else np.inf)

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.asarray(special.stdtr(self._dof, (y - eta) / np.sqrt(self._dispersion)))

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        return np.exp(self.log_density(y, eta, size))

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        return self.variance(mean, size)

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        return np.asarray(eta + np.sqrt(self._dispersion) * rng.standard_t(self._dof, np.shape(eta)))

    def _square(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        return np.asarray(((y - eta) / np.sqrt(self._dispersion)) ** 2)

    @property
    def _dof(self) -> float:
        if self.dof is None:
            raise PartError(
                f"The dof of family {self.name!r} is None, to be learned, and a number is needed here; set it: "
                "family.replace(dof=4)."
            )
        return self.dof
