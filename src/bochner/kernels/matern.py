"""The Matern kernel: fields of limited smoothness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special
from scipy.interpolate import CubicSpline

from bochner.arrays import FloatArray
from bochner.kernels.bessel import LARGE_ORDER, bessel_k_and_slope, log_bessel_k
from bochner.kernels.parameters import check_positive
from bochner.kernels.stationary import IsotropicKernel

TABLE_FROM = 2_000  # distances from which a table is cheaper
TABLE_CHUNK = 2**13  # of them at a time, which stay in cache
SMALLEST = 1e-10  # distance; nearer ones are zero
LARGEST = 700.0  # distance; beyond it the correlation is zero in float64

Ends = tuple[int, int]
"""Logarithms of the smallest and the largest distance of a table."""


@dataclass(frozen=True, repr=False)
class Matern(IsotropicKernel):
    r"""Matern kernel, for fields of limited smoothness.

    .. math:: k(r) = \sigma^2 \frac{2^{1-\nu}}{\Gamma(\nu)} s^\nu K_\nu(s), \quad s = \sqrt{2\nu}\, r / \ell

    Parameters
    ----------
    length_scale : float or tuple of float
        One length scale, or one per axis, in the unit of the coordinates.
    variance : float
        Variance of the field.
    nu : float
        Smoothness: the field has derivatives up to order nu. 1/2, 3/2 and 5/2 have fast closed forms.
    learn_nu : bool
        Whether tuning moves `nu` as well.
    """

    nu: float = 1.5
    learn_nu: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, nu=self.nu)

    shape_role: ClassVar[str] = "smoothness"

    @property
    def by_table(self) -> bool:
        """Whether it has no closed form: of many distances it is read off a table."""
        return self.nu not in (0.5, 1.5, 2.5)

    @property
    def shapes(self) -> tuple[str, ...]:
        return ("nu",) if self.learn_nu else ()

    def correlation(self, distance: FloatArray) -> FloatArray:
        root = float(np.sqrt(2 * self.nu))
        if self.by_table:
            return _bessel_form(root * distance, self.nu, self.nu, at_zero=1.0)
        # few arrays, in place: to have new ones from the system takes longer than an exponential
        t = np.asarray(-root * distance)
        if self.nu == 0.5:
            return np.exp(t, out=t)
        fall = np.exp(t)
        if self.nu == 2.5:
            factor = t / 3
            factor -= 1
            factor *= t
            factor += 1
        else:
            factor = np.subtract(1, t, out=t)
        fall *= factor
        return fall

    def decay(self, distance: FloatArray) -> FloatArray:
        s = np.sqrt(2 * self.nu) * distance
        match self.nu:
            case 0.5:
                return s * np.exp(-s)
            case 1.5:
                return s**2 * np.exp(-s)
            case 2.5:
                return s**2 * (1 + s) / 3 * np.exp(-s)
        # d/ds s^nu K_nu(s) = -s^nu K_(nu-1)(s)
        return _bessel_form(s, self.nu, self.nu - 1, power=1, at_zero=0.0)

    def correlation_and_decay(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.by_table:
            return super().correlation_and_decay(s)
        s = np.sqrt(2 * self.nu) * s
        fall = np.exp(-s)
        match self.nu:
            case 0.5:
                return fall, s * fall
            case 1.5:
                decay = s * fall
                return fall + decay, s * decay
        decay = s * fall
        square = s * decay
        square /= 3
        return fall + decay + square, square + s * square

    def shape_slopes(self, distance: FloatArray) -> list[FloatArray]:
        if not self.learn_nu:
            return []
        few = np.size(distance) <= TABLE_FROM
        return [self.correlation(distance) * _inside(_nu_slope if few else _tabulated_nu_slope, distance, self.nu)]

    def profile(self, distance: FloatArray) -> list[FloatArray]:
        if self.learn_nu and self.nu < LARGE_ORDER:
            return _with_nu_slope(distance, self.nu)
        if self.nu in (0.5, 1.5, 2.5):
            return [self.correlation(distance), self.decay(distance)]
        s, nu = np.sqrt(2 * self.nu) * distance, self.nu  # what becomes a table needs none on the way
        found = [
            _bessel_form(s, nu, nu, at_zero=1.0, tabulate=False),
            _bessel_form(s, nu, nu - 1, power=1, at_zero=0.0, tabulate=False),
        ]
        return [*found, found[0] * _inside(_nu_slope, distance, self.nu)] if self.learn_nu else found

    def radial_density(self, w: FloatArray, dim: int) -> FloatArray:
        # multivariate Student t with 2 nu degrees of freedom
        nu = self.nu
        log_constant = special.gammaln(nu + dim / 2) - special.gammaln(nu) - dim / 2 * np.log(2 * nu * np.pi)
        return np.asarray(np.exp(log_constant - (nu + dim / 2) * np.log1p(w**2 / (2 * nu))))

    def radial_quantile(self, u: FloatArray, dim: int) -> FloatArray:
        # For a Student t vector, |omega|^2 / dim follows F(dim, 2 nu).
        # The bound keeps it finite when nu is tiny.
        return np.asarray(np.sqrt(dim * np.minimum(special.fdtri(dim, 2 * self.nu, u), 1e300)))


def _bessel_form(
    s: FloatArray, nu: float, order: float, *, power: int = 0, at_zero: float, tabulate: bool = True
) -> FloatArray:
    """2^(1-nu) / Gamma(nu) s^(nu+power) K_order(s), by logarithms so that nothing overflows."""
    if tabulate and np.size(s) > TABLE_FROM:
        return _by_table(np.asarray(s), nu, order, power, at_zero)
    out = np.full(np.shape(s), at_zero)
    inside = s > (SMALLEST if tabulate else 0.0)
    t = np.minimum(np.asarray(s)[inside], _largest(nu))
    out[inside] = np.exp(_log_form(t, nu, order, power))
    return out


def _by_table(s: FloatArray, nu: float, order: float, power: int, at_zero: float) -> FloatArray:
    """The same of many distances, as many at a time as stay in cache: a third of the time."""
    out, flat = np.empty(s.size), s.ravel()
    largest = _largest(nu)
    ends = _whole_logs(flat, SMALLEST, largest)
    for i in range(0, s.size, TABLE_CHUNK):
        here = flat[i : i + TABLE_CHUNK]
        values = _tabulated(np.clip(here, np.exp(ends[0]), largest), nu, order, power, ends)
        out[i : i + TABLE_CHUNK] = np.where(here > SMALLEST, values, at_zero)
    return out.reshape(s.shape)


def _log_form(t: FloatArray, nu: float, order: float, power: int) -> FloatArray:
    log_constant = (1 - nu) * np.log(2) - special.gammaln(nu)
    return np.asarray(log_constant + (nu + power) * np.log(t) + log_bessel_k(order, t))


def _inside(function: Callable[[FloatArray, float], FloatArray], distance: FloatArray, nu: float) -> FloatArray:
    """A function of distances that are neither zero nor so large that nothing is left; zero for those near zero."""
    out = np.zeros(np.shape(distance))
    inside = distance > 0
    out[inside] = function(np.minimum(np.asarray(distance)[inside], LARGEST), nu)
    return out


def _with_nu_slope(distance: FloatArray, nu: float) -> list[FloatArray]:
    """Correlation, decay, and slope of the correlation in log nu: by the same sums."""
    found = [np.full(np.shape(distance), at_zero) for at_zero in (1.0, 0.0, 0.0)]
    inside = distance > 0
    s = np.minimum(np.sqrt(2 * nu) * np.asarray(distance)[inside], _largest(nu))
    log_k, ratio, slope = bessel_k_and_slope(nu, s)
    correlation = np.exp((1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(s) + log_k)
    for out, values in zip(found, (1.0, s * ratio, _slope_in_log_nu(s, nu, ratio, slope)), strict=True):
        out[inside] = correlation * values
    return found


def _slope_in_log_nu(s: FloatArray, nu: float, ratio: FloatArray, slope: FloatArray) -> FloatArray:
    """Derivative of the log correlation at a distance, s / sqrt(2 nu), from ratio and slope of Bessel's K at s."""
    return np.asarray(nu * (np.log(s / 2) - special.digamma(nu) + slope) - 0.5 * s * ratio)


