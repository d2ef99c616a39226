"""Prior densities of what is learned, each a function of an entry of theta with its slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.inference.learning.policy import POLICY

Density = tuple[float, float]
"""Log density of one number, and its slope."""

Prior = Callable[[float], Density]


@dataclass(frozen=True)
class Sizes:
    """Sizes of some coordinates that do not depend on the direction of the axes.

    Attributes
    ----------
    extent : float
        1.2 times the greatest distance of a row from the centroid.
    spacing : float
        Median distance to the nearest other place.
    """

    extent: float
    spacing: float

    @classmethod
    def of(cls, coords: FloatArray) -> Sizes:
        """Sizes of some rows."""
        centred = coords - coords.mean(axis=0)
        extent = 1.2 * float(np.sqrt((centred**2).sum(axis=1).max()))
        places = np.unique(coords, axis=0)
        if len(places) < 2:
            return cls(extent or 1.0, 0.1 * (extent or 1.0))
        spacing = float(np.median(cKDTree(places).query(places, k=2)[0][:, 1]))
        return cls(extent, spacing)


def range_prior(log_range: float, sizes: Sizes) -> Density:
    """range^-power is gamma: unlikely below the spacing of the rows, and with a long tail."""
    shortest = min(POLICY.range_extent * sizes.extent, POLICY.range_spacings * sizes.spacing)
    power, fall = POLICY.range_power, shortest * np.exp(-log_range)
    constant = power * np.log(shortest) - special.gammaln(power)
    return float(constant - power * log_range - fall), float(fall - power)


def range_density(ranges: FloatArray, extent: float, spacing: float) -> FloatArray:
    """Log prior density of the log range, (k,)."""
    sizes = Sizes(extent, spacing)
    return np.array([range_prior(float(np.log(one)), sizes)[0] for one in ranges])


def normal_prior(x: float, mean: float, sd: float) -> Density:
    """A normal law."""
    z = (x - mean) / sd
    return float(-0.5 * z**2 - np.log(sd * np.sqrt(2 * np.pi))), float(-z / sd)


def share_prior(logit: float, power: float) -> Density:
    """A share with the law Beta(1, power)."""
    density = np.log(power) + special.log_expit(logit) + power * special.log_expit(-logit)
    return float(density), float(special.expit(-logit) - power * special.expit(logit))


def sd_prior(log_variance: float, rate: float) -> Density:
    """The sd is exponential."""
    scaled = rate * np.exp(log_variance / 2)
    return float(np.log(scaled / 2) - scaled), float(0.5 - 0.5 * scaled)


def nu_prior(log_nu: float) -> Density:
    """Smoothness is lognormal about 1, and hardly outside of `nu_range`."""
    exponent, slope = _nu_exponent(np.array(log_nu))
    return float(exponent - _nu_constant()), float(slope)


def flat(x: float) -> Density:
    """No prior."""
    return 0.0, 0.0


def _nu_exponent(log_nu: FloatArray) -> tuple[FloatArray, FloatArray]:
    beyond = (log_nu - np.clip(log_nu, *np.log(POLICY.nu_range))) / POLICY.nu_edge
    exponent = -0.5 * (log_nu / POLICY.nu_sd) ** 2 - 0.5 * beyond**2
    return exponent, -log_nu / POLICY.nu_sd**2 - beyond / POLICY.nu_edge


@cache
def _nu_constant() -> float:
    grid = np.linspace(-8, 8, 16_001) * POLICY.nu_sd
    return float(np.log(np.sum(np.exp(_nu_exponent(grid)[0])) * (grid[1] - grid[0])))


def stretch_prior(entries: FloatArray, dim: int) -> tuple[float, FloatArray]:
    """Multivariate Student t of the traceless part of log metric: no direction is favoured."""
    weight = _squares(dim)
    squared = float(entries @ weight @ entries)
    k, nu, scale = len(entries), POLICY.stretch_freedom, POLICY.stretch_scale
    constant = special.gammaln((nu + k) / 2) - special.gammaln(nu / 2) - 0.5 * k * np.log(nu * np.pi * scale**2)
    constant += 0.5 * np.linalg.slogdet(weight)[1]
    inside = 1 + squared / (nu * scale**2)
    slope = -(nu + k) / (nu * scale**2 * inside) * (weight @ entries)
    return float(constant - 0.5 * (nu + k) * np.log(inside)), slope


def _squares(dim: int) -> FloatArray:
    """W with tr(B^2) / 2 = entries' W entries."""
    diagonal = np.eye(dim - 1) + np.ones((dim - 1, dim - 1))
    n_above = dim * (dim - 1) // 2
    weight = np.zeros((dim - 1 + n_above,) * 2)
    weight[: dim - 1, : dim - 1] = diagonal / 2
    weight[dim - 1 :, dim - 1 :] = np.eye(n_above)
    return weight
