"""The fit: from observations and settings to a posterior, with every choice told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.choices import Choice, collected
from bochner.exceptions import InputError, PartError
from bochner.families import Family, Gaussian
from bochner.features import Rows
from bochner.inference.fit_checks import check_extremes, check_finite, outliers, overflow_told, pair_scatter, starvation
from bochner.inference.fits.base import GaussianFit, RescaledFit, check_rows
from bochner.inference.fits.fixed_effects import held_where_separated
from bochner.inference.fits.folds import Fold, HeldOut, none_to_spare, with_weight
from bochner.inference.fits.newton import Chain, find_mode, sample_posterior
from bochner.inference.learning.learn import learn
from bochner.inference.learning.other_families import Reweighted, gaussian_task
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Average, Domain, Settings
from bochner.inference.observed.task import Task, unit_of
from bochner.inference.schemes.choose import choose, scheme_named
from bochner.kernels import Kernel, Scale
from bochner.posterior import Mixture, Posterior
from bochner.resources import side_by_side, small_systems

logger = logging.getLogger("bochner")


@dataclass(frozen=True)
class Model:
    """A fitted model: a Gaussian law of the linear predictor, and the family that leads to responses.

    Attributes
    ----------
    mixture : Mixture
        Posteriors with their masses and noise variances, the best first.
    kernel : Kernel
        At the best hyperparameters.
    family : Family
        Its dispersion, where it has one, is a number.
    scheme : str
        The scheme that answers, whatever was first meant.
    scale : Scale
        Extent, spacing and variance of the observations.
    choices : tuple of Choice
        What was decided, in order.
    log_evidence, log_likelihood : float
        Of the data, fixed effects integrated out or at their maximum.
    n_frequencies : int or None
        Waves or landmarks.
    kernel_error : float or None
        Measured RMS error of the kernel's approximation, relative to its variance.
    at_bounds : tuple of str
        Hyperparameters that stopped at a bound.
    spare_sd : float or None
        Typical sd of the features relative to kriging's, where they may fall short of it.
    outliers : tuple of int
        Training rows (some of them, if they are very many) that lie far from what their neighbours predict.
    pair_scatter : float or None
        Scatter of rows close to each other relative to what noise and field let expect, where there are such rows.
    trend : array or None
        Coefficients that maximise the marginal likelihood, where that was asked for.
    trend_precision : array of shape (q, q), optional
        Learned prior precision of the fixed effects; None: their prior is flat.
    """

    SCHEMA: ClassVar[int] = 2  # 1: `kind` was what had first been meant, and choices were sentences

    mixture: Mixture
    kernel: Kernel
    scheme: str
    scale: Scale
    log_evidence: float
    log_likelihood: float
    choices: tuple[Choice, ...]
    family: Family = field(default_factory=Gaussian)
    n_frequencies: int | None = None
    kernel_error: float | None = None
    at_bounds: tuple[str, ...] = ()
    spare_sd: float | None = None
    trend: FloatArray | None = None
    trend_precision: FloatArray | None = None
    outliers: tuple[int, ...] = ()
    pair_scatter: float | None = None
    _fits: tuple[GaussianFit, ...] = field(default=(), repr=False, compare=False)  # in the session of the fit only
    _weights: Reweighted | None = field(default=None, repr=False, compare=False)  # of the rows of the fit
    _eta: FloatArray | None = field(default=None, repr=False, compare=False)  # linear predictor of the merged rows

    @staticmethod
    def migrate(fields: dict[str, Any], version: int) -> dict[str, Any]:
        """Fields of a file of another age, as they are today."""
        old = dict(fields)
        first, kind = old["mixture"].components[0], old.pop("kind")
        for name in ("noise_variance", "kernels"):  # the mixture knows the one, its components the other
            old.pop(name)
        if not len(first.feature_coef):
            kind = "conjugate-gradients" if first.row_coef is None else "exact"
        choices = tuple(Choice(name, None, text=text) for name, text in old.pop("choices").items())
        return {**old, "scheme": kind, "choices": choices}

    @property
    def posterior(self) -> Posterior:
        """Posterior at the best hyperparameters."""
        return self.mixture.components[0]

    @property
    def noise_variance(self) -> float:
        """Noise variance at the best hyperparameters."""
        return float(self.mixture.noise_variance[0])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.scale.extent)

    @property
    def decided(self) -> dict[str, Choice]:
        """Choices by name."""
        return collected(self.choices)

    @property
    def fits(self) -> tuple[GaussianFit, ...]:
        """Fits behind the mixture; a model that was loaded has none."""
        if not self._fits:
            raise InputError("this model was loaded from a file and holds no fit of its training rows; fit it again.")
        return self._fits

    def seen(self, responses: Responses) -> Responses:
        """Training responses with the family and the prior of the effects that were learned."""
        known = self.trend_precision is None
        precision = responses.trend_precision if known else self.trend_precision
        return held_where_separated(replace(responses, family=self.family, trend_precision=precision))[0]

    def working(self, responses: Responses) -> tuple[Responses, Observations]:
        """Training responses and the Gaussian observations that stand for them at the mode, row by row."""
        rows = self.seen(responses.with_weight())
        if self._weights is not None:
            return rows, self._weights.weighted(responses).observations().with_weight()
        if rows.gaussian:
            return rows, rows.observations()
        task = Task.of(Settings(), rows)
        assert isinstance(task.data, Responses) and self._eta is not None
        return task.data, task.data.linearised(self._eta).observations()

    def multiplied(self, unit: float, n_rows: float, n_trend: int) -> Model:
        """A model of responses that were divided by a unit, copies counted, in their own."""
        fits = tuple(RescaledFit(fit, unit) for fit in self.fits)
        mixture, scale = self.mixture, self.scale
        text = f"the responses were divided by {unit:.4g} for the fit, so that squares are doubles"
        return replace(
            self,
            mixture=Mixture([fit.posterior for fit in fits], mixture.mass, mixture.noise_variance * unit**2),
            kernel=self.kernel.scaled(unit**2),
            scale=replace(scale, variance=scale.variance * unit**2, error=scale.error * unit**2),
            log_evidence=self.log_evidence - (n_rows - n_trend) * float(np.log(unit)),
            log_likelihood=self.log_likelihood - n_rows * float(np.log(unit)),
            choices=(*self.choices, Choice("unit", unit, text=text)),
            family=self.family.divided(1 / unit),
            trend=None if self.trend is None else self.trend * unit,
            trend_precision=None if self.trend_precision is None else self.trend_precision / unit**2,
            _fits=fits,
            _weights=None if self._weights is None else self._weights.divided(1 / unit),
        )


def fit_model(
    settings: Settings,
    responses: Responses,
    folds: Sequence[Fold] | None = None,
    domain: Domain | None = None,
) -> Model:
    """Choose a scheme, learn hyperparameters, solve.

    `folds` are the splits of ``tune="spatial-cv"`` or of a splitter, over the rows of `responses`;
    `domain` says what the model is for, as far as that is known.
    """
    unit = unit_of(responses)
    if unit != 1:
        model = fit_model(_divided(settings, unit), responses.divided(unit), folds, domain)
        return model.multiplied(unit, float(responses.weight.sum()), responses.rows.trend.shape[1])
    responses, held = held_where_separated(responses)
    task = Task.of(settings, responses, folds, domain)
    with overflow_told():
        return _fitted(task, held)


def _fitted(task: Task, held: Sequence[Choice]) -> Model:
    settings, chosen = task.settings, _chosen(task)
    scheme = scheme_named(chosen.value)
    logger.info("features: %s", chosen)
    learned = learn(task, scheme)
    if isinstance(task.data, Responses):
        task = replace(task, data=replace(task.data, family=learned.family))
    task = task.with_prior(learned.average.trend_precision)
    weights = learned.reweighted
    if weights is not None:
        task = gaussian_task(task, weights)
    checked = not scheme.adaptive and weights is None
    solved, (odd, pairs) = side_by_side(
        lambda: scheme.solve(task, learned.average),
        lambda: _odd_rows(task, learned.average) if checked else ((), None),
    )
    first = solved.modes[0]
    fits = tuple(mode.fit for mode in solved.modes)
    noises = np.array([fit.noise_variance for fit in fits])
    mass = learned.average.mass if solved.kept is None else learned.average.mass[list(solved.kept)]
    kernel = learned.average.kernels[0] if solved.kernel is None else solved.kernel
    answers = scheme_named(solved.scheme)
    likelihood = first.log_likelihood if learned.log_likelihood is None else learned.log_likelihood
    starves = answers.may_starve
    check_finite(first.fit.posterior)
    return Model(
        # noise that is no Gaussian is the family's
        mixture=Mixture([fit.posterior for fit in fits], mass / mass.sum(), noises * (weights is None)),
        kernel=kernel,
        scheme=solved.scheme,
        scale=task.scale,
        log_evidence=first.log_evidence + learned.gain,
        log_likelihood=likelihood + learned.gain,
        choices=tuple(collected((chosen, *held, *learned.choices, *solved.choices)).values()),
        family=learned.family,
        n_frequencies=solved.n_frequencies,
        kernel_error=solved.kernel_error,
        at_bounds=learned.at_bounds,
        spare_sd=starvation(fits[0], kernel, first.obs, task.scale, settings.seed) if starves else None,
        trend=learned.trend,
        trend_precision=learned.average.trend_precision,
        outliers=odd,
        pair_scatter=pairs,
        _fits=fits,
        _weights=weights,
        _eta=None if first.linearised is None else first.linearised.eta,
    )


def leave_out(model: Model, responses: Responses, folds: Sequence[Fold] | None) -> list[HeldOut]:
    """Held-out predictions of every component of the model's mixture, without refit.

    Exact for Gaussian responses; under other families one Newton step from the mode of all rows.
    """
    parts, kept = with_weight(responses.weight, folds)
    rows = model.seen(responses[kept])
    known = model.working(responses)[1] if model.family.reweighted or rows.gaussian else None
    results = []
    for fit in model.fits:
        obs = find_mode(rows, fit.engine).obs if known is None else known
        held = fit.leave_out(obs, parts)
        if not len(held.index):
            raise none_to_spare(len(obs))
        results.append(replace(held, index=kept[held.index]))
    return results


def sample(model: Model, responses: Responses, rows: Rows, n_draws: int, rng: Generator) -> Chain:
    """Draws of the latent surface from the full posterior, at the best hyperparameters."""
    if responses.gaussian:
        raise InputError("the responses are Gaussian: their posterior is exact already; use sample_y.")
    if responses.family.reweighted:
        raise PartError(f"the sampler does not know family {responses.family.name!r}; use sample_y.")
    kept = model.seen(responses.with_weight())
    copies = kept.weight.astype(int)
    if np.any(copies != kept.weight):
        raise InputError("the sampler needs whole sample weights: a weight of k stands for k copies of the row.")
    each = kept[np.repeat(np.arange(len(kept)), copies)]
    each = replace(each, weight=np.ones(len(each)))
    return sample_posterior(find_mode(each, model.fits[0].engine), rows, n_draws, rng)


def _divided(settings: Settings, unit: float) -> Settings:
    """What was asked for, in another unit of the response."""
    kernel = None if settings.kernel is None else settings.kernel.scaled(unit**-2)
    noise = None if settings.noise_variance is None else settings.noise_variance / unit**2
    return replace(settings, kernel=kernel, noise_variance=noise)


@small_systems()
def _odd_rows(task: Task, average: Average) -> tuple[tuple[int, ...], float | None]:
    """Outliers, and the scatter of close pairs: of Gaussian responses whose kernel was learned."""
    if not (task.gaussian and task.settings.learns):
        return (), None
    (kernel, noise_variance), *_ = average.pairs
    kept = np.flatnonzero(task.responses.weight > 0)
    obs = task.responses.observations()[kept]
    found = kept[outliers(kernel, noise_variance, obs, task.settings.seed)]
    told = tuple(int(row) for row in found[:1_000])  # of so many the first tell enough
    return told, pair_scatter(kernel, noise_variance, obs) if task.settings.learns_noise else None


def _chosen(task: Task) -> Choice:
    """Scheme to begin with; means over areas need the identity link."""
    s, rows = task.settings, task.responses.rows
    if rows.has_areas and not task.gaussian:
        raise PartError(
            f"family={task.responses.family.name!r} with areal observations: the mean over an area is linear in the "
            f"field for the gaussian family only. Use points, or a Gaussian model of a transformed response."
        )
    if s.kernel is not None:
        s.kernel.check_dim(task.dim)
        if not s.learns:  # what is learned only begins there
            check_extremes(s.kernel, task.scale, gaussian=task.gaussian)
    limit = s.resources.memory_limit
    check_rows(limit, len(task.obs), task.dim)
    return choose(len(task.obs), task.dim, s.kernel, features=s.features, memory_limit=limit, has_areas=rows.has_areas)
