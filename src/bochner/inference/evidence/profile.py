"""Laplace evidence as an objective of the kernel alone: whatever else it depends on is at its best.

A dispersion to be learned maximises the evidence inside each evaluation; so does the trend when the
likelihood is asked for, with its coefficients at the maximum of the marginal likelihood and not at the joint mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, optimize

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.families import Family
from bochner.inference.evidence import limits
from bochner.inference.evidence.laplace import Bound, ExactBound, LaplacePoint
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel
from bochner.resources import blas_threads

Binder = Callable[[Kernel, float, Responses], Bound]


class LaplaceObjective:
    """Sum of the evidences of one or more parts of the rows; it starts where the last evaluation ended.

    Several parts, each taken as if it were alone, are a composite likelihood: for rows too many to be one.
    """

    def __init__(self, parts: Sequence[Responses], bind: Binder, *, reml: bool) -> None:
        self.parts, self.bind, self.reml = list(parts), bind, reml
        self.family: Family = parts[0].with_dispersion().family
        self.learns = self.family is not parts[0].family
        self.trend = np.zeros(0) if reml else _first_trend(parts, self.family)
        self.largest = max(len(part) for part in parts)
        self.starts: list[FloatArray | None] = [None] * len(parts)
        self.inverse_hessian: FloatArray | None = None
        self.first = self._inside()

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """Value and gradient in [theta, log noise variance]."""
        with blas_threads(self.largest):
            bounds = [self.bind(kernel, noise_variance, part) for part in self.parts]
            points = self._profile(bounds)
            slopes = sum(bound.slopes(point) for bound, point in zip(bounds, points, strict=True))
        return sum(point.value for point in points) - self._penalty(), np.asarray(slopes)

    def held(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        """The same with family and trend as they are."""
        with blas_threads(self.largest):
            bounds = [self.bind(kernel, noise_variance, part) for part in self.parts]
            points = self._points(bounds, self._inside())
            slopes = sum(bound.slopes(point) for bound, point in zip(bounds, points, strict=True))
        return sum(point.value for point in points) - self._penalty(), np.asarray(slopes)

    def settle(self, kernel: Kernel, noise_variance: float) -> float:
        """Value, leaving the family and the trend that maximise it in `family` and `trend`."""
        points = self._profile([self.bind(kernel, noise_variance, part) for part in self.parts])
        return float(sum(point.value for point in points)) - self._penalty()

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        """The same for a third of the time, where nothing but the mode is to be found."""
        if len(self._inside()):
            return self.settle(kernel, noise_variance)
        modes = []
        for i, part in enumerate(self.parts):
            mode = self.bind(kernel, noise_variance, part).mode(replace(part, family=self.family), self.starts[i])
            self.starts[i] = mode.eta
            modes.append(mode)
        return sum(mode.log_evidence for mode in modes)

    def _profile(self, bounds: Sequence[Bound]) -> list[LaplacePoint]:
        inside = self._inside()
        if not len(inside):
            return self._points(bounds, inside)
        try:
            points = self._settled(bounds, inside)
            if np.max(np.abs(self._inner_slopes(points))) < limits.ASTRAY_SLOPE:
                return points
        except ConvergenceError:
            pass
        # the last evaluation may have left far from here: from the beginning
        self.starts, self.inverse_hessian = [None] * len(self.parts), None
        return self._settled(bounds, self.first)

    def _settled(self, bounds: Sequence[Bound], inside: FloatArray) -> list[LaplacePoint]:
        """Points at the dispersion and trend that a search from `inside` ends at."""
        at, points = inside, self._points(bounds, inside)  # the last ones only: each may hold a matrix
        begun = self.starts[:]

        def negative(x: FloatArray) -> tuple[float, FloatArray]:
            nonlocal at, points
            if not np.array_equal(x, at):
                try:
                    at, points = x.copy(), self._points(bounds, x)
                except ConvergenceError:  # a step too far; the search turns back
                    at, self.starts = np.full_like(x, np.nan), begun[:]
                    return limits.NO_EVIDENCE, np.zeros(len(x))
            return self._penalty() - sum(p.value for p in points), -self._inner_slopes(points)

        options: dict[str, object] = {"gtol": 1e-5, "maxiter": 100}
        first = self._inverse_hessian(points)
        if first is not None:
            options["hess_inv0"] = first
        result = optimize.minimize(negative, inside, jac=True, method="BFGS", options=options)
        self.inverse_hessian = _usable(np.asarray(result.hess_inv))
        reached = np.asarray(result.x)
        return points if np.array_equal(reached, at) else self._points(bounds, reached)

    def _points(self, bounds: Sequence[Bound], x: FloatArray) -> list[LaplacePoint]:
        self._set(x)
        points = []
        for i, (bound, part) in enumerate(zip(bounds, self.parts, strict=True)):
            responses = replace(part, family=self.family)
            point = bound.point(responses if self.reml else responses.held_trend(self.trend), self.starts[i])
            self.starts[i] = point.mode.eta
            points.append(point)
        return points

    def _inverse_hessian(self, points: Sequence[LaplacePoint]) -> FloatArray | None:
        """What the search over dispersion and trend begins with: X' Pi X for the trend, else what the last one left."""
        if self.reml or not self.trend.size:
            return self.inverse_hessian
        precision = np.zeros((len(self.trend), len(self.trend)))
        for point, part in zip(points, self.parts, strict=True):
            if point.residual is None:
                return self.inverse_hessian
            precision += point.residual.between(part.rows.trend)
        precision += self._prior()
        inverse = np.asarray(np.linalg.pinv(precision, hermitian=True), dtype=np.float64)
        if self.learns:
            known = 1.0 if self.inverse_hessian is None else self.inverse_hessian[0, 0]
            inverse = linalg.block_diag(known, inverse)
        return _usable(inverse)

    def _inside(self) -> FloatArray:
        dispersion = [np.log(self.family.dispersion)] if self.learns else []  # type: ignore[arg-type]
        return np.r_[dispersion, self.trend]

    def _set(self, x: FloatArray) -> None:
        if self.learns:
            self.family = self.family.replace(dispersion=float(np.exp(np.clip(x[0], *np.log(limits.DISPERSION_RANGE)))))
        self.trend = x[int(self.learns) :].copy()

    def _inner_slopes(self, points: Sequence[LaplacePoint]) -> FloatArray:
        by_dispersion = [self.slope_of_dispersion(points)] if self.learns else []
        pairs = zip(points, self.parts, strict=True)
        by_trend = np.zeros(0) if self.reml else sum(p.trend_slope(part.rows.trend) for p, part in pairs)
        return np.r_[by_dispersion, by_trend - self._prior() @ self.trend]

    def _prior(self) -> FloatArray:
        """Prior precision of the trend that is held, (q, q)."""
        prior, q = self.parts[0].trend_precision, len(self.trend)
        return np.zeros((q, q)) if prior is None or self.reml else prior

    def _penalty(self) -> float:
        """What the prior takes off a likelihood whose trend is held."""
        return 0.5 * float(self.trend @ self._prior() @ self.trend)

    def slope_of_dispersion(self, points: Sequence[LaplacePoint]) -> float:
        """Slope in the log dispersion; none where it would leave the range that is searched."""
        slope, (low, high) = sum(p.dispersion_slope() for p in points), limits.DISPERSION_RANGE
        now = self.family.dispersion
        assert now is not None
        leaving = (now <= low * (1 + 1e-9) and slope < 0) or (now >= high * (1 - 1e-9) and slope > 0)
        return 0.0 if leaving else slope


