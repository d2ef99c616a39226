"""Predicting: from new rows to the law of the response there, the part that every question shares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.arrays import FloatArray, as_rows
from bochner.estimators.columns import refuse_gaps, used_part
from bochner.estimators.fitting import Fitting
from bochner.estimators.geography import support_of, without_geometry
from bochner.estimators.responses import checked_size
from bochner.exceptions import FallbackWarning, PartError
from bochner.families import Gaussian
from bochner.features import BLOCK_BYTES, Rows
from bochner.posterior import KrigingPosterior, Moments, OperatorPosterior
from bochner.posterior.response import Response
from bochner.random import generator

COVARIANCE_DRAWS = 2_000


class Predicting(Fitting):
    """Posterior at new rows: moments, laws on the response scale, joint draws."""

    crs_: str | None

    def _draws(
        self, rows: Rows, shift: FloatArray, size: FloatArray | None, n_draws: int, rng: Generator, new: bool
    ) -> FloatArray:
        family = self._model.family
        noise = np.zeros(len(rows)) if new else None
        eta = self._model.mixture.draw(rows, n_draws, rng, noise=noise) + shift
        if isinstance(family, Gaussian):
            return eta
        if new:
            return family.draw(eta, np.ones(len(rows)) if size is None else size, rng)
        return family.mean(eta) if size is None else family.mean(eta) * size

    def _joint(
        self, rows: Rows, shift: FloatArray, size: FloatArray | None, new: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and joint covariance: exact for the Gaussian, else from draws on the response scale."""
        mean = self._law(rows, shift, size, new).mean
        if not isinstance(self._model.family, Gaussian):
            draws = self._draws(rows, shift, size, COVARIANCE_DRAWS, generator(0, "draws"), new)
            return mean, np.cov(draws.T).reshape(len(rows), len(rows))
        covariance = self._model.mixture.covariance(rows)
        if new:
            covariance[np.diag_indices_from(covariance)] += self._mean_noise()
        return mean, covariance

    def _law(
        self, rows: Rows, shift: FloatArray, size: FloatArray | None, new: bool, *, variance: bool = True
    ) -> Response:
        moments = self._moments(rows, variance=variance, noise=new)
        eta = Moments(moments.means + shift, moments.variances, moments.mass)
        return Response(self._model.family, eta, size, new=new)

    def _new_rows(
        self, X: Any, offset: Any, trials: Any = None, exposure: Any = None
    ) -> tuple[Rows, FloatArray, FloatArray | None]:
        check_is_fitted(self)
        part = used_part(without_geometry(X, self.coords, self.covariates, self.crs_), self.coords, self.covariates)
        table = validate_data(self, part, dtype=np.float64, reset=False, ensure_all_finite=False)
        refuse_gaps(table, part)
        shift = as_rows(offset, len(table), "offset", 0.0)
        assert shift is not None
        coords = self._placement.forward(self._columns.coords_of(table))
        support = support_of(X, self.coords, self.crs_)
        if support is not None and not isinstance(self._model.posterior, KrigingPosterior):
            raise PartError(
                "polygons were given to a model without the exact kernel; predict areas with bochner.maps.aggregate."
            )
        rows = self._rows(coords, self._columns.covariates_of(table), support)
        self._tell_outside(rows)
        return rows, shift + self._trend.level, checked_size(self._model.family, len(rows), trials, exposure)

    def _tell_outside(self, rows: Rows) -> None:
        """Warn of places that the waves of a lattice do not cover."""
        posterior = self._model.posterior
        covers: Any = posterior if isinstance(posterior, OperatorPosterior) else getattr(posterior, "features", None)
        outside = int(covers.outside(rows.coords).sum()) if hasattr(covers, "outside") else 0
        if outside:
            where = "that the waves cover (the data's, and some room around)"
            advice = " Give them to fit (predict_at, --predict-at) to cover them."
            if isinstance(posterior, OperatorPosterior):
                where, advice = "of the data, by several times its size", ""  # no row reaches there
            warnings.warn(
                f"{outside:,} of {len(rows):,} places lie outside the box {where}: they get the trend and the prior "
                f"sd.{advice}",
                FallbackWarning,
                stacklevel=4,
            )

    def _moments(self, rows: Rows, *, variance: bool = True, noise: bool = False) -> Moments:
        mixture = self._model.mixture
        size = max(16, BLOCK_BYTES // (8 * max(1, mixture.components[0].n_stored)))
        parts = []
        for i in rows.chunks(size):
            block = rows[i]
            extra = np.zeros(len(block)) if noise else None
            parts.append(mixture.moments(block, variance=variance, noise=extra))
        means = np.concatenate([p.means for p in parts], axis=1)
        return Moments(means, np.concatenate([p.variances for p in parts], axis=1), mixture.mass)

    def _mean_noise(self) -> float:
        mixture = self._model.mixture
        return float(mixture.mass @ mixture.noise_variance)
