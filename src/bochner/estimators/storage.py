"""Model files: a fitted estimator to one file and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from bochner import archive
from bochner.estimators.fitted import Fitted
from bochner.estimators.saved import upgraded
from bochner.estimators.trial import try_out
from bochner.exceptions import ArchiveError, BochnerError

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


def load(path: str | os.PathLike[str], *, sha256: str | None = None) -> Any:
    """Read a model that `SpatialRegressor.save` or `SpatialClassifier.save` wrote.

    Predictions are those of the model that was saved. What `cross_validate` needs of the training rows is not in the
    file: it takes a new fit. Nothing in a file is executed.

    Parameters
    ----------
    path : path
    sha256 : str, optional
        Digest of the file that is meant, 64 hexadecimal digits; another file is refused. The hashes within a file
        catch damage, not forgery.
    """
    state = archive.read(path, "model", sha256=sha256, finite=True)
    try:
        estimator = _estimator(upgraded(state))
        try_out(estimator)
    except BochnerError as error:
        raise ArchiveError(f"{path}: {error}") from error
    except Exception as error:  # parts that are each of their kind, and do not fit each other
        raise ArchiveError(f"{path} is not a complete bochner model file ({error!r}); save it again.") from error
    return estimator


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
    return {**state, "fitted": estimator.judged()}


def _estimator(state: Mapping[str, Any]) -> Any:
    estimator = class_named(state["estimator"])(**state["params"])
    n, names = state["n_features_in_"], state["feature_names_in_"]
    if type(n) is not int or n < 1:
        raise ArchiveError(f"it says that its table had {n!r} columns; save it again.")
    if names is not None and not (isinstance(names, list | tuple) and len(names) == n and _are_text(names)):
        raise ArchiveError(f"the names of its {n} columns are no list of so many names; save it again.")
    estimator.n_features_in_ = n
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if "models_" in state:
        estimator.classes_ = np.array(state["classes_"])
        estimator.models_ = [_estimator(part) for part in state["models_"]]
        n_classes = len(estimator.classes_)
        if n_classes < 2 or len(estimator.models_) != (1 if n_classes == 2 else n_classes):
            raise ArchiveError(f"it has {n_classes} classes and {len(estimator.models_)} models; save it again.")
        return estimator
    fitted = state["fitted"]
    if not isinstance(fitted, Fitted):
        raise TypeError(f"fitted is a {type(fitted).__name__}")
    estimator.set_fitted(fitted)
    return estimator


def _are_text(names: Any) -> bool:
    return all(isinstance(name, str) for name in names)


def _plain(value: Any) -> Any:
    """Parameters as the archive knows them: an index of columns as a list, splitters and the like as text."""
    if archive.knows(value):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)
