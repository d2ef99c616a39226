"""Laplace evidence as an objective of the kernel alone: whatever else it depends on is at its best.

A dispersion to be learned maximises the evidence inside each evaluation; so does the trend when the
likelihood is asked for, with its coefficients at the maximum of the marginal likelihood and not at the joint mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, optimize

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.families import Family
from bochner.inference.evidence import limits
from bochner.inference.evidence.laplace import Bound, LaplacePoint
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
            value, slopes, _ = self._held_at(kernel, noise_variance)
        return value, slopes

    def held_with_information(self, kernel: Kernel, noise_variance: float) -> tuple[float, FloatArray, FloatArray]:
        """The same, and about minus the Hessian."""
        with blas_threads(self.largest):
            value, slopes, pairs = self._held_at(kernel, noise_variance)
            information = sum(bound.information(point) for bound, point in pairs)
        return value, slopes, np.asarray(information)

    def _held_at(
        self, kernel: Kernel, noise_variance: float
    ) -> tuple[float, FloatArray, list[tuple[Any, LaplacePoint]]]:
        bounds = [self.bind(kernel, noise_variance, part) for part in self.parts]
        pairs = list(zip(bounds, self._points(bounds, self._inside()), strict=True))
        slopes = sum(bound.slopes(point) for bound, point in pairs)
        return sum(point.value for _, point in pairs) - self._penalty(), np.asarray(slopes), pairs

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
