"""Solving: the posterior for learned hyperparameters, by the scheme that was chosen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ApproximationWarning, CollinearityWarning
from bochner.features import FeatureMap, covariance_between
from bochner.inference.adaptive.adapt import Adapted, adapt
from bochner.inference.adaptive.ascent import fit_few_waves
from bochner.inference.fits.exact import fit_exact_of
from bochner.inference.fits.iterative import fit_operator
from bochner.inference.fits.linear import LinearFit, fit_linear
from bochner.inference.fits.newton import Mode, find_mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.scale import Scale
from bochner.inference.observed.settings import Settings
from bochner.inference.schemes.choose import ADAPTIVE, EXACT_ROWS, build_features, number_of_waves
from bochner.inference.schemes.few_waves import MOST_ROWS, UNSEEN, covered_box, lattice_features
from bochner.inference.schemes.nearest_rows import better_from_nearest
from bochner.inference.tuning.averaging import Average
from bochner.kernels import Kernel, total_variance
from bochner.posterior import CoefficientPosterior
from bochner.solvers import LeastSquares, least_squares

UNSEEN_BY_LAPLACE = 1e-2  # of the noise: what Laplace's approximation itself is off by is more


@dataclass(frozen=True)
class Solved:
    """A mode for every set of hyperparameters, the best first, and what was found on the way."""

    fits: Sequence[Mode]
    noise_variances: FloatArray
    n_frequencies: int | None = None
    kernel_error: float | None = None
    kernel: Kernel | None = None  # where the features changed it


def solve(
    kind: str,
    settings: Settings,
    data: Responses | Observations,
    obs: Observations,
    scale: Scale,
    learned: Average,
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Solved:
    """Posteriors for every set of hyperparameters; reasons are added to `choices`.

    `data` is what is fitted; `obs` is the same seen as Gaussian observations, from which the features are chosen.
    """
    noises = np.asarray(learned.noise_variances, dtype=float)
    pairs = [(k, float(s2)) for k, s2 in zip(learned.kernels, noises, strict=True)]
    if kind == "exact":
        if settings.spec.n_frequencies != "auto":
            choices["n_frequencies"] = f"{settings.spec.n_frequencies} were asked for; the exact kernel uses none"
        modes = [solve_exact(k, s2, data) for k, s2 in pairs]
        choices["solver"] = modes[0].reason
        return Solved(modes, noises)
    if kind == "lattice":
        return _solve_lattice(settings, data, obs, pairs, noises, choices, predict_at)
    if kind in ADAPTIVE:
        return _solve_adaptive(kind, settings, data, obs, pairs, choices, predict_at)
    kernel = learned.kernels[0]
    m, why, error = number_of_waves(kind, settings.spec, kernel, len(obs), scale.extent)
    coarse = error is not None and error > settings.spec.tolerance

    def waves(k: Kernel, s2: float, rows: Responses | Observations, told: dict[str, str]) -> tuple[Mode, float]:
        features, told["dtype"] = build_features(kind, settings.spec, k, m, obs, s2 + typical_error(obs))
        if coarse and isinstance(rows, Observations) and _may_raise_noise(settings, features, rows, s2):
            return _solve_few_waves(settings, features, rows, s2, total_variance(k), told)
        return _solve_linear(settings, features, rows, s2), s2

    if coarse and data is obs and len(pairs) == 1 and _may_be_nearest(settings, obs):
        better, told = better_from_nearest(*pairs[0], lambda part: waves(*pairs[0], part, {}), obs, settings.spec.seed)
        if better:
            choices["features"] = f"nearest rows, instead of {kind} waves: {told}"
            return _solve_nearest(settings, obs, pairs[0], choices)
        choices["features"] += f"; {told}"
    choices["n_frequencies"] = why
    if coarse:
        warnings.warn(
            f"{m:,} {kind} frequencies approximate the kernel to {error:.1e} of its variance (RMS), coarser than "
            f"tolerance={settings.spec.tolerance:g}; raise n_frequencies or tolerance, or use features='exact'.",
            ApproximationWarning,
            stacklevel=4,
        )
    done = [waves(k, s2, data, choices) for k, s2 in pairs]
    modes, noises = [mode for mode, _ in done], np.array([s2 for _, s2 in done])
    choices["solver"] = modes[0].reason
    first = modes[0].posterior
    assert isinstance(first, CoefficientPosterior)
    if isinstance(first.factor, LeastSquares):
        noises = np.array([first.factor.residual_variance])
    return Solved(modes, noises, first.features.n_columns if kind == "nystroem" else m, error)


def _may_be_nearest(settings: Settings, obs: Observations) -> bool:
    """Whether features are ours to choose, and rows are few enough to be kept."""
    chosen = settings.spec.features == "auto" and settings.spec.n_frequencies == "auto"
    return chosen and len(obs) <= MOST_ROWS and not _is_ordinary(settings, obs)


def _solve_nearest(
    settings: Settings, obs: Observations, learned: tuple[Kernel, float], choices: dict[str, str]
) -> Solved:
    mode = solve_operator(*learned, obs, settings.n_jobs)
    choices["n_frequencies"] = "none: the nearest rows say more"
    choices["solver"] = mode.reason
    return Solved([mode], np.array([learned[1]]))


def solve_exact(kernel: Kernel, noise_variance: float, data: Responses | Observations) -> Mode:
    """Mode with the exact kernel; its matrix is made once."""
    k = covariance_between(kernel, data.rows, data.rows)
    return find_mode(data, noise_variance, lambda obs: fit_exact_of(kernel, obs, noise_variance, k))


def solve_operator(
    kernel: Kernel, noise_variance: float, data: Responses | Observations, n_jobs: int | None = None
) -> Mode:
    """Mode by conjugate gradients on the rows; what only predictions need is made once, at the end."""
    return find_mode(
        data,
        noise_variance,
        lambda obs: fit_operator(
            kernel, obs, noise_variance, n_jobs=n_jobs, companion=False, quiet=True, tolerance=1e-3
        ),
        settled=1e-6,
        last=lambda obs: fit_operator(kernel, obs, noise_variance, n_jobs=n_jobs),
    )


def typical_error(obs: Observations) -> float:
    """Known error variance of a typical row, beside the learned noise."""
    return float(np.median(obs.error)) if len(obs) else 0.0


def _solve_lattice(
    settings: Settings,
    data: Responses | Observations,
    obs: Observations,
    pairs: Sequence[tuple[Kernel, float]],
    noises: FloatArray,
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Solved:
    box = covered_box(obs.rows.coords, predict_at)
    modes: list[Mode] = []
    m, error = None, None
    for k, s2 in pairs:
        features, why, found = lattice_features(
            settings.spec, k, s2 + typical_error(obs), len(obs), box, UNSEEN if data is obs else UNSEEN_BY_LAPLACE
        )
        choices["n_frequencies"] = why
        if features is None and len(obs) <= EXACT_ROWS:
            choices["n_frequencies"] = f"none: for {len(obs):,} rows the dense factor is cheaper than the waves needed"
            modes.append(solve_exact(k, s2, data))
        elif features is None:
            modes.append(solve_operator(k, s2, data, settings.n_jobs))
        else:
            modes.append(_solve_linear(settings, features, data, s2))
            m, error = features.frequencies.n, found
    choices["solver"] = modes[0].reason
    return Solved(modes, noises, m, error)


def _solve_adaptive(
    kind: str,
    settings: Settings,
    data: Responses | Observations,
    obs: Observations,
    pairs: Sequence[tuple[Kernel, float]],
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Solved:
    modes: list[Mode] = []
    noises: list[float] = []
    first: Adapted | None = None
    for k, s2 in reversed(pairs):  # the best last, so that `choices` tell of it
        first = adapt(kind, settings, k, s2, data, obs, choices, predict_at)
        modes.insert(0, _solve_linear(settings, first.features, data, first.noise_variance))
        noises.insert(0, first.noise_variance)
    choices["solver"] = modes[0].reason
    assert first is not None
    posterior = modes[0].posterior
    assert isinstance(posterior, CoefficientPosterior)
    if isinstance(posterior.factor, LeastSquares):
        noises = [posterior.factor.residual_variance]
    return Solved(modes, np.array(noises), first.n_frequencies, kernel=first.kernel)


def _solve_linear(
    settings: Settings, features: FeatureMap, data: Responses | Observations, noise_variance: float
) -> Mode:
    if isinstance(data, Observations) and _is_ordinary(settings, data):
        return Mode(_ordinary(features, data), data, None, np.zeros(0), noise_variance, 1)
    return find_mode(data, noise_variance, lambda obs: fit_linear(features, obs, noise_variance))


def _may_raise_noise(settings: Settings, features: FeatureMap, obs: Observations, noise_variance: float) -> bool:
    """Whether the noise is learned and can hold what the waves leave out; known errors of rows would need more sums."""
    learned = settings.noise_variance is None and settings.tune is not None and noise_variance > 0
    return learned and features.n_columns <= len(obs) and not obs.error.any()


def _solve_few_waves(
    settings: Settings,
    features: FeatureMap,
    obs: Observations,
    noise_variance: float,
    variance: float,
    choices: dict[str, str],
) -> tuple[Mode, float]:
    """Mode of waves that leave much out, which is noise to them: else their intervals would be too narrow."""
    reml = settings.criterion != "likelihood"
    fit, noise = fit_few_waves(features, obs, noise_variance, variance, reml=reml)
    if noise > noise_variance:
        choices["noise"] = f"{noise:.3g} instead of {noise_variance:.3g}: with what the waves leave out"
    return Mode(fit, obs, None, np.zeros(0), noise, 1), noise


def _is_ordinary(settings: Settings, obs: Observations) -> bool:
    """Whether least squares is asked for: no noise, none to be learned, and none known of the rows."""
    return settings.noise_variance == 0 and settings.tune is None and not obs.error.any()


def _ordinary(features: FeatureMap, obs: Observations) -> LinearFit:
    """Ordinary least squares on the features: no prior, no noise variance but the residuals'."""
    root = np.sqrt(obs.weight)
    columns = np.column_stack([np.asarray(features.block(obs.rows.coords), dtype=float), obs.rows.trend])
    result = least_squares(columns * root[:, None], obs.y * root)
    n, p = columns.shape
    # merged rows have left out their scatter about the mean, and count as often as there were copies
    misfit, spare = result.residual_variance * (n - result.rank) + obs.scatter.sum(), obs.total - result.rank
    result = replace(result, residual_variance=float(misfit / spare) if spare > 0 else 0.0)
    reason = f"ordinary least squares by {result.report.method.upper()}: noise_variance=0 without tuning"
    if result.rank < p:
        reason += f"; rank {result.rank} of {p} columns, the minimum-norm answer is taken"
    if result.rank < min(n, p):  # more columns than rows are no surprise, dependent ones are
        warnings.warn(
            f"the {p} columns of the least-squares fit are collinear: only {result.rank} directions can be told apart. "
            f"The coefficients of least norm are taken; use fewer frequencies, or a noise_variance > 0 (ridge).",
            CollinearityWarning,
            stacklevel=5,
        )
    return LinearFit(CoefficientPosterior(features, result.coef, result), np.nan, np.nan, reason)