class InformedLaplace(LaplaceObjective):
    """The same of the exact kernel, with its information: what a climb begins with.

    A dispersion climbs along with the kernel. Where the kernel is given, it is found by its slope, from where the
    last ones let expect it.
    """

    def __init__(self, parts: Sequence[Responses], *, reml: bool) -> None:
        super().__init__(parts, ExactBound, reml=reml)
        self.known: dict[tuple[Kernel, float], tuple[FloatArray, tuple[float, FloatArray]]] = {}
        self.trail = _Trail()
        self.bend = limits.FIRST_BEND * float(sum(np.sum(part.weight) for part in parts))  # of the log dispersion
        self.ends: dict[tuple[Kernel, float], tuple[float, list[FloatArray | None]]] = {}

    def __call__(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray]:
        known = self._known(kernel, noise_variance, np.zeros(0))
        if known is not None:
            return known
        self._foresee(kernel, noise_variance)
        found = super().__call__(kernel, noise_variance)
        self._remember(kernel, noise_variance)
        return found

    def settle(self, kernel: Kernel, noise_variance: float) -> float:
        self._foresee(kernel, noise_variance)
        return super().settle(kernel, noise_variance)

    def value(self, kernel: Kernel, noise_variance: float) -> float:
        if self.learns and self.reml:
            return self._about(kernel, noise_variance, limits.COMPARED_NATS)
        return super().value(kernel, noise_variance)

    def ranked(self, kernel: Kernel, noise_variance: float) -> float:
        """The same to a fraction of a nat."""
        if self.learns and self.reml:
            return self._about(kernel, noise_variance, limits.RANKED_NATS)
        value = super().value(kernel, noise_variance)
        self._remember(kernel, noise_variance)
        return value

    def _about(self, kernel: Kernel, noise_variance: float, enough: float) -> float:
        """Value at a dispersion that so many nats are to be gained from, these included."""
        self._foresee(kernel, noise_variance)
        with blas_threads(self.largest):
            bounds = [ExactBound(kernel, noise_variance, part) for part in self.parts]
            points = self._by_slope(bounds, enough)
        self._remember(kernel, noise_variance)
        # and what the last step would have gained
        return float(sum(point.value for point in points)) + self.slope_of_dispersion(points) ** 2 / (2 * self.bend)

    def information(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """About minus the Hessian in [theta, log noise variance]; value and gradient there are kept."""
        self._foresee(kernel, noise_variance)
        with blas_threads(self.largest):
            bounds = [ExactBound(kernel, noise_variance, part) for part in self.parts]
            points = self._profile(bounds)
            pairs = list(zip(bounds, points, strict=True))
            slopes = sum(bound.slopes(point) for bound, point in pairs)
            information = sum(bound.information(point) for bound, point in pairs)
        self._remember(kernel, noise_variance)
        value = sum(point.value for point in points) - self._penalty()
        self.known[kernel, noise_variance] = np.zeros(0), (value, np.asarray(slopes))
        return np.asarray(information)

    # ------------------------------------------------------------- climbing with the kernel

    def hidden(self, kernel: Kernel, noise_variance: float) -> FloatArray:
        """Log dispersion that is expected, where it is learned and neither tiny nor beside a trend that is held."""
        if not (self.learns and self.reml):
            return np.zeros(0)
        self._foresee(kernel, noise_variance)
        inside = self._inside()
        return inside if inside[0] > np.log(limits.TINY_DISPERSION) else np.zeros(0)

    def hidden_bounds(self) -> FloatArray:
        return np.log([[limits.TINY_DISPERSION, limits.DISPERSION_RANGE[1]]])

    def joint(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient in [theta, log noise variance, log dispersion]."""
        known = self._known(kernel, noise_variance, hidden)
        if known is not None:
            return known
        with blas_threads(self.largest):
            bounds = [ExactBound(kernel, noise_variance, part) for part in self.parts]
            found = self._joint_of(bounds, self._points(bounds, hidden))
        self.known[kernel, noise_variance] = hidden.copy(), found
        return found

    def joint_information(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> FloatArray:
        """About minus the Hessian in the same; value and gradient there are kept.

        What is known of the curvature in the log dispersion takes the place of its information, correlations kept.
        """
        with blas_threads(self.largest):
            bounds = [ExactBound(kernel, noise_variance, part) for part in self.parts]
            points = self._points(bounds, hidden)
            pairs = zip(bounds, points, strict=True)
            information = np.asarray(sum(bound.information(point, dispersion=True) for bound, point in pairs))
            self.known[kernel, noise_variance] = hidden.copy(), self._joint_of(bounds, points)
        factor = np.ones(len(information))
        factor[-1] = np.sqrt(self.bend / max(information[-1, -1], 1e-300))
        return np.asarray(information * factor * factor[:, None])

    def follows(self, kernel: Kernel, slope: FloatArray, curvature: FloatArray) -> None:
        """How the log dispersion moves with theta, as the curvature has it; that in itself is known better, too."""
        if curvature[0, 0] > 0:
            self.bend = float(curvature[0, 0])
        self.trail = _Trail(kernel.theta, float(self._inside()[0]), slope[0, : len(kernel.theta)])

    def arrived(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> None:
        """The dispersion at the end of a climb, from which questions about this kernel begin."""
        self._set(hidden)
        self._remember(kernel, noise_variance)

    def _joint_of(self, bounds: Sequence[ExactBound], points: Sequence[LaplacePoint]) -> tuple[float, FloatArray]:
        slopes = sum(bound.slopes(point) for bound, point in zip(bounds, points, strict=True))
        value = float(sum(point.value for point in points))
        return value, np.r_[np.asarray(slopes), self.slope_of_dispersion(points)]

    def _known(self, kernel: Kernel, noise_variance: float, hidden: FloatArray) -> tuple[float, FloatArray] | None:
        """Value and gradient there, if they were asked for before."""
        at, found = self.known.get((kernel, noise_variance), (None, None))
        alike = at is not None and at.shape == hidden.shape and np.allclose(at, hidden, rtol=0, atol=limits.SAME_LOG)
        return found if alike else None

    # -------------------------------------------------------------- where the kernel is given

    def _foresee(self, kernel: Kernel, noise_variance: float) -> None:
        end = self.ends.get((kernel, noise_variance))
        if end is not None:
            self.starts = end[1][:]
        if self.learns:
            at = self.trail.at(kernel.theta, self._inside()[0]) if end is None else end[0]
            self._set(np.r_[at, self.trend])

    def _remember(self, kernel: Kernel, noise_variance: float) -> None:
        at = 0.0
        if self.learns:
            at = float(self._inside()[0])
            self.trail = self.trail.onwards(kernel.theta, at)
        self.ends[kernel, noise_variance] = at, self.starts[:]

    def _settled(self, bounds: Sequence[Bound], inside: FloatArray) -> list[LaplacePoint]:
        if len(inside) > 1 or not self.learns:
            return super()._settled(bounds, inside)
        self._set(inside)
        tiny = inside[0] <= np.log(limits.TINY_DISPERSION)
        return self._by_slope(bounds, limits.SETTLED_TINY if tiny else limits.SETTLED_DISPERSION)

    def _by_slope(self, bounds: Sequence[Bound], enough: float) -> list[LaplacePoint]:
        """Points at the dispersion to which steps by its slope lead, until less than so many nats are to be gained."""
        x = float(self._inside()[0])
        points = self._points(bounds, np.array([x]))
        slope, begun = self.slope_of_dispersion(points), self.starts[:]
        for _ in range(limits.MAX_DISPERSION_STEPS):
            # what a tiny dispersion adds is in proportion to it: small slopes promise much
            tiny = x < np.log(limits.TINY_DISPERSION) and abs(slope) < self.bend
            if slope == 0 or (not tiny and slope * slope <= 2 * enough * self.bend):  # a power would overflow
                return points
            step = self._step_of_tiny(x, slope) if tiny else slope / self.bend
            if not tiny:
                step = float(np.clip(step, -limits.DISPERSION_STEP, limits.DISPERSION_STEP))
            try:
                new = self._points(bounds, np.array([x + step]))
            except ConvergenceError:  # a step too far
                self.starts, self.bend = begun[:], 4 * self.bend
                continue
            new_slope, gained = self.slope_of_dispersion(new), sum(p.value for p in new) - sum(p.value for p in points)
            bend = (slope - new_slope) / step
            if tiny and gained < 0:
                break
            if not tiny:
                self.bend = bend if bend > 0 and gained >= 0 else self.bend * (4 if bend > 0 else 0.5)
            if gained >= 0:
                x, points, slope, begun = x + step, new, new_slope, self.starts[:]
        return super()._settled(bounds, np.array([x]))

    @staticmethod
    def _step_of_tiny(x: float, slope: float) -> float:
        """To the lower bound, or as many times more as let it tell."""
        if slope < 0:
            return float(np.log(limits.DISPERSION_RANGE[0])) - x
        return float(np.clip(np.log(limits.TOLD_SLOPE / slope), 0.5, np.log(limits.FIRST_TOLD) - x))


@dataclass(frozen=True)
class _Trail:
    """How the log dispersion has followed the hyperparameters: linearly, by the steps seen (Broyden 1965)."""

    theta: FloatArray | None = None
    value: float = 0.0
    slope: FloatArray | None = None

    def distance(self, theta: FloatArray) -> float:
        """Of hyperparameters from the last, at most 1."""
        if self.theta is None or len(theta) != len(self.theta):
            return 1.0
        return min(float(np.linalg.norm(theta - self.theta)), 1.0)

    def at(self, theta: FloatArray, now: float) -> float:
        """What is to be expected of other hyperparameters; `now`, where nothing is known of such."""
        if self.theta is None or self.slope is None or self.distance(theta) >= 1:
            return now
        ahead = float(self.slope @ (theta - self.theta))
        return self.value + float(np.clip(ahead, -limits.DISPERSION_STEP, limits.DISPERSION_STEP))

    def onwards(self, theta: FloatArray, value: float) -> _Trail:
        """With what was found."""
        if self.theta is None or self.slope is None or len(theta) != len(self.theta):
            return _Trail(theta, value, np.zeros(len(theta)))
        step = theta - self.theta
        length = float(step @ step)
        if not 0 < length < 1:
            return _Trail(theta, value, self.slope)
        missed = value - self.value - float(self.slope @ step)
        return _Trail(theta, value, self.slope + missed * step / length)


def _first_trend(parts: Sequence[Responses], family: Family) -> FloatArray:
    """Trend of a first, rough fit: least squares on the working responses."""
    columns, targets = [], []
    for part in parts:
        seen = replace(part, family=family).linearised(family.start(part.y, part.size))
        root = np.sqrt(part.weight * seen.curvature)
        columns.append(part.rows.trend * root[:, None])
        targets.append((seen.z - part.offset) * root)
    return np.asarray(np.linalg.lstsq(np.concatenate(columns), np.concatenate(targets), rcond=None)[0])


def _usable(inverse_hessian: FloatArray) -> FloatArray | None:
    """The same, where steps by it would be neither nothing nor out of all bounds."""
    if not np.all(np.isfinite(inverse_hessian)):
        return None
    least, most = np.linalg.eigvalsh(inverse_hessian)[[0, -1]]
    return None if least < 1e-8 or most > 100 else np.asarray((inverse_hessian + inverse_hessian.T) / 2)
