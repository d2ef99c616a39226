"""Model files: a fitted estimator to one file and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner import archive
from bochner.estimators.fitted import Fitted
from bochner.estimators.saved import upgraded
from bochner.exceptions import ArchiveError

ESTIMATORS: dict[str, type] = {}


def register(estimator: type) -> None:
    """Let files hold estimators of a class."""
    ESTIMATORS[estimator.__name__] = estimator


def class_named(name: str) -> Any:
    """Estimator class of a name."""
    if name not in ESTIMATORS:
        raise ArchiveError(f"the file holds a {name!r}, which this version does not know; upgrade bochner.")
    return ESTIMATORS[name]


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
        return _estimator(upgraded(state))
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
    return {**state, "fitted": estimator.fitted_}


def _estimator(state: Mapping[str, Any]) -> Any:
    estimator = class_named(state["estimator"])(**state["params"])
    estimator.n_features_in_ = state["n_features_in_"]
    if state["feature_names_in_"] is not None:
        estimator.feature_names_in_ = np.array(state["feature_names_in_"], dtype=object)
    if "models_" in state:
        estimator.classes_ = np.array(state["classes_"])
        estimator.models_ = [_estimator(part) for part in state["models_"]]
        return estimator
    fitted = state["fitted"]
    if not isinstance(fitted, Fitted):
        raise TypeError(f"fitted is a {type(fitted).__name__}")
    estimator.set_fitted(fitted)
    return estimator


def _plain(value: Any) -> Any:
    """Parameters as the archive knows them: an index of columns as a list, splitters and the like as text."""
    if archive.knows(value):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)
