"""Ordinary least squares on a feature map: no prior, and no noise variance but that of the residuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.choices import Choice
from bochner.exceptions import CollinearityWarning, warn
from bochner.features import FeatureMap
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations
from bochner.posterior import CoefficientPosterior
from bochner.solvers import least_squares


def fit_ordinary(features: FeatureMap, obs: Observations) -> LinearFit:
    """Least squares by QR, or by SVD where columns are collinear; O(n p^2)."""
    root = np.sqrt(obs.weight)
    columns = np.column_stack([np.asarray(features.block(obs.rows.coords), dtype=float), obs.rows.trend])
    result = least_squares(columns * root[:, None], obs.y * root)
    n, p = columns.shape
    # merged rows have left out their scatter about the mean, and count as often as there were copies
    misfit, spare = result.residual_variance * (n - result.rank) + obs.scatter.sum(), obs.total - result.rank
    result = replace(result, residual_variance=float(misfit / spare) if spare > 0 else 0.0)
    text = f"ordinary least squares by {result.report.method.upper()}: noise_variance=0 without tuning"
    if result.rank < p:
        text += f"; rank {result.rank} of {p} columns, the minimum-norm answer is taken"
    if result.rank < min(n, p):  # more columns than rows are no surprise, dependent ones are
        warn(
            f"the {p} columns of the least-squares fit are collinear: only {result.rank} directions can be told apart. "
            f"The coefficients of least norm are taken; use fewer frequencies, or a noise_variance > 0 (ridge).",
            CollinearityWarning,
        )
    engine = LinearEngine(features, result.residual_variance)
    solver = Choice("solver", "least squares", text=text)
    return LinearFit(engine, CoefficientPosterior(features, result.coef, result), np.nan, np.nan, solver)
