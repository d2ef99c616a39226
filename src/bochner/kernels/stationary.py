"""Simple shift-invariant kernels: length scales, variance and a spectral measure.

By Bochner's theorem k(tau) = integral of S(omega) cos(omega'tau), and S / variance is a
probability density. Every class here gives S and a way to turn uniform numbers into
frequencies that follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy import interpolate, special
from scipy.spatial import distance

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels import anisotropy
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.parameters import check_positive, freeze
from bochner.kernels.radial_form import METRIC, VARIANCE, Factor, RadialForm, Slope, metric_changes, one_factor
from bochner.kernels.slopes import PairSlopes, Slopes
from bochner.kernels.spectral import SpectralKernel


@dataclass(frozen=True, repr=False)
class SimpleKernel(Kernel):
    """Kernel with length scales (one, or one per axis) and a variance."""

    length_scale: float | tuple[float, ...] = 1.0
    variance: float = 1.0

    shape_role: ClassVar[str] = "shape"

    def __post_init__(self) -> None:
        freeze(self, "length_scale", "variance")
        check_positive(self, length_scale=self.length_scale, variance=self.variance)

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of further positive parameters that are learned."""
        return ()

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        scales: tuple[Hyperparameter, ...]
        if isinstance(self.length_scale, tuple):
            scales = tuple(
                Hyperparameter.named(f"length_scale[{j}]", "length_scale", j) for j in range(len(self.length_scale))
            )
        else:
            scales = (Hyperparameter.named("length_scale", "length_scale"),)
        return (
            *scales,
            Hyperparameter.named("variance", "variance"),
            *(Hyperparameter.named(s, self.shape_role) for s in self.shapes),
        )

    @property
    def theta(self) -> FloatArray:
        shapes = [getattr(self, s) for s in self.shapes]
        return np.log(np.r_[np.atleast_1d(self.length_scale), self.variance, shapes].astype(float))

    def with_theta(self, theta: FloatArray) -> Self:
        values = [float(v) for v in np.exp(theta)]
        n_scales = len(self.length_scale) if isinstance(self.length_scale, tuple) else 1
        scale = tuple(values[:n_scales]) if isinstance(self.length_scale, tuple) else values[0]
        changes: dict[str, Any] = dict(zip(self.shapes, values[n_scales + 1 :], strict=True))
        return self.replace(length_scale=scale, variance=values[n_scales], **changes)

    def scaled(self, factor: float) -> Kernel:
        return self.replace(variance=self.variance * factor)

    def check_dim(self, dim: int) -> None:
        if isinstance(self.length_scale, tuple) and len(self.length_scale) not in (1, dim):
            raise KernelError(
                f"{type(self).__name__} has {len(self.length_scale)} length scales for {dim} coordinates; "
                f"give one number, or one per coordinate."
            )

    def profile(self, distance: FloatArray) -> list[FloatArray]:
        """Correlation, its decay and its slopes in `shapes` at scaled distances (see `RadialForm`)."""
        raise NotImplementedError

    def scales(self, dim: int) -> FloatArray:
        """Length scale of every axis, shape (dim,)."""
        return np.broadcast_to(np.asarray(self.length_scale, dtype=float), (dim,))


