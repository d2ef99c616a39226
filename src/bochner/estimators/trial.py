"""Trial of a model that a file gave: what does not fit together shows when it is loaded, not when it is asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bochner.estimators.constructor import check_stored
from bochner.estimators.fitted import Fitted
from bochner.estimators.summary import findings, summary
from bochner.exceptions import ArchiveError, StoreError
from bochner.features import Rows
from bochner.layout import Layout
from bochner.layout.limits import MAX_EXTENT


def try_out(estimator: Any) -> None:
    """Refuse an estimator whose parts are each of their kind and do not fit each other."""
    models = getattr(estimator, "models_", [estimator])
    check_stored(estimator)
    for model in models:
        if model is not estimator:
            check_stored(model)
        if model.n_features_in_ != estimator.n_features_in_:
            raise ArchiveError("its classes were learned from tables of different widths; save it again.")
        _check_table(model, model.fitted_.layout)
        _check_model(model.fitted_)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            summary(model.fitted_)
            findings(model.fitted_, float(model.tolerance))


def _check_table(estimator: Any, layout: Layout) -> None:
    """The columns of the table, and those that the model takes of it."""
    columns, trend = layout.columns, layout.trend
    if not all(0 <= j < len(columns.names) for j in (*columns.coords, *columns.covariates)):
        raise ArchiveError(f"it takes columns that are not among its {len(columns.names)}; save it again.")
    names = columns.names if layout.encoding is None else layout.encoding.names
    named = getattr(estimator, "feature_names_in_", names)
    if len(names) != estimator.n_features_in_ or list(named) != list(names):
        raise ArchiveError(f"its {len(names)} columns are not those of the table that it tells of; save it again.")
    if layout.encoding is not None and tuple(layout.encoding.expanded(names)) != tuple(columns.names):
        raise ArchiveError("its dates and categories are not its columns; save it again.")
    if layout.centre.ndim != 1 or trend.centre.ndim != 1:
        raise ArchiveError("the centre of its data has more than one dimension; save it again.")
    n_effects = len(trend.centre) + trend.intercept
    shapes = (trend.scale.shape, trend.basis.shape[:1], (len(trend.names),))
    if shapes != (trend.centre.shape, (n_effects,), (n_effects,)) or not (trend.scale > 0).all():
        raise ArchiveError(f"its {n_effects} fixed effects lack names, scales or directions; save it again.")
    if len(columns.coords) != layout.placement.n_columns or len(columns.covariates) != trend.n_covariates:
        raise ArchiveError("it takes other columns than it learned from; save it again.")


def _check_model(fitted: Fitted) -> None:
    """Predictions in the middle of the data, at the means of covariates and at zero: numbers, and as many as rows."""
    mixture, n_parts = fitted.model.mixture, len(fitted.model.mixture.components)
    if mixture.mass.shape != (n_parts,) or mixture.noise_variance.shape != (n_parts,):
        raise ArchiveError(f"its {n_parts} posteriors have other masses or noise variances; save it again.")
    if not np.all(mixture.noise_variance >= 0):
        raise ArchiveError("it has a negative noise variance; fit it again.")
    rows = _middle(fitted.layout)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            latent = fitted.latent(rows)
            # those without mass, too: the first stands for the best values
            means = [np.shape(part.mean(rows)) for part in mixture.components]
    except StoreError:
        return  # told when it is asked
    if len(fitted.layout.centre) and np.abs(fitted.layout.centre).max() > MAX_EXTENT:
        raise ArchiveError("the centre of its data is nowhere; fit it again.")
    with np.errstate(over="ignore"):  # an sd takes squares of the means
        known = all(np.isfinite(part).all() for part in (latent.means**2, latent.variances, latent.mass))
    weighed = known and latent.mass.min() >= 0 and abs(latent.mass.sum() - 1) < 1e-6
    shaped = latent.means.shape == latent.variances.shape == (len(latent.mass), len(rows))
    if not weighed or not shaped or latent.variances.min() < 0 or set(means) != {(len(rows),)}:
        raise ArchiveError("the model predicts no numbers in the middle of its data; fit it again.")


def _middle(layout: Layout) -> Rows:
    """More rows than there are columns, so that nothing fits by being repeated."""
    coords = layout.coords(np.zeros((11, len(layout.centre))))
    n_covariates = layout.trend.n_covariates
    return layout.rows_at(coords, np.stack([layout.trend.centre[:n_covariates], *np.zeros((10, n_covariates))]))
