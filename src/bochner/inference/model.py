"""The fit: from observations and settings to a posterior, with every choice told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.frequencies import rule_named
from bochner.inference.cross_validation import Fold, HeldOut, leave_out_exact, leave_out_linear, with_weight
from bochner.inference.features import choose_kind
from bochner.inference.learning import Learner
from bochner.inference.linear import LinearFit
from bochner.inference.observations import Observations, merge_equal_rows
from bochner.inference.operator import leave_out_operator
from bochner.inference.scale import Scale, scale_of
from bochner.inference.settings import Settings
from bochner.inference.solving import solve
from bochner.kernels import Kernel, Matern
from bochner.posterior import CoefficientPosterior, Mixture, OperatorPosterior, Posterior

logger = logging.getLogger("bochner")

MERGE_ROWS = 50_000


@dataclass(frozen=True)
class Model:
    """A fitted Gaussian model."""

    mixture: Mixture
    kernel: Kernel
    noise_variance: float
    kind: str
    scale: Scale
    log_evidence: float
    log_likelihood: float
    n_frequencies: int | None
    kernel_error: float | None
    choices: dict[str, str]
    at_bounds: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = field(default_factory=tuple)  # of the mixture's components

    @property
    def posterior(self) -> Posterior:
        """Posterior at the best hyperparameters."""
        return self.mixture.components[0]


def fit_model(
    settings: Settings,
    observations: Observations,
    folds: Sequence[Fold] | None = None,
    predict_at: FloatArray | None = None,
) -> Model:
    """Choose features, learn hyperparameters, solve.

    `folds` are the splits of ``tune="spatial-cv"`` or of a splitter, over the rows of `observations`;
    `predict_at` (m, dim) are the places that the model is for, if known.
    """
    obs = merge_equal_rows(observations) if len(observations) <= MERGE_ROWS else observations.with_weight()
    scale = scale_of(obs)
    dim = obs.rows.coords.shape[1]
    start = Matern() if settings.kernel is None else settings.kernel
    start.check_dim(dim)
    kind, reason = choose_kind(settings.spec, start, len(obs), dim)
    choices = {"features": reason}
    if kind == "structured":
        choices["features"] += f" ({rule_named(kind).explain(dim)})"
    logger.info("features: %s", reason)
    learned, at_bounds = Learner(settings, observations, obs, scale, kind, choices, folds, predict_at).learn()
    solved = solve(kind, settings, obs, scale, learned, choices, predict_at)
    first = solved.fits[0]
    mixture = Mixture([fit.posterior for fit in solved.fits], learned.mass, solved.noise_variances)
    return Model(
        mixture=mixture,
        kernel=learned.kernels[0],
        noise_variance=float(solved.noise_variances[0]),
        kind=kind,
        scale=scale,
        log_evidence=first.log_evidence,
        log_likelihood=first.log_likelihood,
        n_frequencies=solved.n_frequencies,
        kernel_error=solved.kernel_error,
        choices=choices,
        at_bounds=at_bounds,
        kernels=learned.kernels,
    )


def leave_out(model: Model, obs: Observations, folds: Sequence[Fold] | None) -> list[HeldOut]:
    """Held-out predictions of every component of the model's mixture, without refit."""
    obs, folds, kept = with_weight(obs, folds)
    results = []
    for kernel, noise, posterior in zip(
        model.kernels, model.mixture.noise_variance, model.mixture.components, strict=True
    ):
        if isinstance(posterior, CoefficientPosterior):
            fit = LinearFit(posterior, np.nan, np.nan, "")
            results.append(leave_out_linear(fit, obs, float(noise), folds))
        elif isinstance(posterior, OperatorPosterior):
            results.append(leave_out_operator(kernel, obs, float(noise), folds))
        else:
            results.append(leave_out_exact(kernel, obs, float(noise), folds))
    return [replace(held, index=kept[held.index]) for held in results]