def _nu_slope(r: FloatArray, nu: float) -> FloatArray:
    """Derivative of the log correlation in log nu; of large nu by differences of fourth order."""
    if nu < LARGE_ORDER:
        s = np.sqrt(2 * nu) * r
        return _slope_in_log_nu(s, nu, *bessel_k_and_slope(nu, s)[1:])
    step = 1e-3
    near, far = (
        _log_form(np.sqrt(2 * up) * r, up, up, 0) - _log_form(np.sqrt(2 * down) * r, down, down, 0)
        for up, down in ((nu * np.exp(h), nu * np.exp(-h)) for h in (step, 2 * step))
    )
    return np.asarray((8 * near - far) / (12 * step))


def _tabulated_nu_slope(r: FloatArray, nu: float) -> FloatArray:
    ends = _whole_logs(r, SMALLEST, LARGEST)
    return _on_equal_knots(_nu_slope_table(nu, ends), np.log(np.maximum(r, np.exp(ends[0]))))


@lru_cache(maxsize=64)
def _nu_slope_table(nu: float, ends: Ends) -> _Knots:
    knots = _knots(ends)
    return _Knots.of(CubicSpline(knots, _nu_slope(np.exp(knots), nu)))


def _largest(nu: float) -> float:
    """Where nothing is left of s^nu K_nu(s); a smooth field's correlation is one of s / sqrt(2 nu)."""
    return float(LARGEST + 40 * np.sqrt(2 * nu))


