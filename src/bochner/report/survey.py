"""Survey: the rows that a reader may see, checked against the model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, as_rows
from bochner.diagnostics.diagnostics import Diagnostics, Summary
from bochner.diagnostics.held_out_calibration import Calibration, calibration
from bochner.diagnostics.holding_out import ALL_ROWS, pit_of
from bochner.diagnostics.region import frame_of, region_of
from bochner.exceptions import InputError
from bochner.layout.columns import used_part
from bochner.layout.geography import without_geometry
from bochner.validation import SCORES, Prediction


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

    def table(self, model: Any) -> FloatArray:
        """The columns that a model uses."""
        if hasattr(model, "_design"):  # a formula makes the columns
            return np.asarray(model._frame(self.X), dtype=np.float64)
        plain = without_geometry(self.X, model.coords, model.covariates, model.crs_)
        return np.asarray(used_part(plain, model.coords, model.covariates), dtype=np.float64)

    def coords(self, model: Any) -> FloatArray:
        """Coordinates (n, dim), as the user has them."""
        coords: FloatArray = model._columns.coords_of(self.table(model))
        return coords


def judge(model: Any, survey: Survey, text: str) -> tuple[Calibration, FloatArray]:
    """How a model predicts rows that it was not fitted to, and the means that it predicts."""
    y, more = np.asarray(survey.y, dtype=np.float64), survey.more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, shift, size = model._new_rows(survey.X, more.pop("offset", None), **more)
    law = model._law(rows, shift, size, True)
    prediction = Prediction(law.mean, np.maximum(law.sd, 1e-300), law.quantile(0.025), law.quantile(0.975), 0.95)
    scores = {name: score(y, prediction) for name, score in SCORES.items()}
    # of the law itself, not of a Gaussian like it
    scores |= {"crps": float(np.mean(law.crps(y))), "log_score": float(np.mean(law.log_density(y)))}
    means = law.mean / survey.size
    return calibration("data given", text, scores, pit_of(law, y), means, survey.response), means


def held_out_means(model: Any) -> tuple[FloatArray, FloatArray] | None:
    """Leave-one-out means of a model's own rows and what was observed there, where that is quick."""
    if not hasattr(model, "_responses") or np.count_nonzero(model._responses.weight) > ALL_ROWS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = model.cross_validate(None, scoring="rmse")
    size = model._responses.size[held.index]
    return held.prediction.mean / size, model._responses.y[held.index] / size


def diagnose_survey(model: Any, survey: Survey) -> Diagnostics:
    """Diagnostics out of a survey alone, for a model that carries none."""
    table, frame = survey.table(model), frame_of(model)
    coords, covariates = model._columns.coords_of(table), model._columns.covariates_of(table)
    names = model._columns
    return Diagnostics(
        n_rows=len(table),
        region=region_of(coords, names.coord_names, frame),
        response=Summary.of(survey.response),
        coordinates=dict(zip(names.coord_names, map(Summary.of, coords.T), strict=True)),
        covariates=dict(zip(names.covariate_names, map(Summary.of, covariates.T), strict=True)),
        variogram=None,
        distance_unit=frame.unit,
        held_out=(),
    )
