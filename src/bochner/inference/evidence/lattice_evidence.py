"""Evidence on a lattice that stays: all rows are seen once, then each kernel costs one Cholesky factor.

Where few waves hold all that the data can tell (noisy data, a smooth or long field), their moments do not depend on
the kernel: a kernel is a diagonal of spectral masses between them. So the evidence of all rows, and its gradient,
is exact at a price that knows nothing of their number; a likelihood of neighbours sees less of such a field.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ConvergenceError, KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, lattice_frequencies, lattice_mass
from bochner.inference.fits.linear import LinearFit, coefficient_covariance, fit_moments, row_precision
from bochner.inference.observed.observations import Observations
from bochner.inference.schemes.few_waves import covered_box
from bochner.inference.tuning.search import Objective, Search, Tuned
from bochner.kernels import Kernel, Matern, total_variance
from bochner.moments import DenseMoments, moments_of

MOST_WAVES = 800  # a factor and an inverse of 1,600 columns: some tenths of a second
ROWS_A_WAVE = 8  # or more; else a likelihood of neighbours knows as much
LEAST_NOISE = 3e-3  # of the variance
UNSEEN, MOST_UNSEEN = 0.01, 0.03  # of the noise: what the waves may leave out at the start, and during the climb
SHARED = 1.0  # of the noise: the same, counted as often as rows of one wave length share it
MARGIN = 1e-3  # value of the kernel, of its variance, that ends the margin around the rows
SPARE = 3.0  # so much less is left out by the first kernel's waves, if that is to be had: the climb moves it
ITERATIONS = 20
SETTLED = 1e-6  # of the log evidence
SMOOTH = 3.0  # nu beyond which likelihoods hardly change
STEP = 1e-4  # in theta, of the difference quotients of masses


def refine_on_lattice(found: Tuned, search: Search, obs: Observations, *, reml: bool = True) -> Tuned:
    """Hyperparameters found by a likelihood of neighbours, moved to where the evidence of all rows is largest.

    They stay as they are where waves do not hold the field.
    """
    start = found.kernel
    if isinstance(start, Matern) and start.learn_nu and start.nu > SMOOTH:
        start = _rougher(start)  # neighbours under noise cannot tell how smooth: nu has drifted
    objective = lattice_objective(start, found.noise_variance, obs, reml=reml)
    if objective is None:
        return found
    on_lattice = replace(search, objective=objective)
    refined = on_lattice.maximise(start, found.noise_variance, ITERATIONS, SETTLED)
    return refined if refined.value > on_lattice.evaluate(found.kernel, found.noise_variance)[0] else found


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
        if total_variance(k) - float(mass.sum()) > MOST_UNSEEN * noise:
            raise ConvergenceError("the waves do not hold this kernel")
        fit = _fit(Frequencies(waves.omega, mass, lattice), obs, unit, noise)
        by_log_mass, by_log_noise = _slopes(fit, obs, unit, noise, reml=reml)
        slopes = []
        for j in range(len(k.theta)):
            step = np.zeros(len(k.theta))
            step[j] = STEP
            up, down = (np.log(lattice_mass(k.with_theta(k.theta + s), lattice)) for s in (step, -step))
            slopes.append(float(by_log_mass @ (up - down)) / (2 * STEP))
        return fit.log_evidence if reml else fit.log_likelihood, np.array([*slopes, by_log_noise])

    return objective


def _rougher(kernel: Matern) -> Matern:
    """The kernel of smoothness 3/2 with the same curvature at zero: k = 1 - nu / (nu - 1) (r / l)^2 / 2 + ..."""
    longer = float(np.sqrt(3 * (kernel.nu - 1) / kernel.nu))
    scale = kernel.length_scale
    lengths = tuple(longer * v for v in scale) if isinstance(scale, tuple) else longer * scale
    return kernel.replace(nu=1.5, length_scale=lengths)


def _waves(kernel: Kernel, noise_variance: float, obs: Observations) -> Frequencies | None:
    low, high = covered_box(obs.rows.coords, None)
    variance = total_variance(kernel)
    most = min(MOST_WAVES, len(obs) // ROWS_A_WAVE)
    if noise_variance < LEAST_NOISE * variance:  # the margin would have to be immense
        return None
    share = min(UNSEEN, SHARED * most / len(obs)) * noise_variance / variance
    if most < 1:
        return None
    try:
        waves = lattice_frequencies(kernel, high - low, missing=share / SPARE, maximum=most, margin=MARGIN)
    except KernelError:
        return None
    held = waves.lattice is not None and variance - float(waves.mass.sum()) <= share * variance
    return waves if held else None


def _fit(frequencies: Frequencies, obs: Observations, unit: DenseMoments, noise: float) -> LinearFit:
    features = FourierMap(frequencies)
    scale = np.r_[np.sqrt(np.tile(frequencies.mass, 2)), np.ones(obs.n_trend)]
    scaled = DenseMoments(
        unit.gram * scale * (scale[:, None] / noise),
        unit.projection * scale / noise,
        unit.energy / noise,
        unit.weight / noise,
    )
    return fit_moments(features, obs, noise, row_precision(features, obs, noise), scaled, "")


def _slopes(
    fit: LinearFit, obs: Observations, unit: DenseMoments, noise: float, *, reml: bool
) -> tuple[FloatArray, float]:
    """Gradient in log mass (m,) and log noise, by Fisher's identity: from the posterior's second moments alone.

    With c the coefficients in units of their prior sd, dL / d log mass = (E c^2 - 1) / 2, and
    dL / d log noise = (E |residual|^2 / noise - n) / 2.
    """
    coef, p = fit.posterior.coef, fit.posterior.features.n_columns
    covariance = coefficient_covariance(fit, obs, reml=reml)
    second = coef[:p] ** 2 + np.diag(covariance)[:p]
    by_log_mass = 0.5 * (second[: p // 2] + second[p // 2 :] - 2)
    # S c = projection, with S = Gram + prior precision: c'Gram c = c'projection - |c|^2
    scale = np.r_[np.sqrt(np.tile(fit.posterior.features.frequencies.mass, 2)), np.ones(obs.n_trend)]  # type: ignore[attr-defined]
    explained = float(coef @ (unit.projection * scale)) / noise
    residual = unit.energy / noise - explained - float(coef[:p] @ coef[:p])
    spread = p - float(np.trace(covariance[:p, :p])) + (obs.n_trend if reml else 0)
    return by_log_mass, 0.5 * (residual + spread - len(obs)) + obs.replicate_terms(noise)[1]
