"""A Gaussian fit of responses in another unit, seen in their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.observed.observations import Observations
from bochner.posterior import RescaledPosterior


@dataclass(frozen=True)
class WrappedFit(GaussianFit):
    """What a fit says of itself, by the one within, in whose units its engine and likelihoods stay."""

    inner: GaussianFit

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


@dataclass(frozen=True)
class RescaledFit(WrappedFit):
    """Fit of responses that were divided by `unit`; its engine, and how likely the data are, stay in that unit."""

    unit: float

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
