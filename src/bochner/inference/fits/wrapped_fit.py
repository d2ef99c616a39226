"""A Gaussian fit that answers through another one: what is not changed on the way is the other's."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.choices import Choice
from bochner.inference.fits.base import Engine, GaussianFit


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
