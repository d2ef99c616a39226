"""FormulaRegressor: a SpatialRegressor whose columns are named by a formula."""

from __future__ import annotations

from typing import Any, Self

from bochner.estimators import storage
from bochner.estimators.distribution import Distribution
from bochner.estimators.regressor import SpatialRegressor
from bochner.estimators.table_fit import TableFit
from bochner.layout import Design, Given, parse_formula
from bochner.layout.formula import as_table, column_of
from bochner.spelling import check_columns


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
        crs: Any = None,
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
            crs=crs,
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

    def fit(self, X: Any, y: Any = None, *, predict_at: Any = None, **known: Any) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : data frame
            Has every column that the formula, `trials`, `exposure` and `offset` name.
        y : array of shape (n,), optional
            Response in place of the formula's.
        predict_at : array or data frame, optional
            As in `SpatialRegressor.fit`.
        **known
            `sample_weight`, `measurement_variance`, `trials`, `exposure`, `offset`, `groups` as in
            `SpatialRegressor.fit`; names of columns or arrays.
        """
        formula = parse_formula(self.formula)
        design = Design.learn(formula, as_table(X))
        for name in ("trials", "exposure", "offset"):
            known.setdefault(name, getattr(self, name))
        groups = known.pop("groups", None)
        if isinstance(groups, str):
            check_columns([groups], [str(c) for c in as_table(X).columns], "the table")
            groups = as_table(X)[groups]
        given = Given(**{name: column_of(X, value) for name, value in known.items()}, groups=groups)
        response = column_of(X, formula.response) if y is None else y
        names = [name for name in design.frame(X).columns if name not in formula.coords]
        wanted = TableFit((list(formula.coords), names), predict_at, formula.intercept, design)
        return self.learn_table(X, response, given, wanted)

    def predict_distribution(
        self,
        X: Any,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> Distribution:
        """The predictive law itself; `trials`, `exposure` and `offset` may be names of columns."""
        trials, exposure, offset = (column_of(X, value) for value in (trials, exposure, offset))
        return super().predict_distribution(
            X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset
        )


storage.register(FormulaRegressor)
