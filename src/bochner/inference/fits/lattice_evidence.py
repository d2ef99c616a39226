"""Evidence on a fixed lattice of waves: kernels differ in their spectral masses alone.

Where few waves hold all that the data can tell, the evidence of all rows, and its gradient, is exact at a small price;
a likelihood of neighbours sees less of such a field. With c the coefficients in units of their prior sd,
dL / d log mass sums (E c^2 - 1) / 2 over the two columns of a wave.

Gaussian responses (noisy data, a smooth or long field): the moments of the waves do not depend on the kernel, so one
pass over the rows serves all; then it is one Cholesky factor per kernel.

Other families (presence and small counts say little each): every sum over rows is a non-uniform FFT: the weighted Gram
of a Newton step, the linear predictor, and the posterior variance of all rows, which is a trigonometric polynomial on
the sums and differences of the waves. With s and b as in `laplace`, dL / d log mass has c phi'b more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bochner import nufft
from bochner.arrays import FloatArray, IntArray, rowwise
from bochner.exceptions import ConvergenceError, KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, lattice_mass
from bochner.inference.fits.exact import inverse_of
from bochner.inference.fits.feature_evidence import coefficient_covariance
from bochner.inference.fits.laplace import VALUE_TOLERANCE, LaplacePoint, laplace_mode, laplace_point
from bochner.inference.fits.linear import LinearEngine, LinearFit, row_precision
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import covered_box
from bochner.kernels import Kernel, total_variance
from bochner.moments import DenseMoments, moments_of
from bochner.solvers import CholeskyFactor

Objective = Callable[[Kernel, float], tuple[float, FloatArray]]
"""(kernel, noise variance) to the value, and its gradient in [theta, log noise variance]."""


def lattice_objective(
    kernel: Kernel, noise_variance: float, obs: Observations, *, reml: bool = True
) -> Objective | None:
    """Log evidence of all rows near a kernel; None, if it takes many waves or errors differ from row to row."""
    if np.any(obs.error != 0) or not 1 <= obs.rows.coords.shape[1] <= 3:
        return None
    waves = _waves(kernel, noise_variance, obs)
    if waves is None:
        return None
    lattice = waves.lattice
    assert lattice is not None
    unit = moments_of(FourierMap(Frequencies(waves.omega, np.ones(waves.n), lattice)), obs.rows, obs.y, obs.weight)

    def objective(k: Kernel, noise: float) -> tuple[float, FloatArray]:
        mass = _masses(k, lattice)
        # what the waves leave out is not counted as noise: the two could stand in for each other
        if total_variance(k) - float(mass.sum()) > 0.03 * noise:
            raise ConvergenceError("the waves do not hold this kernel")
        engine = LinearEngine(FourierMap(Frequencies(waves.omega, mass, lattice)), noise)
        copies, by_copies = obs.replicate_terms(noise)
        fit = engine.fit_moments(unit.scaled(mass, noise, copies), obs.n_trend)
        by_log_mass, by_log_noise = _slopes(fit, unit, mass, reml=reml)
        slopes = [float(by_log_mass @ moved) for moved, _ in mass_slopes(k, lattice)]
        return fit.log_evidence if reml else fit.log_likelihood, np.array([*slopes, by_log_noise + by_copies])

    return objective


def _waves(kernel: Kernel, noise_variance: float, obs: Observations) -> Frequencies | None:
    """Waves that hold a kernel, with room for shorter length scales during a climb; None if they are too many.

    At most 800, whose factor and inverse take some tenths of a second, and one for eight rows: of fewer rows a
    likelihood of neighbours knows as much. They leave out a hundredth of the noise at most, shared by rows and waves.
    """
    low, high = covered_box(obs.rows.coords, None)
    noise, most = noise_variance / total_variance(kernel), min(800, len(obs) // 8)
    if most < 1 or noise < 3e-3:  # with less noise the margin around the rows would have to be immense
        return None
    missing = min(0.01, most / len(obs)) * noise
    try:
        waves = lattice_frequencies(kernel, high - low, missing=missing / 3, maximum=most, margin=1e-3)
    except KernelError:
        return None
    held = waves.lattice is not None and 1 - float(waves.mass.sum()) / total_variance(kernel) <= missing
    return waves if held else None


def _slopes(fit: LinearFit, unit: DenseMoments, mass: FloatArray, *, reml: bool) -> tuple[FloatArray, float]:
    """Gradient in log mass (m,) and log noise, by Fisher's identity: from the posterior's second moments alone.

    With c the coefficients in units of their prior sd, dL / d log mass = (E c^2 - 1) / 2, and
    dL / d log noise = (E |residual|^2 / noise - n) / 2.
    """
    coef, p = fit.posterior.coef, 2 * len(mass)
    q = len(coef) - p
    covariance = coefficient_covariance(fit, q, reml=reml)
    second = coef[:p] ** 2 + np.diag(covariance)[:p]
    by_log_mass = 0.5 * (second[: p // 2] + second[p // 2 :] - 2)
    # S c = projection, with S = Gram + prior precision: c'Gram c = c'projection - |c|^2
    noise = fit.noise_variance
    scale = np.r_[np.sqrt(np.tile(mass, 2)), np.ones(q)]
    explained = float(coef @ (unit.projection * scale)) / noise
    residual = unit.energy / noise - explained - float(coef[:p] @ coef[:p])
    spread = p - float(np.trace(covariance[:p, :p])) + (q if reml else 0)
    return by_log_mass, 0.5 * (residual + spread - unit.n_rows)


@dataclass(frozen=True)
class LatticePlan:
    """Waves that a climb is done on; kernels differ in their masses alone."""

    omega: FloatArray
    lattice: Lattice

    def features(self, kernel: Kernel) -> FourierMap:
        """The waves with the masses of a kernel; what they leave out is carried as independent variance."""
        mass = _masses(kernel, self.lattice)
        missing = max(total_variance(kernel) - float(mass.sum()), 0.0)
        return FourierMap(Frequencies(self.omega, mass, self.lattice), missing=missing)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Where the sum and the difference of waves i and j lie in a box of twice the width, (m, m) each."""
        index, centre = self.lattice.index, 2 * np.array(self.lattice.half_width)
        plus = np.zeros((len(index), len(index)), dtype=np.intp)
        minus = np.zeros_like(plus)
        for axis, size in enumerate(self.box):
            i = index[:, axis]
            plus = plus * size + i[:, None] + i + centre[axis]
            minus = minus * size + i[:, None] - i + centre[axis]
        return plus.ravel(), minus.ravel()

    @property
    def box(self) -> tuple[int, ...]:
        """Modes per axis that hold all sums and differences."""
        return tuple(4 * half + 1 for half in self.lattice.half_width)


