"""Survey: the rows that a reader may see, checked against the model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, as_rows
from bochner.diagnostics import Calibration, Diagnostics, Summary, calibration, limits, region_of
from bochner.diagnostics.holding_out import pit_of
from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError
from bochner.layout import Layout
from bochner.validation import SCORES


@dataclass(frozen=True)
class Survey:
    """Rows to be shown on the map and judged: a table as `fit` takes it, and its responses.

    Attributes
    ----------
    X : array or data frame of shape (n, columns)
        Coordinates and covariates.
    y : array of shape (n,)
        Responses.
    trials, exposure, offset : array of shape (n,), optional
        As in `fit`.
    """

    X: Any
    y: Any
    trials: Any = None
    exposure: Any = None
    offset: Any = None

    @classmethod
    def of(cls, data: Any) -> Survey:
        """A survey as it is, or the pair (X, y)."""
        if isinstance(data, cls):
            return data
        if isinstance(data, tuple) and len(data) == 2:
            return cls(*data)
        raise InputError(f"data is a {type(data).__name__}; needed is the pair (X, y), or a Survey(X, y, trials=...).")

    @property
    def more(self) -> dict[str, Any]:
        """What `predict` needs beside the table."""
        given = {"trials": self.trials, "exposure": self.exposure, "offset": self.offset}
        return {name: np.asarray(value) for name, value in given.items() if value is not None}

    @property
    def size(self) -> FloatArray:
        """Trials or exposure of each row; ones without."""
        size = as_rows(self.exposure if self.trials is None else self.trials, len(self.y), "trials or exposure", 1.0)
        assert size is not None
        return size

    @property
    def response(self) -> FloatArray:
        """Responses per unit of trials or exposure: what the map shows."""
        return np.asarray(self.y, dtype=np.float64) / self.size

    def coords(self, layout: Layout) -> FloatArray:
        """Coordinates (n, dim), as the user has them."""
        return layout.columns.coords_of(self._numbers(layout))

    def covariates(self, layout: Layout) -> FloatArray:
        """Covariates (n, q) of the model."""
        return layout.columns.covariates_of(self._numbers(layout))

    def _numbers(self, layout: Layout) -> FloatArray:
        """Columns of the model: dates in days, categories as indicators."""
        return np.asarray(layout.numbers(layout.frame(self.X)), dtype=np.float64)


def judge(model: SpatialRegressor, survey: Survey, text: str) -> tuple[Calibration, FloatArray]:
    """How a model predicts rows that it was not fitted to, and the means that it predicts."""
    y = np.asarray(survey.y, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = model.predict_distribution(survey.X, include_noise=True, **survey.more).law
    prediction = law.prediction()
    scores = {name: score(y, prediction) for name, score in SCORES.items() if score.applies(prediction)}
    means = law.mean / survey.size
    return calibration("data given", text, scores, pit_of(law, y), means, survey.response), means


def held_out_means(model: SpatialRegressor) -> tuple[FloatArray, FloatArray] | None:
    """Leave-one-out means of a model's own rows and what was observed there, where that is quick."""
    responses = model.training_responses() if model.has_training else None
    if responses is None or np.count_nonzero(responses.weight) > limits.MAX_HELD_OUT_ROWS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = model.cross_validate(None, scoring="rmse")
    size = responses.size[held.index]
    return held.prediction.mean / size, responses.y[held.index] / size


def diagnose_survey(layout: Layout, survey: Survey) -> Diagnostics:
    """Diagnostics out of a survey alone, for a model that carries none."""
    coords, covariates, columns = survey.coords(layout), survey.covariates(layout), layout.columns
    return Diagnostics(
        n_rows=len(coords),
        region=region_of(coords, columns.coord_names, layout.placement, layout.crs),
        response=Summary.of(survey.response),
        coordinates=dict(zip(columns.coord_names, map(Summary.of, coords.T), strict=True)),
        covariates=dict(zip(columns.covariate_names, map(Summary.of, covariates.T), strict=True)),
        variogram=None,
        distance_unit=layout.placement.unit,
        held_out=(),
    )
