"""Forms of a kernel that are learned: a kernel in coordinates that a search moves in, with priors and starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.policy import POLICY
from bochner.kernels import Kernel, Matern

Density = tuple[float, float]
"""Log density of one number, and its slope."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data that do not depend on the direction of the axes.

    Attributes
    ----------
    extent : float
        1.2 times the greatest distance of a row from the centroid.
    spacing : float
        Median distance to the nearest other place.
    sd : float
        Of the linear predictor: of the responses about the trend, or 1 behind a link.
    """

    extent: float
    spacing: float
    sd: float

    @classmethod
    def of(cls, coords: FloatArray, sd: float) -> Sizes:
        """Sizes of some rows."""
        centred = coords - coords.mean(axis=0)
        places = np.unique(coords, axis=0)
        spacing = float(np.median(cKDTree(places).query(places, k=2)[0][:, 1]))
        return cls(1.2 * float(np.sqrt((centred**2).sum(axis=1).max())), spacing, sd)


@dataclass(frozen=True)
class OneField:
    """One Matern field with a learned metric, its smoothness continuous, and noise.

    A point is [log range, stretches, log smoothness, sizes]. The sizes are the logit of the field's share of the
    variance, where the evidence integrates over a common factor (`free`); else log variance, and log noise variance
    where that is learned.
    """

    sizes: Sizes
    dim: int
    noise: float | None  # None: learned
    free: bool
    stretched: bool = True
    n_effects: int = 0  # effects of covariates that are shrunk together

    @property
    def name(self) -> str:
        return "matern-metric" if self.n_stretch else "matern"

    @property
    def told(self) -> str:
        """The form in words."""
        return "one Matérn field, " + ("stretched in some direction" if self.n_stretch else "alike in all directions")

    @property
    def n_stretch(self) -> int:
        return self.dim * (self.dim + 1) // 2 - 1 if self.stretched and self.dim > 1 else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Of the entries of a point."""
        sizes = ("share",) if self.free else ("variance", *(["noise_variance"] if self.noise is None else []))
        effects = ("effects",) if self.n_effects else ()
        return ("length_scale", *(f"stretch[{i}]" for i in range(self.n_stretch)), "nu", *sizes, *effects)

    def at(self, x: FloatArray) -> Theta:
        """Hyperparameters at a point; kernel and noise variance sum to 1 where a common factor is integrated out."""
        n = 1 + self.n_stretch
        if self.free:
            variance, noise = special.log_expit(x[n + 1]), float(special.expit(-x[n + 1]))
        else:
            variance, noise = x[n + 1], float(np.exp(x[n + 2])) if self.noise is None else self.noise
        kernel = self._kernel().with_theta(np.r_[x[:n], variance, x[n]])
        return Theta(kernel, noise, float(np.exp(x[-1])) / self.n_effects) if self.n_effects else Theta(kernel, noise)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of [theta of the kernel, log noise variance, log variance of the effects] in a point."""
        n = 1 + self.n_stretch
        slopes = np.zeros((n + 4, len(x)))
        slopes[:n, :n] = np.eye(n)
        slopes[n + 1, n] = 1.0
        if self.free:
            slopes[n, n + 1], slopes[n + 2, n + 1] = special.expit(-x[n + 1]), -special.expit(x[n + 1])
        else:
            slopes[n, n + 1] = 1.0
            if self.noise is None:
                slopes[n + 2, n + 2] = 1.0
        if self.n_effects:
            slopes[n + 3, -1] = 1.0
        return slopes

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Log prior density of a point, normalised, and its gradient."""
        n = 1 + self.n_stretch
        value, gradient = 0.0, np.zeros(len(x))
        parts = [(0, range_prior(x[0], self.sizes)), (n, nu_prior(x[n]))]
        if self.free:
            parts.append((n + 1, share_prior(x[n + 1])))
        else:
            parts.append((n + 1, sd_prior(x[n + 1], POLICY.field_rate / self.sizes.sd)))
            if self.noise is None:
                parts.append((n + 2, sd_prior(x[n + 2], POLICY.noise_rate / self.sizes.sd)))
        if self.n_effects:
            parts.append((len(x) - 1, sd_prior(x[-1], POLICY.effect_rate / (1.0 if self.free else self.sizes.sd))))
        for i, (density, slope) in parts:
            value, gradient[i] = value + density, slope
        if self.n_stretch:
            density, slopes = stretch_prior(x[1:n], self.dim)
            value, gradient[1:n] = value + density, slopes
        return value, gradient

    @property
    def variance(self) -> int:
        """Position of the log variance in the kernel's theta."""
        return 1 + self.n_stretch

    def prior_bend(self, x: FloatArray) -> FloatArray:
        """Minus the Hessian of the log prior, without directions in which it is negative."""
        step = 1e-4
        slopes = [self.log_prior(x + e)[1] - self.log_prior(x - e)[1] for e in step * np.eye(len(x))]
        values, vectors = np.linalg.eigh(-(np.array(slopes) + np.array(slopes).T) / (4 * step))
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def frame(self, x: FloatArray) -> FloatArray:
        """Orthonormal directions, one a column, that turn with the coordinates: along the stretch at a point."""
        frame = np.eye(len(x))
        if self.n_stretch == 2 and np.any(x[1:3]):
            along = x[1:3] / np.linalg.norm(x[1:3])
            frame[1:3, 1:3] = np.column_stack([along, [-along[1], along[0]]])
        return frame

    def bounds(self) -> FloatArray:
        """Where a search may go, (k, 2)."""
        extent = np.log(self.sizes.extent)
        level = 2 * np.log(self.sizes.sd)
        sizes = [(-9.0, 16.0)] if self.free else [(level - 10, level + 5), (level - 12, level + 4)]
        lengths = [(extent - 7, extent + 2), *[(-6.0, 6.0)] * self.n_stretch]
        sizes = sizes[: len(self.names) - len(lengths) - 1 - bool(self.n_effects)]
        effects = [(-14.0 + (0.0 if self.free else level), 5.0 + (0.0 if self.free else level))] * bool(self.n_effects)
        return np.array([*lengths, (np.log(0.2), np.log(6.0)), *sizes, *effects])

    def starts(self, begun: Sequence[FloatArray] = ()) -> list[FloatArray]:
        """Points from which a search may begin: on a grid, or the modes of the form without a stretch."""
        still = np.zeros(self.n_stretch)
        if self.n_stretch and begun:
            return [np.r_[x[:1], still, x[1:]] for x in begun]
        level = 2 * np.log(self.sizes.sd)
        effects = [0.0 if self.free else level] * bool(self.n_effects)
        found = []
        for reach, share, nu in product(POLICY.start_ranges, POLICY.start_shares, POLICY.start_nus):
            size = [share] if self.free else [level + special.log_expit(share), level + special.log_expit(-share)]
            size = size[: 1 if self.noise is not None else 2]
            found.append(np.r_[np.log(reach * self.sizes.extent), still, np.log(nu), size, effects])
        return found

    def _kernel(self) -> Kernel:
        if not self.n_stretch:
            return Matern(1.0, nu=1.0, learn_nu=True)
        rotation = 0.0 if self.dim == 2 else (0.0, 0.0, 0.0)
        return Matern((1.0,) * self.dim, nu=1.0, learn_nu=True, rotation=rotation)


Form = OneField

# ------------------------------------------------------------------------------------ priors


def range_prior(log_range: float, sizes: Sizes) -> Density:
    """range^-power is gamma: unlikely below the spacing of the rows, and with a long tail."""
    shortest = min(POLICY.range_extent * sizes.extent, POLICY.range_spacings * sizes.spacing)
    power, fall = POLICY.range_power, shortest * np.exp(-log_range)
    constant = power * np.log(shortest) - special.gammaln(power)
    return float(constant - power * log_range - fall), float(fall - power)


def share_prior(logit: float) -> Density:
    """The field's share of the variance is Beta(1, power)."""
    power = POLICY.share_power
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
