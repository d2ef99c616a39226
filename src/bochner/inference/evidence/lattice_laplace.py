"""Laplace evidence of all rows on a fixed lattice of waves, for any family, with its gradient.

Presence and small counts say little each, so few waves hold all that they can tell. Every sum over rows is a
non-uniform FFT: the weighted Gram of a Newton step, the linear predictor, and the posterior variance of all rows, which
is a trigonometric polynomial on the sums and differences of the waves. With c the coefficients in units of their prior
sd, s and b as in `laplace`, dL / d log mass = sum over the wave's two columns of (E c^2 - 1) / 2 + c phi'b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray, IntArray, rowwise
from bochner.exceptions import KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, lattice_mass
from bochner.inference.evidence import limits
from bochner.inference.evidence.laplace import LaplacePoint, laplace_mode, laplace_point
from bochner.inference.fits.exact import inverse_of
from bochner.inference.fits.linear import LinearEngine, LinearFit, row_precision
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel, total_variance
from bochner.solvers import CholeskyFactor


@dataclass(frozen=True)
class LatticePlan:
    """Waves that a climb is done on; kernels differ in their masses alone."""

    omega: FloatArray
    lattice: Lattice

    def features(self, kernel: Kernel) -> FourierMap:
        """The waves with the masses of a kernel; what they leave out is carried as independent variance."""
        mass = np.maximum(lattice_mass(kernel, self.lattice), 1e-300)
        missing = max(total_variance(kernel) - float(mass.sum()), 0.0)
        return FourierMap(Frequencies(self.omega, mass, self.lattice), missing=missing)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Where the sum and the difference of waves i and j lie in a box of twice the width, (m, m) each."""
        index, centre = self.lattice.index, 2 * np.array(self.lattice.half_width)
        shape = self.box
        plus = np.zeros((len(index), len(index)), dtype=np.intp)
        minus = np.zeros_like(plus)
        for axis, size in enumerate(shape):
            i = index[:, axis]
            plus = plus * size + i[:, None] + i + centre[axis]
            minus = minus * size + i[:, None] - i + centre[axis]
        return plus.ravel(), minus.ravel()

    @property
    def box(self) -> tuple[int, ...]:
        """Modes per axis that hold all sums and differences."""
        return tuple(4 * half + 1 for half in self.lattice.half_width)


def lattice_plan(kernel: Kernel, coords: FloatArray, information: float, most: int) -> LatticePlan | None:
    """Waves near a kernel that tell all but a fraction of a nat; None if they are more than `most`.

    `information` is the sum of the rows' curvatures, more where they crowd. A wave of mass a that is taken for noise
    costs about (a information)^2 / 8 nats.
    """
    extent = np.ptp(coords, axis=0)
    extent = np.where(extent > 0, extent, extent.max() if extent.max() > 0 else 1.0)
    if not 1 <= len(extent) <= 3 or most < 1:
        return None
    try:
        waves = lattice_frequencies(
            kernel, extent, missing=limits.PLAN_MISSING, maximum=limits.PLANNED_WAVES, margin=limits.PLAN_MARGIN
        )
    except KernelError:
        return None
    if waves.lattice is None:
        return None
    cost = np.cumsum(((waves.mass * information) ** 2 / 8)[::-1])[::-1]  # of leaving out this wave and all lighter ones
    n = max(int(np.sum(cost > limits.UNTOLD_NATS)), min(waves.n, limits.LEAST_PLAN_WAVES))
    if n > most and cost[most] > limits.UNTOLD_AT_MOST:
        return None
    n = min(n, most)
    lattice = Lattice(waves.lattice.spacing, waves.lattice.index[:n])
    return LatticePlan(waves.omega[:n], lattice)


