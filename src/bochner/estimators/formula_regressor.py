"""FormulaRegressor: a SpatialRegressor whose columns are named by a formula."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators.formula import Design, parse_formula
from bochner.estimators.regressor import SpatialRegressor
from bochner.exceptions import ColumnError, InputError
from bochner.features import Rows


class FormulaRegressor(SpatialRegressor):
    """Spatial regression of a table, by a formula such as ``"positive ~ elevation + gp(lon, lat)"``.

    Made by `SpatialRegressor.from_formula`. Tables go straight into `fit` and `predict`; the other parameters are those
    of `SpatialRegressor`, but `coords`, `covariates` and `fit_intercept`, which the formula says.

    Parameters
    ----------
    formula : str
        Response, linear terms in Wilkinson's notation (factors become indicators, functions such as ``log`` work), and
        one ``gp(...)`` that names the coordinates.
    trials, exposure, offset : str, optional
        Columns that hold them, in the table of the fit.
    """

    def __init__(
        self,
        formula: str,
        *,
        trials: str | None = None,
        exposure: str | None = None,
        offset: str | None = None,
        kernel: Any = None,
        family: Any = "gaussian",
        features: str = "auto",
        n_frequencies: int | str = "auto",
        noise_variance: float | None = None,
        tune: Any = "evidence",
        tolerance: float = 1e-3,
        dtype: str = "auto",
        device: str = "auto",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            family=family,
            features=features,
            n_frequencies=n_frequencies,
            noise_variance=noise_variance,
            tune=tune,
            tolerance=tolerance,
            dtype=dtype,
            device=device,
            memory_limit=memory_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.formula = formula
        self.trials = trials
        self.exposure = exposure
        self.offset = offset

    def fit(self, X: Any, y: Any = None, **known: Any) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : data frame
            Has every column that the formula, `trials`, `exposure` and `offset` name.
        y : array of shape (n,), optional
            Response in place of the formula's.
        **known
            `sample_weight`, `measurement_variance`, `predict_at` as in `SpatialRegressor.fit`; names of columns or
            arrays.
        """
        formula = parse_formula(self.formula)
        self._design = Design(formula, _table(X))
        self.coords, self.fit_intercept = list(formula.coords), formula.intercept
        frame = self._frame(X)
        self.covariates = [name for name in frame.columns if name not in formula.coords] or None
        for name in ("trials", "exposure", "offset"):
            known.setdefault(name, getattr(self, name))
        columns = {name: _column(X, value) for name, value in known.items()}
        return super().fit(frame, _column(X, formula.response) if y is None else y, **columns)

    def _frame(self, X: Any) -> Any:
        """Coordinates and linear terms of a table, as the columns that the model is fitted to."""
        formula = self._design.formula
        frame = self._design.covariates(_table(X))
        for position, name in enumerate(formula.coords):
            frame.insert(position, name, np.asarray(_column(X, name), dtype=float))
        return frame

    def _new_rows(
        self, X: Any, offset: Any, trials: Any = None, exposure: Any = None
    ) -> tuple[Rows, FloatArray, FloatArray | None]:
        known = (_column(X, value) for value in (offset, trials, exposure))
        return super()._new_rows(self._frame(X), *known)


def _table(X: Any) -> Any:
    if not hasattr(X, "columns"):
        raise InputError(
            f"a formula needs a table with named columns, and X is a {type(X).__name__}; pass a data frame."
        )
    return X if hasattr(X, "iloc") or not hasattr(X, "to_pandas") else X.to_pandas()


def _column(X: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in _table(X).columns:
        raise ColumnError(f"there is no column {value!r}; the table has {list(X.columns)}.")
    try:
        return np.asarray(X[value], dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"column {value!r} cannot be read as numbers ({error}); needed is one of numbers.") from error
