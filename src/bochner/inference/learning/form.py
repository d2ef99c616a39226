"""A form of a model: a kernel in coordinates that a search moves in, with bounds, priors and starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.policy import POLICY
from bochner.kernels import Kernel

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


def field_prior(log_variance: float, scale: float) -> Density:
    """The sd is half normal: where a line parts two classes, a longer tail would make it as large as it allows."""
    scaled = np.exp(log_variance) / scale**2
    return float(0.5 * np.log(scaled / (2 * np.pi)) - 0.5 * scaled), float(0.5 - 0.5 * scaled)


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


Pair = tuple[Kernel, float]
"""A kernel and a noise variance."""


@dataclass(frozen=True)
class Common:
    """What all forms of a task have beside their kernels.

    Attributes
    ----------
    sd : float
        Of the linear predictor: of the responses about the trend, or 1 behind a link.
    noise : float or None
        Noise variance; None: learned.
    free : bool
        Whether the evidence integrates over a common factor of all variances.
    block_sizes : tuple of int
        Number of effects in each block of covariates that shares a prior variance.
    dispersion : float or None
        Of the family, to begin with, where it is learned.
    trend : array, optional
        Fixed effects to begin with, where they maximise the likelihood.
    proper : bool
        Whether there are priors; a likelihood has none.
    """

    sd: float
    noise: float | None
    free: bool = False
    block_sizes: tuple[int, ...] = ()
    dispersion: float | None = None
    trend: FloatArray | None = None
    proper: bool = True

    @property
    def unit(self) -> float:
        """Log variance at which the common factor begins, so that sums of squares keep their digits."""
        return 2 * float(np.log(self.sd)) if self.free else 0.0


@dataclass(frozen=True)
class Entry:
    """An entry of the kernel's part of a point: name, bounds and prior (None: of a stretch, which has one in all)."""

    name: str
    low: float
    high: float
    prior: Prior | None
    start: float = 0.0  # of a log length: that of the extent


Begun = Mapping[str, Sequence[Theta]]
"""Modes of simpler forms, by name, the best first."""

Starts = Callable[[Begun], Sequence[Pair]]


