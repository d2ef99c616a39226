"""Model files: a fitted estimator to one file and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bochner import archive, families, kernels
from bochner.estimators.columns import Columns
from bochner.estimators.trend import Trend
from bochner.exceptions import ArchiveError
from bochner.features import ArealRows, FourierMap, LocalSpectrumMap, NystroemMap, PairedMap, Rows
from bochner.frequencies import Frequencies, Lattice, PairedFrequencies
from bochner.geo import Placement
from bochner.inference import Model, Scale
from bochner.posterior import CoefficientPosterior, KrigingPosterior, Mixture, OperatorPosterior
from bochner.solvers import CholeskyFactor, LeastSquares, Report, WoodburyFactor

KERNELS = [k for k in vars(kernels).values() if isinstance(k, type) and issubclass(k, kernels.Kernel)]
FAMILIES = [type(family) for family in families.FAMILIES.values()]

archive.register(
    LocalSpectrumMap, PairedMap, PairedFrequencies,
    *KERNELS, *FAMILIES, Columns, Trend, FourierMap, NystroemMap, Rows, Frequencies, Model, Scale, CoefficientPosterior,
    KrigingPosterior, Placement, Mixture, OperatorPosterior, Lattice, CholeskyFactor, LeastSquares, Report,
    WoodburyFactor, ArealRows,
)  # fmt: skip

FITTED = ("_columns", "_trend", "_centre", "_model", "_spare_sd", "_survey", "_placement", "crs_")


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    archive.write(path, "model", _state(estimator))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `SpatialRegressor.save` or `SpatialClassifier.save` wrote.

    Predictions are those of the model that was saved. What `cross_validate` needs of the training rows is not in the
    file: it takes a new fit.
    """
    state = archive.read(path, "model")
    try:
        return _estimator(state)
    except (KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{path} is not a complete bochner model file ({error!r}); save it again.") from error


def _state(estimator: Any) -> dict[str, Any]:
    names = getattr(estimator, "feature_names_in_", None)
    state = {
        "estimator": type(estimator).__name__,
        "params": {k: _plain(v) for k, v in estimator.get_params(deep=False).items()},
        "n_features_in_": estimator.n_features_in_,
        "feature_names_in_": None if names is None else [str(n) for n in names],
    }
    if hasattr(estimator, "models_"):
        labels = [_plain(label) for label in estimator.classes_.tolist()]
        return {**state, "classes_": labels, "models_": [_state(m) for m in estimator.models_]}
    if hasattr(estimator, "_design"):
        state["design"] = estimator._design.as_dict()
    if hasattr(estimator, "roles_"):  # which columns of a file were response, trials, exposure and offset
        state["roles_"] = dict(estimator.roles_)
    if hasattr(estimator, "diagnostics_"):
        state["diagnostics_"] = estimator.diagnostics_.as_dict()
    return {**state, "fitted": {name: getattr(estimator, name) for name in FITTED}}


def _estimator(state: dict[str, Any]) -> Any:
    from bochner.estimators.classifier import SpatialClassifier
    from bochner.estimators.diagnostics import Diagnostics
    from bochner.estimators.formula import Design, parse_formula
    from bochner.estimators.formula_regressor import FormulaRegressor
    from bochner.estimators.regressor import SpatialRegressor

    known = {c.__name__: c for c in (SpatialRegressor, SpatialClassifier, FormulaRegressor)}
    estimator = known[state.get("estimator", "SpatialRegressor")](**state["params"])
    estimator.n_features_in_ = state["n_features_in_"]
    if state["feature_names_in_"] is not None:
        estimator.feature_names_in_ = np.array(state["feature_names_in_"], dtype=object)
    if isinstance(estimator, SpatialClassifier):
        estimator.classes_ = np.array(state["classes_"])
        estimator.models_ = [_estimator(part) for part in state["models_"]]
        return estimator
    for name, value in state["fitted"].items():
        setattr(estimator, name, value)
    if "roles_" in state:
        estimator.roles_ = dict(state["roles_"])
    if "diagnostics_" in state:
        estimator.diagnostics_ = Diagnostics.from_dict(state["diagnostics_"])
    if "design" in state:
        formula = parse_formula(estimator.formula)
        estimator._design = Design.from_dict(formula, state["design"])
        estimator.coords, estimator.fit_intercept = list(formula.coords), formula.intercept
        estimator.covariates = [n for n in state["feature_names_in_"] if n not in formula.coords] or None
    estimator._set_fitted()
    return estimator


def _plain(value: Any) -> Any:
    """Parameters as the archive knows them: an index of columns as a list, splitters and the like as text."""
    if archive.knows(value):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)
