"""What can be mapped: one fitted model, with two coordinates that make a plane."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from bochner.estimators import SpatialClassifier, SpatialRegressor
from bochner.exceptions import InputError
from bochner.layout import Layout

Mappable = SpatialRegressor | SpatialClassifier
"""What functions of this room are given."""


def mappable(model: Mappable) -> SpatialRegressor:
    """The model behind a map: a classifier of two classes shows the probability of the second."""
    check_is_fitted(model)
    if isinstance(model, SpatialRegressor):
        return model
    if len(model.models_) == 1:
        return model.models_[0]
    raise InputError(
        f"the classifier has {len(model.models_)} classes, and a map shows one; pass model.models_[k] for the class "
        f"model.classes_[k]."
    )


def map_layout(model: SpatialRegressor) -> Layout:
    """Layout of a model that has a plane to be drawn; refuses a single coordinate."""
    layout = model.fitted_.layout
    names = layout.columns.coord_names
    if len(names) < 2:
        raise InputError(f"the model has one coordinate, {names[0]!r}; a map needs two. Use predict for a line.")
    return layout
