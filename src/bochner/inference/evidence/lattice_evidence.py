"""Evidence on a fixed lattice of frequencies: one pass over the rows, then one Cholesky factor per kernel.

Where few waves hold all that the data can tell (noisy data, a smooth or long field), their moments do not depend on
the kernel: a kernel is a diagonal of spectral masses between them. So the evidence of all rows, and its gradient,
is exact at a price that knows nothing of their number; a likelihood of neighbours sees less of such a field.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError, KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, lattice_frequencies, lattice_mass
from bochner.inference.evidence import limits
from bochner.inference.evidence.feature_evidence import coefficient_covariance
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import covered_box
from bochner.kernels import Kernel, total_variance
from bochner.moments import DenseMoments, moments_of

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
        mass = lattice_mass(k, lattice)
        # what the waves leave out is not counted as noise: the two could stand in for each other
        if total_variance(k) - float(mass.sum()) > limits.EVIDENCE_MAX_UNSEEN * noise:
            raise ConvergenceError("the waves do not hold this kernel")
        engine = LinearEngine(FourierMap(Frequencies(waves.omega, mass, lattice)), noise)
        copies, by_copies = obs.replicate_terms(noise)
        fit = engine.fit_moments(unit.scaled(mass, noise, copies), obs.n_trend)
        by_log_mass, by_log_noise = _slopes(fit, unit, mass, reml=reml)
        slopes = []
        for j in range(len(k.theta)):
            step = np.zeros(len(k.theta))
            step[j] = limits.MASS_STEP
            up, down = (np.log(lattice_mass(k.with_theta(k.theta + s), lattice)) for s in (step, -step))
            slopes.append(float(by_log_mass @ (up - down)) / (2 * limits.MASS_STEP))
        return fit.log_evidence if reml else fit.log_likelihood, np.array([*slopes, by_log_noise + by_copies])

    return objective


def _waves(kernel: Kernel, noise_variance: float, obs: Observations) -> Frequencies | None:
    low, high = covered_box(obs.rows.coords, None)
    variance = total_variance(kernel)
    most = min(limits.MAX_EVIDENCE_WAVES, len(obs) // limits.ROWS_PER_EVIDENCE_WAVE)
    if noise_variance < limits.LEAST_EVIDENCE_NOISE * variance:  # the margin would have to be immense
        return None
    share = min(limits.EVIDENCE_UNSEEN, limits.EVIDENCE_SHARED * most / len(obs)) * noise_variance / variance
    if most < 1:
        return None
    try:
        waves = lattice_frequencies(
            kernel, high - low, missing=share / limits.TRUNCATION_SAFETY, maximum=most, margin=limits.EVIDENCE_MARGIN
        )
    except KernelError:
        return None
    held = waves.lattice is not None and variance - float(waves.mass.sum()) <= share * variance
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