class LatticeBound:
    """Waves of a plan with the masses of a kernel, on all rows."""

    def __init__(self, plan: LatticePlan, kernel: Kernel, noise_variance: float) -> None:
        self.plan, self.kernel, self.noise_variance = plan, kernel, noise_variance
        self.features = plan.features(kernel)

    def mode(self, responses: Responses, start: FloatArray | None) -> Mode:
        return laplace_mode(responses, LinearEngine(self.features, self.noise_variance), start, limits.VALUE_TOLERANCE)

    def point(self, responses: Responses, start: FloatArray | None) -> LaplacePoint:
        mode = laplace_mode(responses, LinearEngine(self.features, self.noise_variance), start)
        fit, obs = mode.fit, mode.obs
        assert isinstance(fit, LinearFit) and isinstance(fit.posterior.factor, CholeskyFactor)
        covariance = inverse_of(fit.posterior.factor)
        precision = row_precision(self.features, obs, self.noise_variance)
        diagonal = precision - precision**2 * self._variance(covariance, obs)
        columns = self.features.n_columns

        def product(v: FloatArray) -> FloatArray:
            weighted = precision * v
            told = np.r_[self.features.adjoint(obs.rows.coords, weighted), obs.rows.trend.T @ weighted]
            coef = covariance @ told
            seen = self.features.forward(obs.rows.coords, coef[:columns]) + obs.rows.trend @ coef[columns:]
            return np.asarray(weighted - precision * seen)

        self._diagonal, self._spread, self._product = diagonal, np.diag(covariance)[:columns].copy(), product
        return laplace_point(mode, diagonal, product)

    def slopes(self, point: LaplacePoint) -> FloatArray:
        fit, obs, alpha = point.mode.fit, point.mode.obs, point.mode.alpha
        assert isinstance(fit, LinearFit)
        m = len(self.plan.omega)
        coef = fit.posterior.coef[: 2 * m]
        moved = self.features.adjoint(obs.rows.coords, point.b)
        by_column = 0.5 * (coef**2 + self._spread - 1) + coef * moved
        by_log_mass = by_column[:m] + by_column[m:]
        by_variance = 0.5 * (alpha**2 - self._diagonal + 2 * alpha * point.b)
        by_missing = float(np.sum(by_variance))
        by_theta = [float(by_log_mass @ mass + by_missing * missing) for mass, missing in self._moves]
        by_noise = 0.0
        if self.noise_variance > 0:
            by_noise = self.noise_variance * float(np.sum(by_variance / obs.weight))
            by_noise += obs.replicate_terms(self.noise_variance)[1]
        return np.array([*by_theta, by_noise])

    def moved(self, point: LaplacePoint) -> list[FloatArray]:
        fit, obs, alpha = point.mode.fit, point.mode.obs, point.mode.alpha
        assert isinstance(fit, LinearFit)
        coef, m = fit.posterior.coef, len(self.plan.omega)
        moved = [
            self.features.forward(obs.rows.coords, np.tile(by_mass, 2) * coef[: 2 * m]) + by_missing * alpha
            for by_mass, by_missing in self._moves
        ]
        return [*moved, self.noise_variance / obs.weight * alpha]

    @cached_property
    def _moves(self) -> list[tuple[FloatArray, float]]:
        """How log masses, and what they leave out, move with each entry of theta: by central differences."""
        theta, moves = self.kernel.theta, []
        for step in limits.MASS_STEP * np.eye(len(theta)):
            up, down = (self.plan.features(self.kernel.with_theta(theta + s)) for s in (step, -step))
            by_mass = np.log(up.frequencies.mass) - np.log(down.frequencies.mass)
            moves.append((by_mass / (2 * limits.MASS_STEP), (up.missing - down.missing) / (2 * limits.MASS_STEP)))
        return moves

    def _variance(self, covariance: FloatArray, obs: Observations) -> FloatArray:
        """Posterior variance of the linear predictor at every row, as the waves carry it, (n,)."""
        m, rows = len(self.plan.omega), obs.rows
        amplitude = np.sqrt(self.features.frequencies.mass)
        scale = np.outer(amplitude, amplitude)
        cc, ss = covariance[:m, :m] * scale, covariance[m : 2 * m, m : 2 * m] * scale
        cs = covariance[:m, m : 2 * m] * scale
        # cos a cos b = (cos(a-b) + cos(a+b)) / 2 and so on; A cos + B sin is the real part of (A - iB) exp
        plus, minus = self.plan.pairs
        size = int(np.prod(self.plan.box))
        real = np.bincount(minus, (0.5 * (cc + ss)).ravel(), size) + np.bincount(plus, (0.5 * (cc - ss)).ravel(), size)
        imag = np.bincount(minus, cs.ravel(), size) - np.bincount(plus, cs.ravel(), size)
        modes = (real + 1j * imag).reshape(self.plan.box)
        angle = rowwise(np.multiply, rows.coords, 2 * np.pi * self.plan.lattice.spacing)
        waves = nufft.Plan.trusting(angle, self.plan.box, eps=limits.VARIANCE_EPS).type2(modes[None])[0].real
        if not obs.n_trend:
            return np.asarray(waves)
        both = 2 * self.features.forward(rows.coords, covariance[: 2 * m, 2 * m :])
        both += rows.trend @ covariance[2 * m :, 2 * m :]
        return np.asarray(waves + np.sum(both * rows.trend, axis=1))
