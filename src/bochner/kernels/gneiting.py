"""The Gneiting kernel: space and time that interact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy import interpolate, special

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels.axes import Axes
from bochner.kernels.base import Hyperparameter
from bochner.kernels.matern import Matern
from bochner.kernels.parameters import check_positive, freeze
from bochner.kernels.spectral import ListedKernel
from bochner.kernels.stationary import directions


@dataclass(frozen=True, repr=False)
class Gneiting(ListedKernel):
    r"""Non-separable space-time kernel of Gneiting's class: dependence in space widens as time goes by.

    .. math:: k(h, u) = \frac{\sigma^2}{\psi^{d/2}}\, M_\nu\!\left(\frac{|h/\ell|}{\psi^{\beta/2}}\right), \quad
        \psi = 1 + \left(\frac{|u|}{\ell_t}\right)^{2\alpha}

    :math:`M_\nu` is the Matern correlation, d the number of coordinates in space; time is the last coordinate
    (`OnAxes(Gneiting(...), (1, 2, 0))` has it first). Without interaction, :math:`\beta = 0`, it is separable: Matern
    in space times Cauchy in time.

    Parameters
    ----------
    length_scale : float or tuple of float
        Length scale in space, one or one per axis.
    time_scale : float
        Time after which the dependence has fallen to 2^(-d/2).
    variance : float
        Variance of the field.
    interaction : float
        Beta, from 0 (separable) to 1. Learned, unless it is 0 or 1.
    nu : float
        Smoothness in space, as in `Matern`.
    alpha : float
        Smoothness in time, above 0 and at most 1: 1/2 is rough like an exponential, 1 is smooth.

    Notes
    -----
    Gneiting (2002), Journal of the American Statistical Association 97, 590-600. The spectral density has no closed
    form; frequencies are drawn from it all the same, exactly, by a scale mixture (see `frequencies`).
    """

    length_scale: float | tuple[float, ...] = 1.0
    time_scale: float = 1.0
    variance: float = 1.0
    interaction: float = 0.5
    nu: float = 0.5
    alpha: float = 0.5

    _ALL: ClassVar[tuple[tuple[str, str], ...]] = (
        ("length_scale", "length_scale"),
        ("time_scale", "length_scale"),
        ("variance", "variance"),
        ("interaction", "interaction"),
    )

    def __post_init__(self) -> None:
        freeze(self, "length_scale", "time_scale", "variance", "interaction", "nu", "alpha")
        check_positive(
            self,
            length_scale=self.length_scale,
            time_scale=self.time_scale,
            variance=self.variance,
            nu=self.nu,
            alpha=self.alpha,
        )
        if self.alpha > 1:
            raise KernelError(f"Gneiting: alpha is {self.alpha!r}; needed is a number above 0 and at most 1.")
        if not (isinstance(self.interaction, (int, float)) and 0 <= self.interaction <= 1):
            raise KernelError(f"Gneiting: interaction is {self.interaction!r}; needed is a number from 0 to 1.")

    @property
    def learned(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        return self._ALL if 0 < self.interaction < 1 else self._ALL[:-1]

    @property
    def theta(self) -> FloatArray:
        theta = super().theta
        if 0 < self.interaction < 1:
            theta[-1] = special.logit(self.interaction)
        return theta

    def with_theta(self, theta: FloatArray) -> Self:
        if not 0 < self.interaction < 1:
            return super().with_theta(theta)
        share = np.clip(special.expit(theta[-1]), 1e-9, 1 - 1e-9)
        return super().with_theta(np.r_[theta[:-1], np.log(share)])

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        where: dict[str, int | Axes] = {"length_scale": Axes(without=(-1,)), "time_scale": -1}
        return tuple(Hyperparameter(h.name, h.role, where.get(h.name, h.axis)) for h in super().hyperparameters)

    def check_dim(self, dim: int) -> None:
        if dim < 2:
            raise KernelError(f"Gneiting with {dim} coordinate; needed are two or more, the last of them time.")
        if isinstance(self.length_scale, tuple) and len(self.length_scale) != dim - 1:
            raise KernelError(
                f"Gneiting has {len(self.length_scale)} length scales for {dim - 1} coordinates in space; give one "
                f"number, or one per coordinate without time."
            )

    # ------------------------------------------------------------------ covariance

    def covariance(self, x: FloatArray, z: FloatArray) -> FloatArray:
        squares, v = self._lags(x, z)
        psi = 1 + v
        s = np.sqrt(sum(squares)) * psi ** (-self.interaction / 2)
        return self.variance * psi ** (-len(squares) / 2) * self._matern.correlation(s)

    def covariance_and_gradient(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        squares, v = self._lags(x, z)
        psi, squared, beta, d = 1 + v, sum(squares), self.interaction, len(squares)
        s = np.sqrt(squared) * psi ** (-beta / 2)
        front = self.variance * psi ** (-d / 2)
        k, decay = front * self._matern.correlation(s), front * self._matern.decay(s)
        if isinstance(self.length_scale, tuple):
            share = np.divide(decay, squared, out=np.zeros_like(s), where=squared > 0)
            scales = [share * square for square in squares]
        else:
            scales = [decay]
        by_time = self.alpha * v / psi * (d * k - beta * decay)
        by_interaction = [beta * (1 - beta) / 2 * np.log(psi) * decay] if 0 < beta < 1 else []
        return k, [*scales, by_time, k, *by_interaction]

    def _lags(self, x: FloatArray, z: FloatArray) -> tuple[list[FloatArray], FloatArray]:
        """Squared scaled lags along the axes of space, and (|u| / time scale)^(2 alpha)."""
        d = x.shape[-1] - 1
        scales = np.broadcast_to(np.asarray(self.length_scale, dtype=float), (d,))
        lags = [x[..., :, None, j] - z[..., None, :, j] for j in range(d + 1)]
        squares = [np.square(lag / scale) for lag, scale in zip(lags, scales, strict=False)]
        return squares, np.abs(lags[-1] / self.time_scale) ** (2 * self.alpha)

    @property
    def _matern(self) -> Matern:
        return Matern(nu=self.nu)

    # ---------------------------------------------------------- the spectral measure

    def n_uniforms(self, dim: int) -> int:
        return self._n_directions(dim - 1) + 6 + (2 if self.alpha < 1 else 0)

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        r"""Frequencies (n, dim) from uniform numbers.

        With :math:`M_\nu(s) = E\, e^{-r s^2}` the kernel is the mean over r of
        :math:`\psi^{-d/2} e^{-r |h|^2 / \psi^\beta}`, up to a factor of time alone. In space this is a Gaussian wave
        packet, :math:`|\omega_s|^2 = 4 r b`; given b, the factor :math:`e^{-b (\psi^\beta - 1)}` of time is the
        transform of a tilted stable law. b and the time variance V of that law are drawn together: see `_mixture`.
        """
        d = dim - 1
        n_directions = self._n_directions(d)
        u = np.clip(uniforms, 1e-16, 1 - 1e-16)
        b, time_variance, rest = self._mixture(u[:, n_directions:], d)
        gamma = special.gammaincinv(self.nu, rest[:, 0])
        radius = np.sqrt(2 * self.nu * b / np.maximum(gamma, 1e-300))
        scales = np.broadcast_to(np.asarray(self.length_scale, dtype=float), (d,))
        space = radius[:, None] * directions(u[:, :n_directions], d) / scales
        time = np.sqrt(2 * time_variance) * special.ndtri(rest[:, 1]) / self.time_scale
        return np.column_stack([space, time])

    def has_density(self, dim: int) -> bool:
        return False  # none of closed form, and none that is finite at zero where the memory in time is long

    def density(self, omega: FloatArray) -> FloatArray:
        raise KernelError(
            "the spectral density of Gneiting has no closed form; draw frequencies by a rule, or use features='exact'."
        )

    def _mixture(self, u: FloatArray, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """b, the variance parameter of time, and the uniform numbers that are left.

        The joint law of b ~ Gamma(d/2) and of V, whose Laplace transform given b is exp(-b ((1 + v)^beta - 1)), is that
        of b = (V / Z)^beta with V ~ Gamma(beta d / 2) and an independent Z, the stable law of index beta weighted
        by Z^(-beta d / 2); by Kanter's representation Z = (A(U) / E)^((1 - beta) / beta).
        The factor (1 + v)^(-(1 - beta) d / 2) of time alone adds a Gamma to V.
        """
        beta, at = self.interaction, 4
        log_v = _log_gamma_quantile(beta * d / 2, u[:, 0]) if beta > 0 else np.full(len(u), -np.inf)
        e = special.gammaincinv(1 + (1 - beta) * d / 2, u[:, 1])
        log_a = _log_kanter(_tilted_angle(beta, d, u[:, 2]), beta)
        # log b = beta log V - beta log Z; for beta = 0 the first is that of a uniform number to the power 2/d
        log_b = (beta * log_v if beta > 0 else 2 / d * np.log(u[:, 0])) - log_a + (1 - beta) * np.log(e)
        extra = np.exp(_log_gamma_quantile((1 - beta) * d / 2, u[:, 3])) if beta < 1 else 0.0
        variance = np.exp(log_v) + extra
        if self.alpha < 1:
            # exp(-V t^alpha) is the transform of a stable variable times V^(1/alpha)
            log_e, at = np.log(-np.log(u[:, 5])), 6
            log_stable = _log_kanter(np.pi * u[:, 4], self.alpha) - (1 - self.alpha) * log_e
            variance = np.exp((np.log(np.maximum(variance, 1e-300)) + log_stable) / self.alpha)
        return np.exp(log_b), np.maximum(variance, 1e-300), u[:, at:]

    def _n_directions(self, d: int) -> int:
        return d - 1 if d <= 3 else d


def _log_kanter(angle: FloatArray, index: float) -> FloatArray:
    """(1 - a) log A(u) = a log sin(a u) + (1 - a) log sin((1 - a) u) - log sin(u), for a stable law of index a."""
    a, u = index, angle
    if a in (0.0, 1.0):
        return np.zeros_like(u)
    return np.asarray(a * np.log(np.sin(a * u)) + (1 - a) * np.log(np.sin((1 - a) * u)) - np.log(np.sin(u)))


def _log_gamma_quantile(shape: float, u: FloatArray) -> FloatArray:
    """Log of the quantile of Gamma(shape), which underflows for small shapes."""
    x = special.gammaincinv(shape, u)
    small = (np.log(u) + special.gammaln(shape + 1)) / shape
    return np.where(x > 1e-200, np.log(np.maximum(x, 1e-300)), small)


def _tilted_angle(beta: float, d: int, u: FloatArray) -> FloatArray:
    """Quantile of the angle with density proportional to exp(-d/2 `_log_kanter`) on (0, pi)."""
    if beta in (0.0, 1.0):
        return np.asarray(np.pi * u)
    angle = np.linspace(0, np.pi, 2001)[1:-1]
    density = np.exp(-d / 2 * _log_kanter(angle, beta))
    at_zero = np.exp(-d / 2 * (beta * np.log(beta) + (1 - beta) * np.log(1 - beta)))
    angle, density = np.r_[0, angle, np.pi], np.r_[at_zero, density, 0.0]
    cumulative = np.r_[0, np.cumsum((density[1:] + density[:-1]) / 2)]
    return np.asarray(interpolate.PchipInterpolator(cumulative / cumulative[-1], angle)(u))