def lattice_plan(kernel: Kernel, coords: FloatArray, information: float, most: int) -> LatticePlan | None:
    """Waves near a kernel that tell all but a hundredth of a nat; None if `most` of them leave out more than one.

    `information` is the sum of the rows' curvatures, more where they crowd. A wave of mass a that is taken for noise
    costs about (a information)^2 / 8 nats. There are 60 waves at least, so that shorter ranges can be tried.
    """
    extent = np.ptp(coords, axis=0)
    extent = np.where(extent > 0, extent, extent.max() if extent.max() > 0 else 1.0)
    if not 1 <= len(extent) <= 3 or most < 1:
        return None
    try:
        waves = lattice_frequencies(kernel, extent, missing=1e-4, maximum=4_000, margin=3e-3)
    except KernelError:
        return None
    if waves.lattice is None:
        return None
    cost = np.cumsum(((waves.mass * information) ** 2 / 8)[::-1])[::-1]  # of leaving out this wave and all lighter ones
    if most < waves.n and cost[most] > 1.0:
        return None
    n = min(max(int(np.sum(cost > 0.01)), 60), most, waves.n)
    return LatticePlan(waves.omega[:n], Lattice(waves.lattice.spacing, waves.lattice.index[:n]))


class LatticeBound:
    """Waves of a plan with the masses of a kernel, on all rows."""

    def __init__(self, plan: LatticePlan, kernel: Kernel, noise_variance: float) -> None:
        self.plan, self.kernel, self.noise_variance = plan, kernel, noise_variance
        self.features = plan.features(kernel)

    def mode(self, responses: Responses, start: FloatArray | None) -> Mode:
        return laplace_mode(responses, LinearEngine(self.features, self.noise_variance), start, VALUE_TOLERANCE)

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

        self._diagonal, self._spread = diagonal, np.diag(covariance)[:columns].copy()
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
        return mass_slopes(self.kernel, self.plan.lattice)

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
        waves = nufft.Plan.trusting(angle, self.plan.box, eps=1e-7).type2(modes[None])[0].real
        if not obs.n_trend:
            return np.asarray(waves)
        both = 2 * self.features.forward(rows.coords, covariance[: 2 * m, 2 * m :])
        both += rows.trend @ covariance[2 * m :, 2 * m :]
        return np.asarray(waves + np.sum(both * rows.trend, axis=1))


def _masses(kernel: Kernel, lattice: Lattice) -> FloatArray:
    """Spectral masses of a kernel on a lattice, positive so that they have logarithms."""
    return np.maximum(lattice_mass(kernel, lattice), 1e-300)


def mass_slopes(kernel: Kernel, lattice: Lattice, step: float = 1e-4) -> list[tuple[FloatArray, float]]:
    """How log masses, and what they leave out, move with each entry of theta: by central differences of one step."""
    moves = []
    for e in step * np.eye(len(kernel.theta)):
        (up, more), (down, less) = (
            (_masses(k, lattice), total_variance(k)) for k in (kernel.with_theta(kernel.theta + s) for s in (e, -e))
        )
        left = max(more - float(up.sum()), 0.0) - max(less - float(down.sum()), 0.0)
        moves.append(((np.log(up) - np.log(down)) / (2 * step), left / (2 * step)))
    return moves
