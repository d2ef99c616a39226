"""Model files: a fitted estimator to one file and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bochner import archive, kernels
from bochner.estimators.columns import Columns
from bochner.estimators.trend import Trend
from bochner.exceptions import ArchiveError
from bochner.features import FourierMap, NystroemMap, Rows
from bochner.frequencies import Frequencies, Lattice
from bochner.inference import Model, Scale
from bochner.posterior import CoefficientPosterior, KrigingPosterior, Mixture, OperatorPosterior
from bochner.solvers import CholeskyFactor, LeastSquares, Report, WoodburyFactor

if TYPE_CHECKING:
    from bochner.estimators.regressor import SpatialRegressor

KERNELS = [k for k in vars(kernels).values() if isinstance(k, type) and issubclass(k, kernels.Kernel)]

archive.register(
    *KERNELS, Columns, Trend, FourierMap, NystroemMap, Rows, Frequencies, Model, Scale, CoefficientPosterior,
    KrigingPosterior, Mixture, OperatorPosterior, Lattice, CholeskyFactor, LeastSquares, Report, WoodburyFactor,
)  # fmt: skip


def save(estimator: SpatialRegressor, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    fitted = {name: getattr(estimator, name) for name in ("_columns", "_trend", "_centre", "_model", "_spare_sd")}
    names = getattr(estimator, "feature_names_in_", None)
    state = {
        "params": {k: _plain(v) for k, v in estimator.get_params(deep=False).items()},
        "fitted": fitted,
        "n_features_in_": estimator.n_features_in_,
        "feature_names_in_": None if names is None else [str(n) for n in names],
    }
    archive.write(path, "model", state)


def load(path: str | os.PathLike[str]) -> SpatialRegressor:
    """Read a model that `SpatialRegressor.save` wrote.

    Predictions are those of the model that was saved. What `cross_validate` needs of the training rows is not in the
    file: it takes a new fit.
    """
    import numpy as np

    from bochner.estimators.regressor import SpatialRegressor

    state = archive.read(path, "model")
    try:
        estimator = SpatialRegressor(**state["params"])
        for name, value in state["fitted"].items():
            setattr(estimator, name, value)
        estimator.n_features_in_ = state["n_features_in_"]
        if state["feature_names_in_"] is not None:
            estimator.feature_names_in_ = np.array(state["feature_names_in_"], dtype=object)
        estimator._set_fitted()
    except (KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{path} is not a complete bochner model file ({error!r}); save it again.") from error
    return estimator


def _plain(value: Any) -> Any:
    """Parameters as the archive knows them: an index of columns as a list, splitters and the like as text."""
    try:
        archive._encode(value, {})
    except ArchiveError:
        return value.tolist() if hasattr(value, "tolist") else repr(value)
    return value
