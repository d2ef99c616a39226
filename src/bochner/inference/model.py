"""The fit: from observations and settings to a posterior, with every choice told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, PartError
from bochner.families import Family, Gaussian
from bochner.features import ArealRows, Rows
from bochner.frequencies import rule_named
from bochner.inference.evidence.objectives import Problem
from bochner.inference.fits.folds import Fold, HeldOut, leave_out_exact, leave_out_linear, with_weight
from bochner.inference.fits.iterative_folds import leave_out_operator
from bochner.inference.fits.linear import LinearFit, fit_linear
from bochner.inference.fits.newton import Mode, find_mode
from bochner.inference.fits.sampling import Chain, sample_posterior
from bochner.inference.observed.observations import Observations, merge_equal_rows
from bochner.inference.observed.responses import LINE, Responses, merge_equal_responses
from bochner.inference.observed.scale import Scale, scale_of
from bochner.inference.observed.settings import Settings
from bochner.inference.schemes.choose import choose_kind
from bochner.inference.solving import solve, solve_exact, solve_operator
from bochner.inference.tuning.learning import learn
from bochner.kernels import Kernel, Matern
from bochner.posterior import CoefficientPosterior, Mixture, OperatorPosterior, Posterior

logger = logging.getLogger("bochner")

MERGE_ROWS = 50_000


@dataclass(frozen=True)
class Model:
    """A fitted model: a Gaussian law of the linear predictor, and the family that leads to responses."""

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
    family: Family = field(default_factory=Gaussian)
    trend: FloatArray | None = None  # coefficients that maximise the marginal likelihood, where that was asked for
    _working: Observations | None = field(default=None, repr=False, compare=False)  # Gaussian stand-in at the mode

    @property
    def posterior(self) -> Posterior:
        """Posterior at the best hyperparameters."""
        return self.mixture.components[0]


def fit_model(
    settings: Settings,
    responses: Responses,
    folds: Sequence[Fold] | None = None,
    predict_at: FloatArray | None = None,
) -> Model:
    """Choose features, learn hyperparameters, solve.

    `folds` are the splits of ``tune="spatial-cv"`` or of a splitter, over the rows of `responses`;
    `predict_at` (m, dim) are the places that the model is for, if known.
    """
    data, obs = _distinct(responses)
    scale = scale_of(obs)
    dim = obs.rows.coords.shape[1]
    start = Matern() if settings.kernel is None else settings.kernel
    start.check_dim(dim)
    kind, reason = _kind(settings, start, responses, len(obs))
    choices = {"features": reason}
    if kind == "structured":
        choices["features"] += f" ({rule_named(kind).explain(dim)})"
    logger.info("features: %s", reason)
    problem = Problem(settings, responses, data, obs, scale, kind, folds, predict_at)
    learned = learn(problem, choices)
    if isinstance(data, Responses):
        data = replace(data, family=learned.family)
    solved = solve(kind, settings, data, obs, scale, learned.average, choices, predict_at)
    first = solved.fits[0]
    mixture = Mixture([fit.posterior for fit in solved.fits], learned.average.mass, solved.noise_variances)
    return Model(
        mixture=mixture,
        kernel=learned.average.kernels[0] if solved.kernel is None else solved.kernel,
        noise_variance=float(solved.noise_variances[0]),
        kind=kind,
        scale=scale,
        log_evidence=first.log_evidence,
        log_likelihood=first.log_likelihood if learned.log_likelihood is None else learned.log_likelihood,
        n_frequencies=solved.n_frequencies,
        kernel_error=solved.kernel_error,
        choices=choices,
        at_bounds=learned.at_bounds,
        kernels=learned.average.kernels,
        family=learned.family,
        trend=learned.trend,
        _working=first.obs,
    )


def _kind(settings: Settings, kernel: Kernel, responses: Responses, n_rows: int) -> tuple[str, str]:
    """Scheme of features; means over areas need the exact kernel and the identity link."""
    spec = settings.spec
    if not isinstance(responses.rows, ArealRows):
        return choose_kind(spec, kernel, n_rows, responses.rows.coords.shape[1])
    if spec.features not in ("auto", "exact"):
        raise PartError(f"features={spec.features!r} with areal observations; they need features='exact' or 'auto'.")
    if not responses.gaussian:
        raise PartError(
            f"family={responses.family.name!r} with areal observations: the mean over an area is linear in the field "
            f"for the gaussian family only. Use points, or a Gaussian model of a transformed response."
        )
    return "exact", f"exact: {n_rows:,} rows, some of them means over areas"


def _distinct(responses: Responses) -> tuple[Responses | Observations, Observations]:
    """What is fitted, with equal rows merged, and the same as Gaussian observations."""
    few = len(responses) <= MERGE_ROWS and not isinstance(responses.rows, ArealRows)
    if responses.gaussian:
        obs = responses.observations()
        obs = merge_equal_rows(obs) if few else obs.with_weight()
        return obs, obs
    data = merge_equal_responses(responses) if few else responses.with_weight()
    seen = data.with_dispersion().linearised(data.start())
    obs = seen.observations()
    # a row without curvature has no working response of its own
    y = np.where(seen.curvature > LINE, obs.y, seen.eta - data.offset)
    return data, replace(obs, y=y)


def leave_out(model: Model, responses: Responses, folds: Sequence[Fold] | None) -> list[HeldOut]:
    """Held-out predictions of every component of the model's mixture, without refit.

    Exact for Gaussian responses; under other families one Newton step from the mode of all rows.
    """
    parts, kept = with_weight(responses.weight, folds)
    kept_responses = replace(responses[kept], family=model.family)
    results = []
    for kernel, noise, posterior in zip(
        model.kernels, model.mixture.noise_variance, model.mixture.components, strict=True
    ):
        obs = kept_responses.observations()
        if not responses.gaussian:
            obs = mode_again(kept_responses, kernel, float(noise), posterior).obs
        if isinstance(posterior, CoefficientPosterior):
            fit = LinearFit(posterior, np.nan, np.nan, "")
            held = leave_out_linear(fit, obs, float(noise), parts)
        elif isinstance(posterior, OperatorPosterior):
            held = leave_out_operator(kernel, obs, float(noise), parts)
        else:
            held = leave_out_exact(kernel, obs, float(noise), parts)
        results.append(replace(held, index=kept[held.index]))
    return results


def mode_again(responses: Responses, kernel: Kernel, noise_variance: float, posterior: Posterior) -> Mode:
    """Mode of the responses, every row for itself, at the hyperparameters of a component."""
    if isinstance(posterior, CoefficientPosterior):
        features = posterior.features
        return find_mode(responses, noise_variance, lambda obs: fit_linear(features, obs, noise_variance))
    if isinstance(posterior, OperatorPosterior):
        return solve_operator(kernel, noise_variance, responses)
    return solve_exact(kernel, noise_variance, responses)


def sample(model: Model, responses: Responses, rows: Rows, n_draws: int, rng: Generator) -> Chain:
    """Draws of the latent surface from the full posterior, at the best hyperparameters."""
    if responses.gaussian:
        raise InputError("the responses are Gaussian: their posterior is exact already; use sample_y.")
    kept = replace(responses.with_weight(), family=model.family)
    copies = kept.weight.astype(int)
    if np.any(copies != kept.weight):
        raise InputError("the sampler needs whole sample weights: a weight of k stands for k copies of the row.")
    each = kept[np.repeat(np.arange(len(kept)), copies)]
    each = replace(each, weight=np.ones(len(each)))
    mode = mode_again(each, model.kernel, model.noise_variance, model.posterior)
    return sample_posterior(mode, rows, n_draws, rng)