@dataclass(frozen=True)
class Form:
    """A kernel whose theta, but for its log variances, is `offset` + `matrix` x.

    A point is x, then the sizes (the logit of the field's share and those of its parts, where a common factor is
    integrated out; else log variances and log noise variance), log prior variances of the effects, log dispersion, and
    effects that maximise the likelihood.

    Attributes
    ----------
    name : str
    text : str
        The form in words.
    kernel : Kernel
    entries : tuple of Entry
        Of x.
    matrix, offset : (p, k), (p,)
        How x moves theta.
    common : Common
    starts : callable
        From the modes of simpler forms to kernels and noise variances to begin with.
    log_odds : float
        Log prior odds against the simplest form.
    extends : tuple of str
        Forms one of which has to be likely for this one to be searched for; none: it always is.
    """

    name: str
    text: str
    kernel: Kernel
    entries: tuple[Entry, ...]
    matrix: FloatArray
    offset: FloatArray
    common: Common
    starts: Starts
    log_odds: float = 0.0
    extends: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the entries of a point."""
        c = self.common
        parts = tuple(f"part[{i}]" for i in range(self.n_fields - 1))
        logs = ("variance",) if self.n_fields == 1 else tuple(f"variance[{i}]" for i in range(self.n_fields))
        sizes = ("share", *parts) if c.free else (*logs, *(["noise_variance"] if c.noise is None else []))
        effects = tuple(f"effects[{i}]" if len(c.block_sizes) > 1 else "effects" for i in range(len(c.block_sizes)))
        dispersion = () if c.dispersion is None else ("dispersion",)
        trend = () if c.trend is None else tuple(f"trend[{i}]" for i in range(len(c.trend)))
        return (*(e.name for e in self.entries), *sizes, *effects, *dispersion, *trend)

    @cached_property
    def variances(self) -> IntArray:
        """Positions of the log variances in the kernel's theta."""
        return np.flatnonzero([h.role.is_variance for h in self.kernel.hyperparameters])

    @property
    def n_fields(self) -> int:
        return len(self.variances)

    @property
    def n_sizes(self) -> int:
        """Number of entries but for effects that maximise the likelihood."""
        return self._ends[-1]

    @property
    def scaled(self) -> list[int]:
        """Entries of the evidence's gradient that a common factor of all variances moves."""
        p = len(self.kernel.theta)
        return [*self.variances, p, *range(p + 1, p + 1 + len(self.common.block_sizes))]

    @cached_property
    def _ends(self) -> tuple[int, int, int, int]:
        """Where kernel, sizes, effects and dispersion end."""
        c, k = self.common, len(self.entries)
        sizes = k + self.n_fields + (0 if c.free else int(c.noise is None))
        effects = sizes + len(c.block_sizes)
        return k, sizes, effects, effects + int(c.dispersion is not None)

    def at(self, x: FloatArray) -> Theta:
        """Hyperparameters at a point; where a common factor is integrated, field and noise sum to the variance."""
        c, (k, sizes, effects, dispersed) = self.common, self._ends
        theta = self.offset + self.matrix @ x[:k]
        theta[self.variances], log_noise = self._sizes(x[k:sizes])
        prior = np.exp(x[sizes:effects] + c.unit) / np.array(c.block_sizes or 1.0)
        return Theta(
            self.kernel.with_theta(theta),
            c.noise if log_noise is None and c.noise is not None else float(np.exp(log_noise or 0.0)),
            tuple(float(v) for v in prior) if c.block_sizes else (),
            None if c.dispersion is None else float(np.exp(x[effects])),
            None if c.trend is None else x[dispersed:].copy(),
        )

    def _sizes(self, s: FloatArray) -> tuple[FloatArray, float | None]:
        """Log variances and, where it is learned, log noise variance."""
        if not self.common.free:
            return s[: self.n_fields], float(s[-1]) if self.common.noise is None else None
        parts, unit = special.log_softmax(np.r_[s[1:], 0.0]), self.common.unit
        return special.log_expit(s[0]) + parts + unit, float(special.log_expit(-s[0])) + unit

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of the evidence's entries in those of a point."""
        c, (k, sizes, *_) = self.common, self._ends
        p, n = len(self.kernel.theta), len(x)
        rows = p + 1 + n - sizes
        slopes = np.zeros((rows, n))
        slopes[:p, :k] = self.matrix
        slopes[self.variances, :k] = 0.0
        if c.free:
            t, weight = x[k], special.softmax(np.r_[x[k + 1 : sizes], 0.0])
            slopes[self.variances, k], slopes[p, k] = special.expit(-t), -special.expit(t)
            for i in range(self.n_fields - 1):
                slopes[self.variances, k + 1 + i] = (np.arange(self.n_fields) == i) - weight[i]
        else:
            slopes[self.variances, k + np.arange(self.n_fields)] = 1.0
            if c.noise is None:
                slopes[p, sizes - 1] = 1.0
        slopes[p + 1 :, sizes:] = np.eye(n - sizes)
        return slopes

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Log prior density of a point, normalised, and its gradient."""
        c, (k, sizes, effects, _) = self.common, self._ends
        gradient = np.zeros(len(x))
        if not c.proper:
            return 0.0, gradient
        parts = [(i, e.prior(float(x[i]))) for i, e in enumerate(self.entries) if e.prior is not None]
        value = 0.0
        if c.free:
            parts.append((k, share_prior(x[k], POLICY.share_power)))
            weight = special.softmax(np.r_[x[k + 1 : sizes], 0.0])
            value += float(np.sum(np.log(weight)) + special.gammaln(self.n_fields)) if self.n_fields > 1 else 0.0
            gradient[k + 1 : sizes] = 1 - self.n_fields * weight[:-1]
        else:
            for i in range(self.n_fields):
                parts.append((k + i, field_prior(x[k + i], POLICY.field_scale * c.sd)))
            if c.noise is None:
                parts.append((sizes - 1, sd_prior(x[sizes - 1], POLICY.noise_rate / c.sd)))
        for i in range(sizes, effects):
            parts.append((i, sd_prior(x[i], POLICY.effect_rate / (1.0 if c.free else c.sd))))
        if c.dispersion is not None:
            parts.append((effects, normal_prior(x[effects], np.log(0.5), POLICY.dispersion_sd)))
        for i, (density, slope) in parts:
            value, gradient[i] = value + density, slope
        if len(self._stretch):
            density, slopes = stretch_prior(x[self._stretch], self._stretch_dim)
            value, gradient[self._stretch] = value + density, slopes
        return value, gradient

    def prior_bend(self, x: FloatArray) -> FloatArray:
        """Minus the Hessian of the log prior, without directions in which it is negative."""
        step = 1e-4
        slopes = [self.log_prior(x + e)[1] - self.log_prior(x - e)[1] for e in step * np.eye(len(x))]
        values, vectors = np.linalg.eigh(-(np.array(slopes) + np.array(slopes).T) / (4 * step))
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    @cached_property
    def _stretch(self) -> IntArray:
        return np.flatnonzero([e.prior is None for e in self.entries])

    @property
    def _stretch_dim(self) -> int:
        return 2 if len(self._stretch) == 2 else 3

    def frame(self, x: FloatArray) -> FloatArray:
        """Orthonormal directions, one a column, that turn with the coordinates: along the stretch at a point."""
        frame = np.eye(len(x))
        if len(self._stretch) == 2 and np.any(x[self._stretch]):
            along = x[self._stretch] / np.linalg.norm(x[self._stretch])
            frame[np.ix_(self._stretch, self._stretch)] = np.column_stack([along, [-along[1], along[0]]])
        return frame

    @cached_property
    def bounds(self) -> FloatArray:
        """Where a search may go, (k, 2)."""
        c = self.common
        level = 2 * np.log(c.sd)
        found = [(e.low, e.high) for e in self.entries]
        if c.free:
            found += [(-9.0, 16.0), *[(-8.0, 8.0)] * (self.n_fields - 1)]
        else:
            found += [(level - 10, level + 5)] * self.n_fields
            found += [(level - 14, level + 4)] if c.noise is None else []
        start = 0.0 if c.free else level
        found += [(start - 14, start + 5)] * len(c.block_sizes)
        found += [] if c.dispersion is None else [(np.log(1e-4), np.log(1e3))]
        found += [] if c.trend is None else [(-1e6, 1e6)] * len(c.trend)
        return np.array(found)

    def points(self, begun: Begun) -> list[FloatArray]:
        """Points from which a search may begin, given the modes of simpler forms."""
        like = next((found[0] for found in begun.values() if found), None)
        return [self.point(kernel, noise, like) for kernel, noise in self.starts(begun)]

    def point(self, kernel: Kernel, noise: float, like: Theta | None = None) -> FloatArray:
        """The point of a kernel and a noise variance; the rest as `like`, or as a search begins."""
        c = self.common
        others = np.setdiff1d(np.arange(len(kernel.theta)), self.variances)
        theta, logs = kernel.theta, kernel.theta[self.variances]
        x = np.linalg.lstsq(self.matrix[others], theta[others] - self.offset[others], rcond=None)[0]
        log_noise = np.log(max(noise, 1e-300))
        if c.free:
            sizes = np.r_[special.logsumexp(logs) - log_noise, logs[:-1] - logs[-1]]
        else:
            sizes = np.r_[logs, log_noise] if c.noise is None else logs
        level = 0.0 if c.free else 2 * np.log(c.sd)
        effects = np.full(len(c.block_sizes), level)
        dispersion, trend = c.dispersion, c.trend
        if like is not None:
            effects = np.log(np.array(like.effects) * np.array(c.block_sizes)) - c.unit if like.effects else effects
            dispersion, trend = like.dispersion, like.trend
        rest = [] if dispersion is None else [np.log(dispersion)]
        whole = np.r_[x, sizes, effects, rest, np.zeros(0) if trend is None else trend]
        return np.clip(whole, *self.bounds.T)