def _whole_logs(distances: FloatArray, smallest: float, largest: float) -> Ends:
    """Ends of a table of these distances: whole logarithms, so that tables of like distances are one."""
    inside = distances[distances > smallest]
    if not len(inside):
        return 0, 1
    low, high = (float(np.log(min(end, largest))) for end in (inside.min(), inside.max()))
    return int(np.floor(low)), int(np.floor(high)) + 1


def _knots(ends: Ends) -> FloatArray:
    """Logarithms of distances: 240 per unit keep the error of a spline near 1e-13."""
    low, high = ends
    return np.linspace(low, high, 240 * (high - low) + 1)


def _tabulated(t: FloatArray, nu: float, order: float, power: int, ends: Ends) -> FloatArray:
    """The same by a cubic spline in log t: Bessel functions of many distances cost too much."""
    return np.asarray(np.exp(_on_equal_knots(_table(nu, order, power, ends), np.log(t)) - t))


@lru_cache(maxsize=64)
def _table(nu: float, order: float, power: int, ends: Ends) -> _Knots:
    """The logarithm plus t, which is smooth in log t."""
    knots = _knots(ends)
    return _Knots.of(CubicSpline(knots, _log_form(np.exp(knots), nu, order, power) + np.exp(knots)))


class _Knots(NamedTuple):
    """A spline with equidistant knots, as plain numbers: SciPy's own are checked whenever they are read."""

    coefficients: tuple[FloatArray, ...]  # the highest power first
    first: float
    step: float

    @classmethod
    def of(cls, spline: CubicSpline) -> _Knots:
        x, c = np.asarray(spline.x), np.ascontiguousarray(spline.c)
        return cls(tuple(c), float(x[0]), float(x[-1] - x[0]) / (len(x) - 1))


def _on_equal_knots(knots: _Knots, x: FloatArray) -> FloatArray:
    """Values of a spline: five times as fast as its own call, which searches for the knot."""
    highest, *others = knots.coefficients
    position = (x - knots.first) / knots.step
    piece = np.clip(position.astype(np.intp), 0, len(highest) - 1)
    u = (position - piece) * knots.step
    value = highest.take(piece)
    for c in others:
        value *= u
        value += c.take(piece)
    return np.asarray(value)
