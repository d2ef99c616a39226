"""The spectral mixture kernel: any number of peaks in the spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bochner.arrays import FloatArray, as_coords, as_finite
from bochner.exceptions import KernelError
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.parameters import check_positive, freeze, table
from bochner.kernels.periodogram import spectral_peaks
from bochner.kernels.spectral import SpectralKernel


@dataclass(frozen=True, repr=False)
class SpectralMixture(SpectralKernel):
    r"""Mixture of Gaussian peaks in the spectrum: quasi-periodic patterns of several wave lengths.

    .. math:: k(\tau) = \sum_q a_q \exp\Big(-\tfrac12 \sum_j s_{qj}^2 \tau_j^2\Big) \cos(\mu_q'\tau)

    The frequencies of component q are Gaussian, with means :math:`\pm\mu_q` and standard deviations
    :math:`s_q`: waves of length :math:`2\pi/|\mu_q|` that stay in step over a distance of about :math:`1/s_q`.

    The likelihood has very many optima in the means. Start from the data, by `from_data`; `SpatialRegressor` tries that
    start as well as the one given.

    Parameters
    ----------
    means : array of shape (n_components, dim) or (n_components,)
        Angular frequencies of the peaks, in radians per unit of the coordinates. An entry that is 0 stays 0.
    scales : float, or array of shape (n_components,) or (n_components, dim)
        Their standard deviations.
    masses : float, or array of shape (n_components,)
        Variance that each component carries.
    """

    means: Any = 1.0
    scales: Any = 1.0
    masses: Any = 1.0

    def __post_init__(self) -> None:
        means = np.atleast_1d(as_finite(self.means, "means"))
        means = means[:, None] if means.ndim == 1 else means
        if means.ndim != 2 or not means.size:
            raise KernelError(f"SpectralMixture: means has shape {means.shape}; needed is (n_components, dim).")
        q = len(means)
        scales, masses = as_finite(self.scales, "scales"), as_finite(self.masses, "masses")
        try:
            scales = np.broadcast_to(scales[:, None] if scales.ndim == 1 else scales, means.shape)
            masses = np.broadcast_to(masses, (q,))
        except ValueError:
            raise KernelError(
                f"SpectralMixture: scales has shape {scales.shape} and masses {masses.shape} for {q} means; needed is "
                f"one number, or one per component."
            ) from None
        for name, array in (("means", means), ("scales", scales)):
            object.__setattr__(self, name, table(array, getattr(self, name)))
        if not (isinstance(self.masses, tuple) and len(self.masses) == q):
            object.__setattr__(self, "masses", tuple(float(v) for v in masses))
        freeze(self, "masses")
        check_positive(self, scales=np.ravel(scales), masses=self.masses)

    @classmethod
    def from_data(cls, coords: ArrayLike, y: ArrayLike, n_components: int = 3) -> Self:
        """Mixture whose peaks are those of the empirical spectrum of some data, in one to three dimensions.

        Parameters
        ----------
        coords : array of shape (n, dim)
            Places, on a grid or not.
        y : array of shape (n,)
            Responses, the trend taken off if there is one.
        n_components : int
            Number of peaks.
        """
        x = as_coords(coords)
        values = as_finite(y, "y")
        peaks = spectral_peaks(x, values - values.mean(), n_components)
        return cls(peaks.omega, peaks.width, peaks.mass)

    @property
    def n_components(self) -> int:
        """Number of peaks."""
        return len(self.means)

    @property
    def variance(self) -> float:  # type: ignore[override]
        """Variance of the field: the masses together."""
        return float(sum(self.masses))

    def components(self) -> tuple[Peak, ...]:
        """The peaks, each a kernel of its own."""
        return tuple(Peak(*parts) for parts in zip(self.means, self.scales, self.masses, strict=True))

    # ------------------------------------------------------------- as a sum of peaks

    def check_dim(self, dim: int) -> None:
        self.components()[0].check_dim(dim)

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray(sum(peak.covariance(x, z) for peak in self.components()))

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        parts = [peak.covariance_and_gradient(x, z) for peak in self.components()]
        return np.asarray(sum(k for k, _ in parts)), [g for _, gradients in parts for g in gradients]

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        found = []
        for q, peak in enumerate(self.components()):
            for h in peak.hyperparameters:
                name, bracket, axis = h.name.partition("[")
                plural = {"mass": "masses", "mean": "means", "scale": "scales"}[name]
                found.append(Hyperparameter(f"{plural}[{q}]{bracket}{axis}", h.role, h.axis))
        return tuple(found)

    @property
    def theta(self) -> FloatArray:
        return np.concatenate([peak.theta for peak in self.components()])

    def with_theta(self, theta: FloatArray) -> Self:
        old = self.components()
        pieces = np.split(np.asarray(theta), np.cumsum([len(peak.theta) for peak in old])[:-1])
        new = [peak.with_theta(t) for peak, t in zip(old, pieces, strict=True)]
        return self.replace(
            means=tuple(p.mean for p in new), scales=tuple(p.scale for p in new), masses=tuple(p.mass for p in new)
        )

    def scaled(self, factor: float) -> Kernel:
        return self.replace(masses=tuple(factor * mass for mass in self.masses))

    def leaves(self) -> tuple[Kernel, ...]:
        return self.components()

    def terms(self) -> tuple[tuple[Kernel, ...], ...]:
        return tuple((peak,) for peak in self.components())

    def density(self, omega: FloatArray) -> FloatArray:
        return np.sum([peak.density(omega) for peak in self.components()], axis=0)


@dataclass(frozen=True, repr=False)
class Peak(SpectralKernel):
    """One component of a spectral mixture."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    mass: float

    @property
    def variance(self) -> float:  # type: ignore[override]
        """Variance of the field."""
        return self.mass

    def check_dim(self, dim: int) -> None:
        if len(self.mean) != dim:
            raise KernelError(
                f"SpectralMixture has means in {len(self.mean)} dimensions for {dim} coordinates; give means of shape "
                f"(n_components, {dim})."
            )

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        lags = self._lags(x, z)
        envelope = self.mass * np.exp(-0.5 * sum((s * t) ** 2 for s, t in zip(self.scale, lags, strict=True)))
        return np.asarray(envelope * np.cos(sum(m * t for m, t in zip(self.mean, lags, strict=True))))

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        lags = self._lags(x, z)
        envelope = self.mass * np.exp(-0.5 * sum((s * t) ** 2 for s, t in zip(self.scale, lags, strict=True)))
        phase = np.asarray(sum(m * t for m, t in zip(self.mean, lags, strict=True)))
        k, across = envelope * np.cos(phase), envelope * np.sin(phase)
        means = [-m * t * across for m, t in zip(self.mean, lags, strict=True) if m != 0]
        scales = [-((s * t) ** 2) * k for s, t in zip(self.scale, lags, strict=True)]
        return k, [k, *means, *scales]

    def _lags(self, x: FloatArray, z: FloatArray) -> list[FloatArray]:
        return [x[..., :, None, j] - z[..., None, :, j] for j in range(x.shape[-1])]

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        means = [Hyperparameter.named(f"mean[{j}]", "frequency", j) for j, m in enumerate(self.mean) if m != 0]
        scales = [Hyperparameter.named(f"scale[{j}]", "bandwidth", j) for j in range(len(self.scale))]
        return (Hyperparameter.named("mass", "variance"), *means, *scales)

    @property
    def theta(self) -> FloatArray:
        return np.log([self.mass, *(abs(m) for m in self.mean if m != 0), *self.scale])

    def with_theta(self, theta: FloatArray) -> Self:
        # the sign of a mean is kept, and a zero stays
        values = iter(float(v) for v in np.exp(theta))
        mass = next(values)
        mean = tuple(float(np.copysign(next(values), m)) if m != 0 else 0.0 for m in self.mean)
        return self.replace(mass=mass, mean=mean, scale=tuple(values))

    def scaled(self, factor: float) -> Kernel:
        return self.replace(mass=self.mass * factor)

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        return np.asarray(np.array(self.mean) + np.array(self.scale) * special.ndtri(uniforms))

    def density(self, omega: FloatArray) -> FloatArray:
        mean, scale = np.array(self.mean), np.array(self.scale)
        peaks = [np.exp(-0.5 * np.sum(((omega + sign * mean) / scale) ** 2, axis=1)) for sign in (-1, 1)]
        return np.asarray(self.mass * sum(peaks) / 2 / np.prod(np.sqrt(2 * np.pi) * scale))
