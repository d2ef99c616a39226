"""The contracts of a Gaussian fit and of the engine that makes it.

An engine knows how the field is represented and its hyperparameters; it turns observations into a fit. Everything
above (Newton's method, cross-validation, prediction) asks these two and never which of them it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod
from typing import ClassVar

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import MemoryLimitError
from bochner.features import find_grid, torus_counts
from bochner.features.limits import MAX_WAVE_DIMENSIONS
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.observed.observations import Observations
from bochner.posterior import Posterior, RescaledPosterior
from bochner.resources import as_size

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


def exact_bytes(n_rows: int) -> float:
    """Of the exact kernel: five matrices of doubles are alive, its own, the factor, and what makes them."""
    return 5 * 8.0 * n_rows**2


def column_bytes(n_columns: int) -> float:
    """Of a linear model: four matrices of doubles, its Gram, the scaled precision, the factor."""
    return 4 * 8.0 * n_columns**2


def iterative_bytes(n_rows: int, dim: int) -> float:
    """Of conjugate gradients: the inverse root of all rows, the series on the torus and the remainder near them."""
    beside, per_row = {1: (2e7, 2_500), 2: (2e7, 4_500), 3: (2e8, 36_000)}[min(dim, 3)]
    return beside + per_row * n_rows


def kriging_bytes(coords: FloatArray) -> float:
    """Of conjugate gradients on these rows: less where they lie on a regular grid, whose products are plain FFTs."""
    n, dim = coords.shape
    grid = find_grid(coords) if dim <= MAX_WAVE_DIMENSIONS else None
    if grid is None:
        return iterative_bytes(n, dim)
    return grid_bytes(n, prod(torus_counts(grid)))


def grid_bytes(n_rows: int, n_nodes: int) -> float:
    """Of conjugate gradients on rows of a regular grid: their inverse root, and some arrays of the torus around it."""
    return 5e7 + 900.0 * n_rows + 40.0 * n_nodes


def nearest_bytes(n_rows: int) -> float:
    """Of kriging from the nearest rows: the inverse root of all rows, and trees over them."""
    return 1_300.0 * n_rows


def rows_bytes(n_rows: int, dim: int) -> float:
    """Of the rows themselves: places in the frame of the model, responses, and the order from coarse to fine."""
    return n_rows * (210 + 24.0 * dim)


def max_columns(memory_limit: int | None, wanted: int) -> int:
    """Columns, up to those wanted, whose fit stays within three quarters of a limit: others are alive beside it."""
    if memory_limit is None:
        return wanted
    return max(1, min(wanted, isqrt(int(0.75 * memory_limit / column_bytes(1)))))


def check_columns(memory_limit: int | None, n_waves: int) -> None:
    """Refuse as many waves as were asked for, if they do not stay within a limit."""
    most = max_columns(memory_limit, 2 * n_waves) // 2
    if memory_limit is not None and most < n_waves:
        raise MemoryLimitError(
            f"{n_waves:,} waves need about {as_size(column_bytes(2 * n_waves) / 0.75)}, more than memory_limit="
            f"{as_size(memory_limit)}; take up to {most:,} (n_frequencies), or raise the limit."
        )


def check_rows(memory_limit: int | None, n_rows: int, dim: int) -> None:
    """Refuse rows that do not stay within a limit, whatever the scheme."""
    needed = rows_bytes(n_rows, dim)
    if memory_limit is not None and needed > memory_limit:
        raise MemoryLimitError(
            f"a fit of {n_rows:,} rows takes about {as_size(needed)} for the rows alone, more than memory_limit="
            f"{as_size(memory_limit)}; give fewer rows, or raise the limit."
        )
