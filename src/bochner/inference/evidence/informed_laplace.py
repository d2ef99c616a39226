"""Laplace evidence of the exact kernel with its information, and a dispersion that climbs along with the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.inference.evidence import limits
from bochner.inference.evidence.laplace import Bound, ExactBound, LaplacePoint
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel
from bochner.resources import blas_threads


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
