"""The contracts of a Gaussian fit and of the engine that makes it.

An engine knows how the field is represented and its hyperparameters; it turns observations into a fit. Everything
above (Newton's method, cross-validation, prediction) asks these two and never which of them it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.observed.observations import Observations
from bochner.posterior import Posterior, RescaledPosterior

LEAST_ROW_VARIANCE = 1e-10  # of the field's variance: least error variance of a row, so that fits can be factored


class GaussianFit(ABC):
    """Posterior of a Gaussian field with fixed effects at given hyperparameters, and how likely the data are.

    Attributes
    ----------
    engine : Engine
        What made the fit, and would make one of other observations.
    posterior : Posterior
        Law of the surface.
    log_evidence : float
        Log density of the data, fixed effects integrated out (REML).
    log_likelihood : float
        The same with the fixed effects at their maximum (ML).
    solver : Choice
        How it was solved, and why so.
    """

    engine: Engine
    posterior: Posterior
    log_evidence: float
    log_likelihood: float
    solver: Choice
    forgets_rows: ClassVar[bool] = False  # whether rows are taken out of it cheaply, however many there are
    repeats: ClassVar[bool] = False  # whether other responses of the same rows are solved for by the factor it has

    @property
    def noise_variance(self) -> float:
        """Noise variance of one copy of a row."""
        return self.engine.noise_variance

    @abstractmethod
    def row_weights(self, obs: Observations) -> FloatArray:
        """alpha = (K + noise)^-1 (y - X beta) of the observations that it was fitted to, (n,)."""

    def repeated(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Row weights and trend, had the responses been `y`; of fits that `repeats`."""
        raise NotImplementedError

    @abstractmethod
    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        """What the fit would have said of rows it had not seen; one row at a time, if `folds` is None.

        Folds that leave the trend undetermined are refused; a single row that does is not among those predicted.
        `obs` are the observations of the fit; copies of a row may be apart in them that the fit had merged.
        """

    def leave_out_quickly(self, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        """The same in a few seconds, however many rows there are; near enough to judge a fit by."""
        return self.leave_out(obs, folds)


class Engine(ABC):
    """A representation of the field with its hyperparameters: observations in, a Gaussian fit out.

    Attributes
    ----------
    noise_variance : float
        Noise variance of one copy of a row.
    newton_tolerance : float
        Change of the penalised log likelihood, relative to its size, at which Newton's method may stop.
    """

    noise_variance: float
    newton_tolerance: ClassVar[float] = 1e-9

    @abstractmethod
    def fit(self, obs: Observations) -> GaussianFit:
        """Fit of some observations."""

    def draft(self, obs: Observations) -> GaussianFit:
        """Fit that is good enough for a Newton step: its row weights and trend are all that is asked of it."""
        return self.fit(obs)


@dataclass(frozen=True)
class RescaledFit(GaussianFit):
    """Fit of responses that were divided by `unit`; its engine, and how likely the data are, stay in that unit."""

    inner: GaussianFit
    unit: float

    @property
    def engine(self) -> Engine:  # type: ignore[override]
        return self.inner.engine

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        return self.inner.log_evidence

    @property
    def log_likelihood(self) -> float:  # type: ignore[override]
        return self.inner.log_likelihood

    @property
    def solver(self) -> Choice:  # type: ignore[override]
        return self.inner.solver

    @property
    def forgets_rows(self) -> bool:  # type: ignore[override]
        return self.inner.forgets_rows

    @property
    def posterior(self) -> RescaledPosterior:  # type: ignore[override]
        return RescaledPosterior(self.inner.posterior, self.unit)

    @property
    def noise_variance(self) -> float:
        return self.unit**2 * self.inner.noise_variance

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.inner.row_weights(obs.divided(self.unit)) / self.unit

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        return self._own(self.inner.leave_out(obs.divided(self.unit), folds))

    def leave_out_quickly(self, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        return self._own(self.inner.leave_out_quickly(obs.divided(self.unit), folds))

    def _own(self, held: HeldOut) -> HeldOut:
        return replace(held, mean=self.unit * held.mean, variance=self.unit**2 * held.variance)
