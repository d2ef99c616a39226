"""FourierFeatures: random, quasi-random or orthogonal waves as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.arrays import FloatArray
from bochner.estimators.constructor import KernelParameters, is_count
from bochner.exceptions import InputError, KernelError
from bochner.features import FourierMap
from bochner.frequencies import measure_error, rule_named
from bochner.kernels import Kernel, SquaredExponential, spectral_terms
from bochner.layout.columns import refuse_twins
from bochner.random import generator, seed_of
from bochner.spelling import one_of


class FourierFeatures(KernelParameters, TransformerMixin, BaseEstimator):
    """Map coordinates to cosines and sines whose inner product is a kernel.

    Any linear model on the output is the kernel model: ``make_pipeline(FourierFeatures(), Ridge())``.

    Parameters
    ----------
    kernel : Kernel, default None
        Shift-invariant kernel; None is ``SquaredExponential()``. It is used as given: see
        `SpatialRegressor` for one that learns it.
    n_frequencies : int, default 100
        Number m of waves; the output has 2 m columns.
    features : str, default "quasi"
        ``"monte-carlo"``, ``"quasi"``, ``"orthogonal"`` or ``"structured"``.
    dtype : str, default "float64"
        Precision of the output.
    random_state : int, RandomState or None
        Seed of the frequencies.

    Attributes
    ----------
    frequencies_ : Frequencies
        Angular frequencies and their masses.
    kernel_error_ : float
        Measured RMS error of the kernel over the extent of the data, relative to its variance.
    n_features_in_ : int
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import FourierFeatures
    >>> X = np.random.default_rng(0).uniform(size=(10, 2))
    >>> FourierFeatures(n_frequencies=50).fit_transform(X).shape
    (10, 100)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_frequencies: int = 100,
        features: str = "quasi",
        dtype: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_frequencies = n_frequencies
        self.features = features
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies; only the number of columns and the extent of `X` are looked at."""
        refuse_twins(X)
        X = validate_data(self, X, dtype=np.float64)
        kernel = SquaredExponential() if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise KernelError(f"kernel={kernel!r} is not a kernel; take one from bochner.kernels, e.g. Matern().")
        kernel.check_dim(X.shape[1])
        spectral_terms(kernel)
        if not is_count(self.n_frequencies):
            raise InputError(f"n_frequencies={self.n_frequencies!r}; needed is an integer >= 1.")
        one_of(self.dtype, "dtype", ("float32", "float64"))
        seed = seed_of(self.random_state)
        rule = rule_named(self.features)
        m = int(self.n_frequencies)
        self.frequencies_ = rule.draw(kernel, m, X.shape[1], generator(seed, "frequencies"))
        extent = np.ptp(X, axis=0)
        self.kernel_error_ = measure_error(self.frequencies_, kernel, extent, seed)[0]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Features of some places, (n, 2 m): cosines first, then sines."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            waves = FourierMap(self.frequencies_, np.dtype(self.dtype).type).block(X)
        if not np.isfinite(waves).all():
            raise KernelError(
                "waves at these places are no numbers: the length scales of the kernel are out of proportion to the "
                "coordinates; give both in units in which they are neither huge nor tiny."
            )
        return waves

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: cos0, cos1, ..., sin0, sin1, ..."""
        check_is_fitted(self)
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise InputError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(input_features)}; pass one name per coordinate, or none."
            )
        m = len(self.frequencies_.mass)
        return np.array([f"{wave}{j}" for wave in ("cos", "sin") for j in range(m)], dtype=object)
