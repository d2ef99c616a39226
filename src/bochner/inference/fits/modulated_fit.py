"""A Gaussian fit of a field whose amplitude varies in space, by that of the field without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import Amplitude
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.wrapped_fit import WrappedFit
from bochner.inference.observed.observations import Observations
from bochner.posterior import ModulatedPosterior


def steadied(
    obs: Observations, amplitude: Amplitude, noise_variance: float, least: float | None = None
) -> tuple[Observations, float]:
    """Observations of the field without its amplitude, and their noise variance.

    Noise does not vary with the field, so it does once the responses are divided: what it exceeds its least by, that
    of these rows unless it is given, is known of each row.
    """
    rows, here = amplitude.steadied(obs.rows)
    least = float(np.min(noise_variance / here**2)) if least is None else least
    error = np.maximum((noise_variance + obs.error) / here**2 - least, 0.0)
    return replace(obs, rows=rows, y=obs.y / here, error=error, scatter=obs.scatter / here**2), least


@dataclass(frozen=True)
class ModulatedFit(WrappedFit):
    """Fit of ``trend + a(x) f(x) + noise``; its engine stays with the field without amplitude."""

    amplitude: Amplitude
    noise: float
    log_sizes: float  # sum of log a over the rows, copies counted

    @property
    def posterior(self) -> ModulatedPosterior:  # type: ignore[override]
        return ModulatedPosterior(self.inner.posterior, self.amplitude)

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        return self.inner.log_evidence - self.log_sizes

    @property
    def log_likelihood(self) -> float:  # type: ignore[override]
        return self.inner.log_likelihood - self.log_sizes

    @property
    def noise_variance(self) -> float:
        return self.noise

    def row_weights(self, obs: Observations) -> FloatArray:
        return self.inner.row_weights(self._steadied(obs)) / self.amplitude.at(obs.rows.coords)

    def leave_out(self, obs: Observations, folds: Iterable[Fold] | None) -> HeldOut:
        return self._own(self.inner.leave_out(self._steadied(obs), folds), obs)

    def leave_out_quickly(self, obs: Observations, folds: Sequence[Fold]) -> HeldOut:
        return self._own(self.inner.leave_out_quickly(self._steadied(obs), folds), obs)

    def _steadied(self, obs: Observations) -> Observations:
        return steadied(obs, self.amplitude, self.noise, self.inner.noise_variance)[0]

    def _own(self, held: HeldOut, obs: Observations) -> HeldOut:
        here = self.amplitude.at(obs.rows.coords[held.index])
        return replace(held, mean=here * held.mean, variance=here**2 * held.variance)
