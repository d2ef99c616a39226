"""SpatialClassifier: the probability of each class on a map."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bochner.arrays import FloatArray, unmasked
from bochner.estimators import storage
from bochner.estimators.constructor import KernelParameters
from bochner.estimators.crossvalidation import CrossValidation
from bochner.estimators.door import checked_rows
from bochner.estimators.regressor import SpatialRegressor
from bochner.estimators.same_kind import SameKind
from bochner.exceptions import InputError, PartError
from bochner.families import family_named
from bochner.geo import is_geoframe
from bochner.layout import Encoding
from bochner.layout.answers import like_given
from bochner.layout.columns import encodable, named_columns, plain_selectors, used_part
from bochner.layout.geography import without_geometry


class SpatialClassifier(KernelParameters, SameKind, ClassifierMixin, BaseEstimator):
    """Classification of places, with probabilities that know what they do not know.

    Two classes: a Bernoulli response with a Gaussian field on the coordinates plus a linear trend, fitted by Laplace's
    approximation. More classes: one such model for each against the rest, their probabilities brought to sum to 1.
    Parameters are those of `SpatialRegressor`.

    Parameters
    ----------
    kernel : Kernel, default None
        None: chosen by the evidence, for each class.
    family : str or Family, default "bernoulli"
        ``Bernoulli(link="probit")`` for the probit link.
    features, n_frequencies, coords, covariates, crs, fit_intercept, noise_variance, tune, tolerance, dtype, device, \