@dataclass(frozen=True, repr=False)
class ScaledKernel(SimpleKernel, SpectralKernel):
    """Simple kernel with a spectral density, that of unit length scales stretched."""

    def density(self, omega: FloatArray) -> FloatArray:
        volume = np.exp(np.sum(np.log(self.scales(omega.shape[1]))))
        return self.variance * volume * self.unit_density(self.to_unit(omega))

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        return self.from_unit(self.unit_frequencies(uniforms, dim))

    def from_unit(self, omega: FloatArray) -> FloatArray:
        """Frequencies of this kernel from those for unit length scales, (m, dim)."""
        return omega / self.scales(omega.shape[1])

    def to_unit(self, omega: FloatArray) -> FloatArray:
        """Frequencies for unit length scales from those of this kernel, (m, dim)."""
        return omega * self.scales(omega.shape[1])

    def unit_density(self, w: FloatArray) -> FloatArray:
        """Spectral density for unit length scales and variance, (m, dim) -> (m,)."""
        raise NotImplementedError

    def unit_frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        """Frequencies for unit length scales."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class IsotropicKernel(ScaledKernel):
    """Kernel of the scaled distance alone, s = |tau / l|.

    With `rotation` (radians from the first coordinate axis in 2-D, a rotation vector in 3-D) the length scales
    lie along rotated axes: ``length_scale[0]`` along the direction that the angle points to.
    """

    rotation: anisotropy.Rotation | None = field(default=None, kw_only=True)

    radial: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze(self, "rotation")
        if self.rotation is not None:
            if not isinstance(self.length_scale, tuple):
                raise KernelError(
                    f"{type(self).__name__}: rotation={self.rotation!r} with one length scale; give one per axis, e.g. "
                    f"length_scale=(2.0, 1.0)."
                )
            anisotropy.axes(self.rotation, len(self.length_scale))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        plain = super().hyperparameters
        if self.rotation is None:
            return plain
        dim = len(self.length_scale)  # type: ignore[arg-type]
        shear = [Hyperparameter.named(f"stretch[{j}]", "stretch") for j in range(dim * (dim + 1) // 2 - 1)]
        return (Hyperparameter.named("length_scale", "length_scale"), *shear, *plain[dim:])

    @property
    def theta(self) -> FloatArray:
        plain = super().theta
        if self.rotation is None:
            return plain
        assert isinstance(self.length_scale, tuple)
        return np.r_[anisotropy.stretch_of(self.length_scale, self.rotation), plain[len(self.length_scale) :]]

    def with_theta(self, theta: FloatArray) -> Self:
        if self.rotation is None:
            return super().with_theta(theta)
        n = len(theta) - 1 - len(self.shapes)
        scales, rotation = anisotropy.unstretch(np.asarray(theta[:n]))
        other = self.replace(length_scale=scales, rotation=None).with_theta(np.r_[np.log(scales), theta[n:]])
        return other.replace(rotation=rotation)

    def from_unit(self, omega: FloatArray) -> FloatArray:
        if self.rotation is None:
            return super().from_unit(omega)
        assert isinstance(self.length_scale, tuple)
        w = anisotropy.whitening(self.length_scale, self.rotation)
        return np.asarray(np.matmul(omega, w))

    def to_unit(self, omega: FloatArray) -> FloatArray:
        if self.rotation is None:
            return super().to_unit(omega)
        w = anisotropy.whitening(self.length_scale, self.rotation)  # type: ignore[arg-type]
        return np.asarray(np.linalg.solve(w.T, omega.T).T)

    def correlation(self, distance: FloatArray) -> FloatArray:
        """Correlation at scaled distances."""
        raise NotImplementedError

    def decay(self, distance: FloatArray) -> FloatArray:
        """-s times the derivative of the correlation at s: its derivative in the log length scale."""
        raise NotImplementedError

    def shape_slopes(self, distance: FloatArray) -> list[FloatArray]:
        """Derivatives of the correlation in the log of each of `shapes`: by differences, unless a kernel knows them."""
        step, slopes = 1e-5, []
        for name in self.shapes:
            value = getattr(self, name)
            up, down = (self.replace(**{name: value * np.exp(sign * step)}).correlation(distance) for sign in (1, -1))
            slopes.append((up - down) / (2 * step))
        return slopes

    def radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        """Spectral density at |omega| = w for unit length scale, as a density on R^dim."""
        raise NotImplementedError

    def log_radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        """Log of `radial_density`; a kernel overrides it where the density itself overflows."""
        with np.errstate(divide="ignore"):
            return np.log(self.radial_density(w, dim))

    def radial_quantile(self, u: FloatArray, dim: int) -> FloatArray:
        """Quantile of |omega| for unit length scale."""
        log_quantile = _radial_table(self.replace(length_scale=1.0, variance=1.0), dim)
        return np.asarray(np.exp(log_quantile(np.clip(u, *log_quantile.x[[0, -1]]))))

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        if self.rotation is not None:
            w = anisotropy.whitening(self.length_scale, self.rotation)  # type: ignore[arg-type]
            x, z = anisotropy.turned(x, w), anisotropy.turned(z, w)
            return self.replace(rotation=None, length_scale=1.0).covariance(x, z)
        return self.variance * self.correlation(self._distances(x, z))

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        if self.rotation is not None:
            return self._rotated_gradient(x, z)
        squares = self._squares(x, z)
        squared = sum(squares)
        s = np.sqrt(squared)
        k, decay = (self.variance * part for part in self.correlation_and_decay(s))
        if isinstance(self.length_scale, tuple):
            share = np.divide(decay, squared, out=np.zeros_like(s), where=squared > 0)
            scales = [share * square for square in squares]
        else:
            scales = [decay]
        return k, [*scales, k, *self._shape_gradients(s)]

    def covariance_and_slopes(self, x: FloatArray) -> tuple[FloatArray, Slopes]:
        # from every pair of places once: half the work of a matrix
        z = self._whitened(x - x.mean(axis=0))
        squared = distance.pdist(z, "sqeuclidean")
        correlation, decay = self.correlation_and_decay(np.sqrt(squared))
        slopes = PairSlopes(self, z, squared, self.variance * correlation, self.variance * decay)
        k = distance.squareform(slopes.covariance)
        k[np.diag_indices(len(x))] = self.variance
        return k, slopes

    def covariance_within(self, x: FloatArray) -> FloatArray:
        k = distance.squareform(self.variance * self.correlation(distance.pdist(self._whitened(x - x.mean(axis=0)))))
        k[np.diag_indices(len(x))] = self.variance
        return np.asarray(k)

    def variances(self, x: FloatArray) -> FloatArray:
        return np.full(len(x), self.variance)

    def correlation_and_decay(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`correlation` and `decay`, where a kernel can have both for little more than one."""
        return self.correlation(s), self.decay(s)

    def _whitened(self, x: FloatArray) -> FloatArray:
        """Places (n, dim) in units of the length scales, along their axes."""
        if self.rotation is None:
            return np.asarray(x / self.scales(x.shape[1]))
        w = anisotropy.whitening(self.length_scale, self.rotation)  # type: ignore[arg-type]
        return anisotropy.turned(x, w)

    def scale_slopes(self, moments: FloatArray) -> FloatArray:
        """Slopes in the entries of theta that say how far the field reaches, (k, ...).

        `moments` (..., dim, dim) are sums over pairs of their decay / s^2 times the products of their whitened lags.
        """
        if self.rotation is None:
            return np.einsum("...ii->i...", moments)
        # d corr / d s^2 = -decay / (2 s^2)
        return np.asarray(-0.5 * np.einsum("kij,...ij->k...", self._metric_changes(), moments))

    def _metric_changes(self) -> FloatArray:
        """Derivatives of the metric in the entries of theta that it has, seen in whitened lags, (k, dim, dim)."""
        assert isinstance(self.length_scale, tuple) and self.rotation is not None
        back = np.linalg.inv(anisotropy.whitening(self.length_scale, self.rotation))
        entries = anisotropy.stretch_of(self.length_scale, self.rotation)
        return np.stack([back.T @ dm @ back for dm in anisotropy.metric_gradient(entries)])

    def _rotated_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        assert isinstance(self.length_scale, tuple) and self.rotation is not None
        w = anisotropy.whitening(self.length_scale, self.rotation)
        dim = x.shape[-1]
        lag = [x[..., :, None, j] - z[..., None, :, j] for j in range(dim)]
        tau = [sum(w[i, j] * lag[j] for j in range(dim)) for i in range(dim)]
        squared = sum(t**2 for t in tau)
        s = np.sqrt(squared)
        k, decay = (self.variance * part for part in self.correlation_and_decay(s))
        # d corr / d s^2 = -decay / (2 s^2)
        slope = np.divide(-0.5 * decay, squared, out=np.zeros_like(s), where=squared > 0)
        rows, columns = np.triu_indices(dim)
        moments = np.stack([slope * tau[i] * tau[j] for i, j in zip(rows, columns, strict=True)])
        # what is off the diagonal counts twice
        changes = self._metric_changes()[:, rows, columns]
        gradients = np.tensordot(changes * np.where(rows == columns, 1.0, 2.0), moments, axes=1)
        return k, [*gradients, k, *self._shape_gradients(s)]

    def _shape_gradients(self, s: FloatArray) -> list[FloatArray]:
        return [self.variance * slope for slope in self.shape_slopes(s)]

    def _distances(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Distances of x (..., n, dim) and z (..., m, dim), in units of the length scales."""
        if x.ndim > 2 or z.ndim > 2 or not len(z):
            return np.asarray(np.sqrt(sum(self._squares(x, z))))
        # one pass over the pairs; differences of places far from zero would lose digits to a scale
        scales, middle = self.scales(x.shape[-1]), z.mean(axis=0)
        return np.asarray(distance.cdist((x - middle) / scales, (z - middle) / scales))

    def _squares(self, x: FloatArray, z: FloatArray) -> list[FloatArray]:
        scales = self.scales(x.shape[-1])
        return [np.square((x[..., :, None, j] - z[..., None, :, j]) / scales[j]) for j in range(x.shape[-1])]

    def profile(self, distance: FloatArray) -> list[FloatArray]:
        return [self.correlation(distance), self.decay(distance), *self.shape_slopes(distance)]

    def radial_form(self, dim: int) -> RadialForm | None:
        unit = self.replace(length_scale=1.0, variance=1.0, rotation=None)
        if self.rotation is not None:
            w = anisotropy.whitening(self.length_scale, self.rotation)  # type: ignore[arg-type]
            entries = anisotropy.stretch_of(self.length_scale, self.rotation)  # type: ignore[arg-type]
            changes = anisotropy.metric_gradient(entries)
            return one_factor(self.variance, Factor(unit, w.T @ w), changes, len(self.shapes))
        changes = metric_changes(self.scales(dim), isinstance(self.length_scale, tuple))
        return one_factor(self.variance, Factor(unit, np.diag(self.scales(dim) ** -2.0)), changes, len(self.shapes))

    def unit_density(self, w: FloatArray) -> FloatArray:
        return self.radial_density(np.sqrt(np.sum(w**2, axis=1)), w.shape[1])

    def n_uniforms(self, dim: int) -> int:
        return dim if dim <= 3 else dim + 1

    def unit_frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        radius = self.radial_quantile(uniforms[:, -1], dim)
        return radius[:, None] * directions(uniforms[:, :-1], dim)


@dataclass(frozen=True, repr=False)
class AxisKernel(ScaledKernel):
    """Product over the axes of one function of tau_j / l_j."""

    def axis_correlation(self, t: FloatArray) -> FloatArray:
        """Correlation along one axis, at t = tau_j / l_j."""
        raise NotImplementedError

    def axis_decay(self, t: FloatArray) -> FloatArray:
        """Derivative of the log of `axis_correlation` in the log length scale."""
        raise NotImplementedError

    def axis_density(self, w: FloatArray) -> FloatArray:
        """Spectral density along one axis."""
        raise NotImplementedError

    def axis_quantile(self, u: FloatArray) -> FloatArray:
        """Quantile of the frequency along one axis, symmetric about zero."""
        raise NotImplementedError

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.variance * np.prod([self.axis_correlation(t) for t in self._lags(x, z)], axis=0)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        lags = self._lags(x, z)
        k = self.variance * np.prod([self.axis_correlation(t) for t in lags], axis=0)
        scales = [k * self.axis_decay(t) for t in lags]
        if not isinstance(self.length_scale, tuple):
            scales = [np.sum(scales, axis=0)]
        return k, [*scales, k]

    def profile(self, distance: FloatArray) -> list[FloatArray]:
        correlation = self.axis_correlation(distance)
        return [correlation, correlation * self.axis_decay(distance)]

    def radial_form(self, dim: int) -> RadialForm | None:
        unit = self.replace(length_scale=1.0, variance=1.0)
        along = metric_changes(self.scales(dim), apart=True)
        factors = tuple(Factor(unit, -0.5 * change) for change in along)
        several = isinstance(self.length_scale, tuple)
        slopes = [Slope(j if several else 0, 0, j, METRIC, change) for j, change in enumerate(along)]
        slopes.append(Slope(dim if several else 1, 0, 0, VARIANCE, np.zeros((dim, dim))))
        return RadialForm((self.variance,), (factors,), tuple(slopes))

    def _lags(self, x: FloatArray, z: FloatArray) -> list[FloatArray]:
        scales = self.scales(x.shape[-1])
        return [(x[..., :, None, j] - z[..., None, :, j]) / scales[j] for j in range(x.shape[-1])]

    def unit_density(self, w: FloatArray) -> FloatArray:
        return np.asarray(np.prod(self.axis_density(w), axis=1))

    def unit_frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        return self.axis_quantile(uniforms)


def covariances(kernels: Sequence[Kernel], x: FloatArray, z: FloatArray, dtype: Any = np.float64) -> FloatArray:
    """Covariances of places x (n, dim) and z (m, dim) under several kernels, (k, n, m); distances are measured once."""
    out, plain = np.empty((len(kernels), len(x), len(z)), dtype), None
    for kernel, k in zip(kernels, out, strict=True):
        if not isinstance(kernel, IsotropicKernel) or isinstance(kernel.length_scale, tuple) or not len(z):
            k[:] = kernel.covariance(x, z)
            continue
        if plain is None:
            plain = distance.cdist(x - z.mean(axis=0), z - z.mean(axis=0)).astype(dtype, copy=False)
        k[:] = kernel.correlation(plain / kernel.length_scale)
        if kernel.variance != 1.0:
            k *= kernel.variance
    return out


def variances_of_sums(kernels: Sequence[Kernel], x: FloatArray, weight: FloatArray) -> FloatArray:
    """Variance of a weighted sum of the field at places x under several kernels, (k,); distances are measured once."""
    out, plain, pairs = np.empty(len(kernels)), None, None
    for i, kernel in enumerate(kernels):
        if not isinstance(kernel, IsotropicKernel) or isinstance(kernel.length_scale, tuple):
            out[i] = weight @ kernel.covariance_within(x) @ weight
            continue
        if plain is None or pairs is None:
            plain = distance.pdist(x - x.mean(axis=0))
            pairs = distance.squareform(np.outer(weight, weight), checks=False)
        shared = pairs @ kernel.correlation(plain / kernel.length_scale)
        out[i] = kernel.variance * (weight @ weight + 2 * shared)
    return out


def directions(uniforms: FloatArray, dim: int) -> FloatArray:
    """Directions uniform on the sphere (1-D and 2-D: the half sphere) from uniform numbers."""
    n = len(uniforms)
    if dim == 1:
        return np.ones((n, 1))
    if dim == 2:
        angle = np.pi * uniforms[:, 0]
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if dim == 3:
        height, angle = 2 * uniforms[:, 0] - 1, 2 * np.pi * uniforms[:, 1]
        ring = np.sqrt(1 - height**2)
        return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])
    z = special.ndtri(np.clip(uniforms, 1e-16, 1 - 1e-16))
    return np.asarray(z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-300))


@lru_cache(maxsize=64)
def _radial_table(kernel: IsotropicKernel, dim: int) -> interpolate.PchipInterpolator:
    # Log of |omega| against its cumulative mass, from a logarithmic grid on which |omega|^dim S(omega) is smooth.
    log_w = np.linspace(np.log(1e-9), np.log(1e6), 10_001)
    log_shell = kernel.log_radial_density(np.exp(log_w), dim) + dim * log_w
    shell = np.exp(log_shell - log_shell.max())
    # Below the grid the shell is a power of omega, of exponent `slope`: heavy for kernels of very long range.
    step = log_w[1] - log_w[0]
    slope = max((log_shell[1] - log_shell[0]) / step, 1e-3) if shell[0] > 0 else np.inf
    steps = np.r_[shell[0] / slope, (shell[1:] + shell[:-1]) / 2 * step]
    cumulative = np.cumsum(steps) / steps.sum()
    rising = np.r_[True, np.diff(cumulative) > 0] & (cumulative > 1e-20)  # no uniform number is smaller
    return interpolate.PchipInterpolator(cumulative[rising], log_w[rising])
