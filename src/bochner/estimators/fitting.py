"""Fitting: from a table and responses to a model, the part that estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from bochner.arrays import FloatArray, as_coords, as_rows, box_of
from bochner.estimators import report
from bochner.estimators.columns import Columns, refuse_gaps, refuse_text, resolve_columns, table_names, used_part
from bochner.estimators.crossvalidation import make_folds
from bochner.estimators.geography import Support, crs_of, support_of, without_geometry
from bochner.estimators.progress import told
from bochner.estimators.responses import check_responses, checked_size, survey_weights
from bochner.estimators.settings import settings_of
from bochner.estimators.trend import Trend
from bochner.exceptions import InputError
from bochner.families import Gaussian, family_named
from bochner.features import ArealRows, Rows
from bochner.geo import Placement, choose_placement
from bochner.inference import Model, Responses, fit_model, starvation
from bochner.posterior import KrigingPosterior
from bochner.threads import threads_for


class Fitting:
    """What `fit` does, and the fitted state it leaves behind."""

    # parameters of the estimator
    family: Any
    coords: Any
    covariates: Any
    fit_intercept: bool
    tune: Any
    n_jobs: int | None
    verbose: int

    _columns: Columns
    _placement: Placement
    _centre: FloatArray  # of the places, in whose frame the model works
    _trend: Trend
    _responses: Responses  # absent from a loaded model
    _model: Model
    _spare_sd: float | None
    _survey: str | None

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        trials: Any,
        exposure: Any,
        offset: Any,
        measurement_variance: Any,
        predict_at: Any,
    ) -> None:
        settings, family = settings_of(self), family_named(self.family)
        table, y = self._checked_table(X, y)
        n = len(y)
        weight = _non_negative(sample_weight, n, "sample_weight", 1.0)
        error = _non_negative(measurement_variance, n, "measurement_variance", 0.0)
        shift = as_rows(offset, n, "offset", 0.0)
        given = checked_size(family, n, trials, exposure)
        size = np.broadcast_to(1.0, (n,)) if given is None else given
        assert shift is not None
        if not (weight > 0).any():
            raise InputError("every sample_weight is zero; at least one row must have a positive weight.")
        check_responses(family, y, size, weight, bool(self.fit_intercept))
        coords, covariates = self._columns.coords_of(table), self._columns.covariates_of(table)
        names = self._columns.coord_names
        self.crs_ = crs_of(X, names)
        counts = slice(None) if np.all(weight > 0) else weight > 0  # a slice makes no copy
        self._placement = choose_placement(coords[counts], self.crs_, names)
        coords = self._placement.forward(coords)
        kept = coords[counts]
        if len(kept) == 1 and self.tune is not None:
            raise InputError(
                "fit was given 1 sample (n_samples=1); learning a kernel needs at least 2. Give more rows, or a kernel "
                "with tune=None."
            )
        stationary = settings.kernel is None or settings.kernel.stationary
        low, high = box_of(kept)
        self._centre = (low + high) / 2 if stationary else np.zeros(coords.shape[1])
        # the mean of a Gaussian response is taken off, so that no digits are lost on it
        self._trend = Trend.learn(
            covariates,
            y - shift if isinstance(family, Gaussian) else np.broadcast_to(0.0, (n,)),
            weight,
            self._columns.covariate_names,
            bool(self.fit_intercept),
        )
        level = np.broadcast_to(self._trend.level, (n,))
        known = level if offset is None else shift + level
        rows = self._rows(coords, covariates, support_of(X, self.coords, self.crs_))
        self._responses = Responses(family, rows, y, size, known, weight, error)
        self._survey = survey_weights(weight)
        places = self._places(predict_at)
        folds = make_folds(self.tune, coords, y, places, settings.spec.seed)
        with threads_for(n, self.n_jobs), told(self.verbose):
            wanted = None if places is None else places - self._centre
            self._model = fit_model(settings, self._responses, folds, wanted)
            if self._placement.kind != "planar":
                self._model.choices["places"] = self._placement.why
            working = self._model._working
            self._spare_sd = None if working is None else starvation(self._model, working, settings.spec.seed)
        self._set_fitted()

    def _checked_table(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        plain = without_geometry(X, self.coords, self.covariates, None)
        part = used_part(plain, self.coords, self.covariates)
        refuse_text(part, "X")
        refuse_text(y, "y")
        table, y = validate_data(
            self, part, y, dtype=np.float64, y_numeric=True, ensure_min_samples=1, ensure_all_finite=False
        )
        refuse_gaps(table, part)
        names = table_names(part, table.shape[1])
        self._columns: Columns = resolve_columns(names, self.coords, self.covariates)
        return table, np.asarray(y, dtype=np.float64)

    def _places(self, predict_at: Any) -> FloatArray | None:
        """Places to be predicted, laid out as the rows are."""
        if predict_at is None:
            return None
        n_coords = len(self._columns.coords)
        table = without_geometry(predict_at, self.coords, None, self.crs_)
        names = [c for c in self._columns.coord_names if c in getattr(table, "columns", ())]
        if names:
            table = table[names]
        places = np.asarray(table, dtype=float)
        if not names and places.ndim == 2 and places.shape[1] == len(self._columns.names):
            places = self._columns.coords_of(places)
        return self._placement.forward(as_coords(places, n_coords, "predict_at"))

    def _rows(self, coords: FloatArray, covariates: FloatArray, support: Support | None = None) -> Rows:
        """Rows in the frame of the model, from places in km and covariates."""
        trend = self._trend.columns(covariates)
        if support is None:
            return Rows(coords - self._centre, trend)
        points = self._placement.forward(support.points) - self._centre
        return ArealRows(coords - self._centre, trend, points, support.group, support.share)

    def _set_fitted(self) -> None:
        model = self._model
        self.kernel_ = model.kernel
        self.family_ = model.family
        self.noise_variance_ = model.noise_variance
        self.log_evidence_ = model.log_evidence - self._trend.log_scale
        self.log_likelihood_ = model.log_likelihood
        self.n_frequencies_ = model.n_frequencies
        self.choices_ = dict(model.choices)
        trend, _ = report.fixed_effects(model, self._trend)
        self.coef_ = np.r_[trend, report.feature_coef(model)]
        self.intercept_ = float(trend[0]) if self.fit_intercept else 0.0
        if isinstance(model.posterior, KrigingPosterior):
            self.dual_coef_ = model.posterior.alpha


def _non_negative(values: Any, n: int, name: str, default: float) -> FloatArray:
    array = as_rows(values, n, name, default)
    assert array is not None
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise InputError(f"{name} is {array[row]:g} at row {row}; needed are numbers >= 0.")
    return array
