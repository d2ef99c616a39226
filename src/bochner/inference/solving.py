"""Solving: the posterior for learned hyperparameters, by the scheme that was chosen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import ApproximationWarning, CollinearityWarning
from bochner.features import FeatureMap
from bochner.inference.averaging import Average
from bochner.inference.exact import ExactFit, fit_exact
from bochner.inference.features import EXACT_ROWS, build_features, number_of_waves
from bochner.inference.lattice import covered_box, lattice_features
from bochner.inference.linear import LinearFit, fit_linear
from bochner.inference.observations import Observations
from bochner.inference.operator import OperatorFit, fit_operator
from bochner.inference.scale import Scale
from bochner.inference.settings import Settings
from bochner.kernels import Kernel
from bochner.posterior import CoefficientPosterior
from bochner.solvers import least_squares


@dataclass(frozen=True)
class Solved:
    """A fit for every set of hyperparameters, the best first, and what was found on the way."""

    fits: Sequence[ExactFit | LinearFit | OperatorFit]
    noise_variances: FloatArray
    n_frequencies: int | None = None
    kernel_error: float | None = None


def solve(
    kind: str,
    settings: Settings,
    obs: Observations,
    scale: Scale,
    learned: Average,
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Solved:
    """Posteriors for every set of hyperparameters; reasons are added to `choices`."""
    noises = np.asarray(learned.noise_variances, dtype=float)
    pairs = [(k, float(s2)) for k, s2 in zip(learned.kernels, noises, strict=True)]
    if kind == "exact":
        choices["solver"] = f"dual: Cholesky of the {len(obs):,} rows"
        if settings.spec.n_frequencies != "auto":
            choices["n_frequencies"] = f"{settings.spec.n_frequencies} were asked for; the exact kernel uses none"
        return Solved([fit_exact(k, obs, s2) for k, s2 in pairs], noises)
    if kind == "lattice":
        return _solve_lattice(settings, obs, pairs, noises, choices, predict_at)
    kernel = learned.kernels[0]
    m, why, error = number_of_waves(kind, settings.spec, kernel, len(obs), scale.extent)
    choices["n_frequencies"] = why
    if error is not None and error > settings.spec.tolerance:
        warnings.warn(
            f"{m:,} {kind} frequencies approximate the kernel to {error:.1e} of its variance (RMS), coarser than "
            f"tolerance={settings.spec.tolerance:g}; raise n_frequencies or tolerance, or use features='exact'.",
            ApproximationWarning,
            stacklevel=4,
        )
    fits = []
    for k, s2 in pairs:
        features, choices["dtype"] = build_features(kind, settings.spec, k, m, obs, s2)
        fits.append(_fit(settings, features, obs, s2))
    choices["solver"] = fits[0].reason
    if _is_ordinary(settings, obs):
        noises = np.array([fits[0].posterior.factor.residual_variance])  # type: ignore[attr-defined]
    return Solved(fits, noises, fits[0].posterior.features.n_columns if kind == "nystroem" else m, error)


def _solve_lattice(
    settings: Settings,
    obs: Observations,
    pairs: Sequence[tuple[Kernel, float]],
    noises: FloatArray,
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Solved:
    box = covered_box(obs.rows.coords, predict_at)
    fits: list[ExactFit | LinearFit | OperatorFit] = []
    m, error = None, None
    for k, s2 in pairs:
        features, why, found = lattice_features(settings.spec, k, s2, len(obs), box)
        choices["n_frequencies"] = why
        if features is None and len(obs) <= EXACT_ROWS:
            choices["n_frequencies"] = f"none: for {len(obs):,} rows the dense factor is cheaper than the waves needed"
            fits.append(fit_exact(k, obs, s2))
        elif features is None:
            fits.append(fit_operator(k, obs, s2, n_jobs=settings.n_jobs))
        else:
            fits.append(_fit(settings, features, obs, s2))
            m, error = features.frequencies.n, found
    choices["solver"] = getattr(fits[0], "reason", f"dual: Cholesky of the {len(obs):,} rows")
    return Solved(fits, noises, m, error)


def _fit(settings: Settings, features: FeatureMap, obs: Observations, noise_variance: float) -> LinearFit:
    return _ordinary(features, obs) if _is_ordinary(settings, obs) else fit_linear(features, obs, noise_variance)


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
