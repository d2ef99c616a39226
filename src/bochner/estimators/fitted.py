"""Fitted: a layout and a model, the one value that a fit leaves behind and that every question goes to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.estimators import limits
from bochner.exceptions import OutsideWarning, PartError, warn
from bochner.features import Rows
from bochner.inference import Model
from bochner.layout import Layout
from bochner.posterior import Latent, Patches
from bochner.posterior.mixture import Alike
from bochner.posterior.response import Response
from bochner.resources import block_bytes


@dataclass(frozen=True)
class Estimate:
    """Memory and time that a prediction will take."""

    n_rows: int
    memory_bytes: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.n_rows:,} rows: about {self.memory_bytes / 1e6:,.0f} MB and {self.seconds:,.1f} s"


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves behind: everything that predictions need, and nothing else.

    Attributes
    ----------
    layout : Layout
        Tables to rows.
    model : Model
        Rows to laws.
    findings : tuple of str
        What looked doubtful about the data when they were fitted, and every warning that the fit raised.
    diagnostics : mapping or None
        Summaries of the training rows that may travel without them, as plain values (`bochner.diagnostics`).
    doubts : tuple of str, or None
        What the checks that need the training rows found; None where they were not made.
    """

    layout: Layout
    model: Model
    findings: tuple[str, ...] = ()
    diagnostics: Mapping[str, Any] | None = None
    doubts: tuple[str, ...] | None = None

    def latent(
        self,
        rows: Rows,
        *,
        offset: FloatArray | float = 0.0,
        new: bool = False,
        spread: bool = True,
        patches: Patches | None = None,
    ) -> Latent:
        """Linear predictor at some rows, in blocks; with the scatter of an observation about it, if `new`.

        `patches`, of the model's mixture: many rows at once, to within its tolerance.
        """
        mixture = self.model.mixture
        if patches is not None:
            eta = mixture.latent(rows, spread=spread, new=new, patches=patches)
            return eta.shifted(offset + self.layout.trend.level)
        cost = mixture.components[0].cost
        numbers = max(1, cost.numbers if spread or cost.numbers_of_mean is None else cost.numbers_of_mean)
        size = max(16, block_bytes() // (8 * numbers))
        blocks = [mixture.latent(rows[i], spread=spread, new=new) for i in rows.chunks(size)]
        whole = Latent.joined(blocks or [mixture.latent(rows, spread=spread, new=new)])
        whole.means[:] += offset + self.layout.trend.level  # these are its own
        return whole

    def law(
        self,
        rows: Rows,
        *,
        offset: FloatArray | float = 0.0,
        size: FloatArray | None = None,
        new: bool = False,
        spread: bool = True,
        patches: Patches | None = None,
    ) -> Response:
        """Law of the surface, or of new observations, at each of some rows; without `spread`, its mean alone."""
        eta = self.latent(rows, offset=offset, new=new, spread=spread, patches=patches)
        return Response(self.model.family, eta, size, new=new)

    def draws(
        self,
        rows: Rows,
        n_draws: int,
        rng: Generator,
        *,
        offset: FloatArray | float = 0.0,
        size: FloatArray | None = None,
        new: bool = False,
    ) -> FloatArray:
        """Joint draws of the surface, or of new observations, (n_draws, n)."""
        family = self.model.family
        eta = self.model.mixture.draw(rows, n_draws, rng, new=new) + offset + self.layout.trend.level
        if family.observes_eta:
            return eta
        if new:
            return family.draw(eta, np.ones(len(rows)) if size is None else size, rng)
        return family.mean(eta) if size is None else family.mean(eta) * size

    def joint(self, rows: Rows, n_draws: int, rng: Generator) -> tuple[Response, FloatArray]:
        """Law of the surface at each row, and joint draws of it, (n_draws, n)."""
        eta, draws = self.model.mixture.joint(rows, n_draws, rng)
        level, family = self.layout.trend.level, self.model.family
        return Response(family, eta.shifted(level)), family.mean(draws + level)

    def joint_alike(self, rows: Rows, eta: Latent, alike: Alike, n_draws: int, rng: Generator) -> FloatArray:
        """Joint draws of the surface, for sums over rows that lie together: see `Mixture.joint_alike`."""
        return self.model.family.mean(self.model.mixture.joint_alike(rows, eta, alike, n_draws, rng))

    def of_heaviest(self, n: int) -> Fitted:
        """With the n sets of hyperparameters of most mass, as if there were no others."""
        return replace(self, model=replace(self.model, mixture=self.model.mixture.heaviest(n)))

    def covariance(
        self,
        rows: Rows,
        rng: Generator,
        *,
        offset: FloatArray | float = 0.0,
        size: FloatArray | None = None,
        new: bool = False,
    ) -> FloatArray:
        """Joint covariance, (n, n): exact for the Gaussian, else from draws on the response scale."""
        if not self.model.family.observes_eta:
            draws = self.draws(rows, limits.COVARIANCE_DRAWS, rng, offset=offset, size=size, new=new)
            return np.cov(draws.T).reshape(len(rows), len(rows))
        mixture = self.model.mixture
        covariance = mixture.covariance(rows)
        if new:
            covariance[np.diag_indices_from(covariance)] += float(mixture.mass @ mixture.noise_variance)
        return covariance

    @property
    def fixed_effects(self) -> tuple[FloatArray, FloatArray]:
        """Trend coefficients in the user's units and their covariance, averaged over hyperparameters."""
        trend, mixture, model = self.layout.trend, self.model.mixture, self.model
        pairs = [trend.coefficients(c.trend_coef, c.trend_covariance()) for c in mixture.components]
        means = np.stack([mean for mean, _ in pairs])
        mean = mixture.mass @ means
        apart = means - mean
        if model.trend is not None:  # at the maximum of the marginal likelihood, which was asked for
            mean = trend.coefficients(model.trend, np.zeros((len(model.trend),) * 2))[0]
        within = np.einsum("k,kij->ij", mixture.mass, np.stack([cov for _, cov in pairs]))
        return mean, within + (apart.T * mixture.mass) @ apart

    @property
    def log_evidence(self) -> float:
        """Log density of the data, the fixed effects in the user's units integrated out."""
        return self.model.log_evidence - self.layout.trend.log_scale

    def check_rows(self, rows: Rows) -> Rows:
        """The rows, refused where the model cannot take them, with a warning where it knows nothing of them."""
        posterior = self.model.posterior
        if rows.has_areas and not posterior.takes_areas:
            raise PartError(
                "polygons were given to a model without the exact kernel; predict areas with bochner.maps.aggregate."
            )
        outside = int(posterior.outside(rows.coords).sum())
        if outside:
            warn(f"{outside:,} of {len(rows):,} places lie outside {posterior.beyond}", OutsideWarning)
        return rows

    def estimate(self, rows: Rows) -> Estimate:
        """Cost of mean and sd, from a trial on a few rows."""
        n, mixture = len(rows), self.model.mixture
        trial = rows[slice(0, min(n, limits.TRIAL_ROWS))]
        begin = time.perf_counter()
        mixture.latent(trial)
        seconds = (time.perf_counter() - begin) * n / max(len(trial), 1)
        block = min(n * 8 * self.model.posterior.cost.numbers, block_bytes())
        return Estimate(n, int(4 * block + 16 * n * len(mixture.mass)), seconds)
