"""Laplace evidence of any family and its gradient, in closed form.

At the mode the evidence is that of the Gaussian stand-in plus a correction. Its gradient has an
explicit part, the Gaussian one, and an implicit part: hyperparameters move the mode, and the curvature with it
(Rasmussen & Williams 2006, 5.5.1). With s = dL / d eta = -var(eta) W' / 2 and b = Pi (s / W), both are
1/2 tr[(alpha alpha' - Pi + b alpha' + alpha b') dK].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError
from bochner.features import FeatureMap, FourierMap
from bochner.frequencies import Frequencies
from bochner.inference.fits.base import Engine
from bochner.inference.fits.exact import ExactEngine, ExactFit, Residual
from bochner.inference.fits.feature_evidence import chain_to_theta, frequency_gradient, residual_product
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.fits.newton import Mode, find_mode
from bochner.inference.observed.responses import Linearised, Responses
from bochner.kernels import Kernel, Slopes

VALUE_TOLERANCE = 1e-6  # in eta, of a mode: one more step of Newton's is within 1e-10 of the value


@dataclass(frozen=True)
class LaplacePoint:
    """Mode at one set of hyperparameters, with what the slopes of its evidence need."""

    mode: Mode
    spread: FloatArray  # posterior variance of each latent value
    pull: FloatArray  # s / W: how far the evidence would like each latent value to move
    b: FloatArray  # Pi (s / W)
    product: Callable[[FloatArray], FloatArray]  # with Pi
    residual: Residual | None = None  # Pi itself, where that is affordable

    @property
    def value(self) -> float:
        return self.mode.log_evidence

    @property
    def next_order(self) -> float:
        """What the next order of Laplace's expansion adds to the evidence of single trials, none of them copied.

        Sums of the fourth derivatives of the log densities over the variances of the latent values, and of the third
        ones between rows by way of both variances (Shun & McCullagh 1995). The term with the cube of the covariances
        is left out: it is small where third derivatives are, as those of trials, and not of counts.
        """
        seen = self.mode.linearised
        assert seen is not None and np.all(seen.responses.weight == 1)
        r, h = seen.responses, 1e-3  # step of the linear predictors
        up, down = (r.family.derivatives(r.y, seen.eta + step, r.size).slope for step in (h, -h))
        fourth = -(up - down) / (2 * h)
        # third * variance = 2 W pull, and cov(eta) = 1/W - 1/W Pi 1/W
        between = 0.5 * float(self.pull @ (seen.curvature * self.pull - self.b))
        return float(fourth @ self.spread**2) / 8 + between

    def trend_slope(self, trend: FloatArray) -> FloatArray:
        """Slope in the coefficients of a trend that is held."""
        return np.asarray(trend.T @ (self.mode.alpha + self.b))

    def dispersion_slope(self) -> float:
        """Slope in the log dispersion of the family."""
        seen, (density, score, curvature) = self._dispersed
        r = seen.responses
        explicit = np.sum(r.weight * (density - 0.5 * self.spread * curvature))
        implicit = np.sum(r.weight * self.pull * score) - self.b @ (score / seen.curvature)
        return float(explicit + implicit)

    def error_slope(self) -> FloatArray:
        """Slope of the error variance of each row in the log dispersion, (n,)."""
        seen, (_, _, curvature) = self._dispersed
        return np.asarray(-curvature / seen.curvature**2)

    @cached_property
    def _dispersed(self) -> tuple[Linearised, tuple[FloatArray, FloatArray, FloatArray]]:
        """Derivatives of log density, score and curvature in the log dispersion."""
        seen = self.mode.linearised
        assert seen is not None
        r = seen.responses
        return seen, r.family.dispersion_slopes(r.y, seen.eta, r.size)


class Bound(Protocol):
    """A kind of features with its hyperparameters: evidence of any responses, and slopes at a point."""

    def point(self, responses: Responses, start: FloatArray | None) -> LaplacePoint:
        """Mode of the responses, and what the slopes there need."""

    def mode(self, responses: Responses, start: FloatArray | None) -> Mode:
        """Mode alone, to the digits that a value needs."""

    def slopes(self, point: LaplacePoint) -> FloatArray:
        """Gradient of the evidence in [theta, log noise variance]."""

    def moved(self, point: LaplacePoint) -> list[FloatArray]:
        """dSigma alpha for each entry of the same."""


class ExactBound:
    """The exact kernel on the rows of `responses`; O(n^3) a Newton step."""

    def __init__(self, kernel: Kernel, noise_variance: float, responses: Responses) -> None:
        self.kernel, self.noise_variance, self.rows = kernel, noise_variance, responses.rows

    @cached_property
    def _covariance(self) -> tuple[FloatArray, Slopes]:
        return self.rows.covariance_and_slopes(self.kernel)

    def mode(self, responses: Responses, start: FloatArray | None) -> Mode:
        k = self.rows.covariance_within(self.kernel)
        return laplace_mode(responses, ExactEngine(self.kernel, self.noise_variance, k), start, VALUE_TOLERANCE)

    def point(self, responses: Responses, start: FloatArray | None) -> LaplacePoint:
        mode = laplace_mode(responses, ExactEngine(self.kernel, self.noise_variance, self._covariance[0]), start)
        assert isinstance(mode.fit, ExactFit)
        residual = Residual.of(mode.fit.posterior)
        return replace(laplace_point(mode, residual.diagonal, residual.product), residual=residual)

    def slopes(self, point: LaplacePoint) -> FloatArray:
        assert point.residual is not None
        g = point.residual.weights(point.mode.alpha, point.b)
        by_theta = [0.5 * slope for slope in self._covariance[1].traces(g)]
        by_noise = 0.0
        if self.noise_variance > 0:
            obs = point.mode.obs
            by_noise = 0.5 * self.noise_variance * float(np.sum(np.diag(g) / obs.weight))
            by_noise += obs.replicate_terms(self.noise_variance)[1]
        return np.array([*by_theta, by_noise])

    def moved(self, point: LaplacePoint) -> list[FloatArray]:
        alpha = point.mode.alpha
        return [*self._covariance[1].products(alpha), self.noise_variance / point.mode.obs.weight * alpha]


class LinearBound:
    """Fourier features that `draw(theta)` gives, smoothly in theta."""

    def __init__(self, draw: Callable[[FloatArray], Frequencies], theta: FloatArray, noise_variance: float) -> None:
        self.draw, self.theta, self.noise_variance = draw, theta, noise_variance
        self.features = FourierMap(draw(theta))

    def point(self, responses: Responses, start: FloatArray | None) -> LaplacePoint:
        return feature_point(self.features, responses, self.noise_variance, start)

    def mode(self, responses: Responses, start: FloatArray | None) -> Mode:
        return self.point(responses, start).mode

    def slopes(self, point: LaplacePoint) -> FloatArray:
        fit = point.mode.fit
        assert isinstance(fit, LinearFit)
        parts = frequency_gradient(fit, point.mode.obs, reml=True, implicit=point.b)
        return chain_to_theta(self.draw, self.theta, *parts)

    def moved(self, point: LaplacePoint) -> list[FloatArray]:
        alpha, obs = point.mode.alpha, point.mode.obs
        by_theta = moved_by_waves(self.draw, self.theta, obs.rows.coords, alpha)
        return [*by_theta, self.noise_variance / obs.weight * alpha]


def moved_by_waves(
    draw: Callable[[FloatArray], Frequencies], theta: FloatArray, coords: FloatArray, alpha: FloatArray
) -> list[FloatArray]:
    """dK alpha for each entry of theta, by differences, where K is the kernel of the waves."""
    found, step = [], 1e-4
    for e in step * np.eye(len(theta)):
        up, down = (FourierMap(draw(theta + s)) for s in (e, -e))
        moved = up.forward(coords, up.adjoint(coords, alpha)) - down.forward(coords, down.adjoint(coords, alpha))
        found.append(np.asarray(moved / (2 * step)))
    return found


def feature_point(
    features: FeatureMap, responses: Responses, noise_variance: float, start: FloatArray | None
) -> LaplacePoint:
    """Mode of the responses with any features, and what the slopes of its evidence need."""
    mode = laplace_mode(responses, LinearEngine(features, noise_variance), start)
    assert isinstance(mode.fit, LinearFit)
    diagonal, product = residual_product(mode.fit, mode.obs)
    return laplace_point(mode, diagonal, product)


def laplace_point(mode: Mode, diagonal: FloatArray, product: Callable[[FloatArray], FloatArray]) -> LaplacePoint:
    """Slopes' ingredients from the diagonal of Pi and products with it."""
    seen = mode.linearised
    assert seen is not None
    r, w = seen.responses, mode.obs.weight
    if np.any(w != 1):  # Pi of one of w copies, out of that of their mean
        diagonal = (1 - 1 / w) / mode.obs.copy_variance(mode.noise_variance) + diagonal / w**2
    spread = 1 / seen.curvature - diagonal / seen.curvature**2
    pull = -0.5 * spread * r.family.derivatives(r.y, seen.eta, r.size).slope / seen.curvature
    return LaplacePoint(mode, spread, pull, product(pull), product)


def laplace_mode(
    responses: Responses,
    engine: Engine,
    start: FloatArray | None,
    tolerance: float = 1e-11,  # in eta: a gradient needs the mode to more digits than a prediction
) -> Mode:
    """Mode to as many digits as a gradient needs, unless told otherwise, from `start` if that leads anywhere."""
    try:
        return find_mode(responses, engine, start=start, tolerance=tolerance)
    except ConvergenceError:
        if start is None:
            raise
        return find_mode(responses, engine, tolerance=tolerance)


def next_order_evidence(kernel: Kernel, noise_variance: float, responses: Responses) -> float:
    """Log evidence of rows without copies; O(n^3).

    Laplace's method alone takes from the evidence of single trials the more, the more each of their latent values is
    left open: weak and smooth fields are favoured (2,000 trials of a rough field: by 17 nats, of which 2 are left).
    """
    point = ExactBound(kernel, noise_variance, responses).point(responses, None)
    return point.value + point.next_order