memory_limit, n_jobs, random_state, verbose
        As in `SpatialRegressor`.

    Attributes
    ----------
    classes_ : array
        Labels, sorted.
    models_ : list of SpatialRegressor
        One for two classes (of the second label), else one for each class; they give intervals, exceedance
        probabilities and draws of the probabilities, summaries and checks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpatialClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(100, 2))
    >>> y = np.where(np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(100) > 0, "forest", "field")
    >>> model = SpatialClassifier().fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        family: Any = "bernoulli",
        features: str = "auto",
        n_frequencies: int | str = "auto",
        coords: Any = None,
        covariates: Any = None,
        crs: Any = None,
        fit_intercept: bool = True,
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
        self.kernel = kernel
        self.family = family
        self.features = features
        self.n_frequencies = n_frequencies
        self.coords = coords
        self.covariates = covariates
        self.crs = crs
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance
        self.tune = tune
        self.tolerance = tolerance
        self.dtype = dtype
        self.device = device
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        groups: Any = None,
        predict_at: Any = None,
    ) -> Self:
        """Learn the field and the trend of every class.

        Parameters
        ----------
        X : array or data frame of shape (n, columns)
            Coordinates and covariates.
        y : array of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Copies that each row stands for; 0 is the same as leaving it out.
        offset : array of shape (n,), optional
            Known part of the linear predictor; for two classes only.
        groups, predict_at
            As in `SpatialRegressor.fit`.
        """
        if not family_named(self.family).binary:
            raise PartError(f"family={self.family!r}; a classifier needs 'bernoulli'. Counts go to SpatialRegressor.")
        X = encodable(unmasked(X))
        asked = named_columns(X, self.coords, self.covariates, {str(getattr(y, "name", None))})
        part = used_part(without_geometry(X, *asked, None), *asked)
        checked_rows(self, part, Encoding.learn(part, plain_selectors(*asked)[1] or ()), reset=True)
        labels = column_or_1d(y, warn=True)
        kinds = {type(v).__name__ for v in labels} if labels.dtype == object else set()
        if len(kinds - {"str"}) and "str" in kinds:
            raise InputError(f"y holds labels of several kinds ({', '.join(sorted(kinds))}); make all of them text.")
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            row = int(np.argmax(np.isnan(labels)))
            raise InputError(f"Input y contains NaN, first in row {row}; needed is a label for every row: drop it.")
        check_classification_targets(labels)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        present = labels[weight > 0] if weight.shape == labels.shape else labels
        if not len(present):
            raise InputError("every sample_weight is zero; at least one row must have a positive weight.")
        self.classes_ = np.unique(present)
        if len(self.classes_) < 2:
            raise InputError(
                f"y holds one class only ({self.classes_[:1].tolist()}); a classifier needs rows of at least two."
            )
        if offset is not None and len(self.classes_) > 2:
            raise InputError(f"offset was given with {len(self.classes_)} classes; it has a meaning for two only.")
        own = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.models_ = [self._regressor() for _ in own]
        for label, model in zip(own, self.models_, strict=True):
            model.fit(
                X,
                own_class(labels, label, y),
                sample_weight=sample_weight,
                offset=offset,
                groups=groups,
                predict_at=predict_at,
            )
        return self

    def _regressor(self) -> SpatialRegressor:
        return SpatialRegressor(**self.get_params(deep=False))

    def predict_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Probability (n, n_classes) of each class, in the order of `classes_`.

        Of an xarray object, and of a table after ``set_output(predict="same")``, a variable or column for each class.
        """
        shares = self._shares(X, offset)
        named = {str(label): share for label, share in zip(self.classes_.tolist(), shares.T, strict=True)}
        return self._kind_of(X, named, shares)

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Most probable label (n,)."""
        shares = self._shares(X, offset)  # says so, if there was no fit
        labels = self.classes_[np.argmax(shares, axis=1)]
        return self._kind_of(X, {"label": labels}, labels)

    def _kind_of(self, X: Any, columns: dict[str, Any], plain: Any) -> Any:
        # of a GeoDataFrame probabilities have always been arrays: a table only where it is asked for
        if is_geoframe(X) and not self._answers_tables:
            return plain
        found = like_given(X, columns, self.models_[0].fitted_.layout, tables=self._answers_tables)
        return plain if found is None else found

    def _shares(self, X: Any, offset: Any) -> FloatArray:
        """Probability (n, n_classes)."""
        each = self._each(X, offset)
        if each.shape[1] == 1:
            return np.column_stack([1 - each, each])
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Linear predictor that has the predicted probability: (n,) for two classes, else (n, n_classes).

        Nearer to zero than the mean of the linear predictor, which `models_` give: a probability that is averaged over
        what is not known lies nearer to one half.
        """
        each = np.clip(self._each(X, offset), 1e-300, 1 - 2**-53)
        scores = family_named(self.family).link_of(each)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _each(self, X: Any, offset: Any) -> FloatArray:
        """Probability (n, n_models) of the label of each model against the rest."""
        check_is_fitted(self)
        return np.column_stack([model.predict_distribution(X, offset=offset).mean for model in self.models_])

    def cross_validate(self, cv: Any = None, scoring: Any = None, *, groups: Any = None) -> CrossValidation:
        """Scores on held-out rows without refitting, of two classes; see `SpatialRegressor.cross_validate`."""
        check_is_fitted(self)
        if len(self.models_) > 1:
            raise InputError(
                f"cross_validate of {len(self.classes_)} classes; take that of each of `models_`, or scikit-learn's."
            )
        return self.models_[0].cross_validate(cv, scoring, groups=groups)

    def summary(self) -> str:
        """What was fitted, in words and numbers, class by class."""
        check_is_fitted(self)
        own = self.classes_[1:] if len(self.models_) == 1 else self.classes_
        parts = [f"class {label!r}\n{m.summary()}" for label, m in zip(own.tolist(), self.models_, strict=True)]
        return "\n\n".join(parts)

    def check(self) -> list[str]:
        """What looks wrong with the fit of any class."""
        check_is_fitted(self)
        return [finding for model in self.models_ for finding in model.check()]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, without pickle; `bochner.load` reads it."""
        check_is_fitted(self)
        storage.save(self, path)


def own_class(labels: Any, label: Any, y: Any) -> Any:
    """1 for one label and 0 for the rest, under the name that the labels had."""
    values = (labels == label).astype(float)
    if not hasattr(y, "name") or not hasattr(y, "iloc"):
        return values
    import pandas as pd

    return pd.Series(values, index=y.index, name=y.name)


storage.register(SpatialClassifier)
