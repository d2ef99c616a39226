"""SpatialRegressor: scikit-learn's contract over the whole of the library."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.arrays import FloatArray, as_coords, as_finite, as_rows
from bochner.estimators import report, storage
from bochner.estimators.columns import Columns, resolve_columns, table_names, used_part
from bochner.estimators.crossvalidation import CrossValidation, make_folds, summarise
from bochner.estimators.parameters import KernelParameters
from bochner.estimators.progress import told
from bochner.estimators.settings import is_count, settings_of
from bochner.estimators.trend import Trend
from bochner.exceptions import CheckWarning, FallbackWarning, InputError, PartError
from bochner.features import BLOCK_BYTES, FourierMap, Rows
from bochner.inference import Model, Observations, fit_model, leave_out, starvation
from bochner.posterior import KrigingPosterior, Moments, OperatorPosterior
from bochner.random import generator, seed_of
from bochner.threads import threads_for
from bochner.validation import Prediction


class SpatialRegressor(KernelParameters, RegressorMixin, BaseEstimator):
    """Spatial regression with calibrated uncertainty.

    A Gaussian field on the coordinates plus a linear trend on covariates. By default everything is
    learned and chosen: length scales, variance, noise, smoothness, features and solver; what was
    chosen, and why, is in `choices_` and printed by `summary`.

    Parameters
    ----------
    kernel : Kernel, default None
        None: smoothness and per-axis scales are chosen by the evidence; for many rows also rotated scales and a sum of
        a short and a long field, by predictions of held-out rows. A kernel, e.g. ``Matern(nu=0.5)``: only its values
        are learned; a scalar `length_scale` is isotropic, a tuple is one per axis.
    family : str or Family, default "gaussian"
        Law of the response.
    features : str, default "auto"
        ``"auto"``, ``"exact"``, ``"lattice"``, ``"monte-carlo"``, ``"quasi"``, ``"orthogonal"``, ``"structured"`` or
        ``"nystroem"``.
    n_frequencies : int or "auto"
        Number m of waves (landmarks for Nystroem); ``"auto"`` takes the fewest that meet `tolerance`.
    coords, covariates : names or positions of columns
        Which columns are coordinates (default: all that are not covariates) and which enter linearly.
    fit_intercept : bool, default True
        Whether the trend has an intercept.
    noise_variance : float, default None
        None: learned. A number: fixed, while tuning too. 0 with ``tune=None`` on Fourier or Nystroem
        features is ordinary least squares; `noise_variance_` is then the residual variance.
    tune : str, splitter or None, default "evidence"
        ``"evidence"`` (trend integrated out), ``"likelihood"`` (trend at its maximum),
        ``"spatial-cv"`` (CRPS of held-out blocks), any scikit-learn splitter, or None: keep the values given.
    tolerance : float, default 1e-3
        RMS error of the kernel, relative to its variance, that ``n_frequencies="auto"`` must meet.
    dtype : str, default "auto"
        Precision of the waves: ``"float32"`` or ``"float64"``; sums are always float64.
    device : str, default "auto"
        ``"auto"`` or ``"cpu"``.
    memory_limit : int or str, default None
        Bytes that a fit may use, e.g. ``"2GB"``.
    n_jobs : int, default None
        Threads for the parts that take them.
    random_state : int, RandomState or None
        Seed; None is as good as 0: the same call gives the same answer.
    verbose : int, default 0
        1 logs progress.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with learned values.
    noise_variance_ : float
        Variance of the noise.
    coef_ : array
        Coefficients of the linear model: the trend's (intercept first, covariates in the user's
        units), then those of the features (none for the exact kernel, which has `dual_coef_`).
    intercept_ : float
        First of them, 0 without an intercept.
    log_evidence_, log_likelihood_ : float
        Log density of the data with the trend integrated out, and at its maximum.
    n_frequencies_ : int or None
        Number of waves or landmarks.
    choices_ : dict
        What was chosen, and why.
    n_features_in_, feature_names_in_
        As in scikit-learn; when columns are named, the ones in use.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpatialRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
    >>> model = SpatialRegressor().fit(X, y)
    >>> mean, sd = model.predict(X[:3], return_std=True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        family: Any = "gaussian",
        features: str = "auto",
        n_frequencies: int | str = "auto",
        coords: Any = None,
        covariates: Any = None,
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

    # ---------------------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
        measurement_variance: Any = None,
        predict_at: Any = None,
    ) -> Self:
        """Learn the field and the trend.

        Parameters
        ----------
        X : array or data frame of shape (n, columns)
            Coordinates and covariates.
        y : array of shape (n,)
            Response.
        sample_weight : array of shape (n,), optional
            Copies that each row stands for; 0 is the same as leaving it out.
        trials, exposure : array of shape (n,), optional
            For families that have them; the Gaussian has none.
        offset : array of shape (n,), optional
            Known part of the linear predictor.
        measurement_variance : array of shape (n,), optional
            Known error variance of each row, added to the learned noise.
        predict_at : array or data frame, optional
            Where predictions will be wanted: shapes the blocks of ``tune="spatial-cv"``, and the held-out rows by which
            a kernel is chosen for many rows; widens the box that the lattice covers.
        """
        settings = settings_of(self)
        refuse_counts(trials, exposure, "gaussian")
        table, y = self._checked_table(X, y)
        n = len(y)
        weight = _non_negative(sample_weight, n, "sample_weight", 1.0)
        error = _non_negative(measurement_variance, n, "measurement_variance", 0.0)
        shift = as_rows(offset, n, "offset", 0.0)
        assert shift is not None
        if not (weight > 0).any():
            raise InputError("every sample_weight is zero; at least one row must have a positive weight.")
        coords, covariates = self._columns.coords_of(table), self._columns.covariates_of(table)
        kept = coords if np.all(weight > 0) else coords[weight > 0]
        if len(kept) == 1 and self.tune is not None:
            raise InputError(
                "fit was given 1 sample (n_samples=1); learning a kernel needs at least 2. Give more rows, or a kernel "
                "with tune=None."
            )
        stationary = settings.kernel is None or settings.kernel.stationary
        self._centre = (kept.min(axis=0) + kept.max(axis=0)) / 2 if stationary else np.zeros(coords.shape[1])
        names = self._columns.covariate_names
        self._trend = Trend.learn(covariates, y - shift, weight, names, bool(self.fit_intercept))
        level = np.broadcast_to(self._trend.level, (n,))
        self._shift = level if offset is None else shift + level
        rows = self._rows(coords, covariates)
        self._observations = Observations(rows, y - self._shift, weight, error, np.broadcast_to(0.0, (n,)))
        places = self._places(predict_at)
        folds = make_folds(self.tune, coords, y, places, settings.spec.seed)
        with threads_for(n, self.n_jobs), told(self.verbose):
            wanted = None if places is None else places - self._centre
            self._model = fit_model(settings, self._observations, folds, wanted)
            self._spare_sd = starvation(self._model, self._observations, settings.spec.seed)
        self._set_fitted()
        return self

    def _checked_table(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        part = used_part(X, self.coords, self.covariates)
        table, y = validate_data(self, part, y, dtype=np.float64, y_numeric=True, ensure_min_samples=1)
        names = table_names(part, table.shape[1])
        self._columns: Columns = resolve_columns(names, self.coords, self.covariates)
        return table, np.asarray(y, dtype=np.float64)

    def _places(self, predict_at: Any) -> FloatArray | None:
        if predict_at is None:
            return None
        names = [c for c in self._columns.coord_names if c in getattr(predict_at, "columns", ())]
        if names:
            return as_coords(np.asarray(predict_at[names], dtype=float), len(self._columns.coords), "predict_at")
        places = np.asarray(predict_at, dtype=float)
        if places.ndim == 2 and places.shape[1] == len(self._columns.names):
            places = self._columns.coords_of(places)
        return as_coords(places, len(self._columns.coords), "predict_at")

    def _rows(self, coords: FloatArray, covariates: FloatArray) -> Rows:
        return Rows(coords - self._centre, self._trend.columns(covariates))

    def _set_fitted(self) -> None:
        model = self._model
        self.kernel_ = model.kernel
        self.noise_variance_ = model.noise_variance
        self.log_evidence_ = model.log_evidence - self._trend.log_scale
        self.log_likelihood_ = model.log_likelihood
        self.n_frequencies_ = model.n_frequencies
        self.choices_ = dict(model.choices)
        trend, _ = report.fixed_effects(model, self._trend)
        self.coef_ = np.r_[trend, report.feature_coef(model)]
        self.intercept_ = float(trend[0]) if self.fit_intercept else 0.0
        if isinstance(model.posterior, KrigingPosterior):
            self.dual_coef_ = model.posterior.alpha

    # ------------------------------------------------------------------------ predict

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> Any:
        """Posterior mean, with its sd or joint covariance if asked for.

        Parameters
        ----------
        X : array or data frame of shape (n, columns)
            Places, with the covariates of the fit.
        return_std, return_cov : bool
            Also return the standard deviations (n,) or the covariance matrix (n, n).
        include_noise : bool
            Make those of a new observation, not of the surface.
        trials, exposure, offset
            As in `fit`.
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov were both asked for; ask for one of them.")
        refuse_counts(trials, exposure, "gaussian")
        rows, shift = self._new_rows(X, offset)
        if return_cov:
            mean = self._moments(rows, variance=False).mean + shift
            covariance = self._model.mixture.covariance(rows)
            if include_noise:
                covariance[np.diag_indices_from(covariance)] += self._mean_noise()
            return mean, covariance
        moments = self._moments(rows, variance=return_std, noise=include_noise)
        if return_std:
            return moments.mean + shift, np.sqrt(moments.variance)
        return moments.mean + shift

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> FloatArray:
        """Central interval of probability `level`, (n, 2): of the surface, or of a new observation."""
        if not 0 < level < 1:
            raise InputError(f"level={level!r}; needed is a probability between 0 and 1, e.g. 0.95.")
        tail = (1 - level) / 2
        return self.predict_quantiles(
            X, [tail, 1 - tail], include_noise=include_noise, trials=trials, exposure=exposure, offset=offset
        )

    def predict_quantiles(
        self,
        X: Any,
        q: Any,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> FloatArray:
        """Quantiles at probabilities `q`: (n,) for a number, (n, len(q)) for a sequence."""
        refuse_counts(trials, exposure, "gaussian")
        levels = as_finite(q, "q")
        if np.any((levels <= 0) | (levels >= 1)) or levels.ndim > 1:
            raise InputError(f"q={q!r}; needed are probabilities strictly between 0 and 1.")
        rows, shift = self._new_rows(X, offset)
        moments = self._moments(rows, noise=include_noise)
        if levels.ndim == 0:
            return moments.quantile(float(levels)) + shift
        return np.column_stack([moments.quantile(float(p)) + shift for p in levels])

    def predict_exceedance(
        self,
        X: Any,
        threshold: float,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> FloatArray:
        """Probability (n,) that the surface, or a new observation, lies above `threshold`."""
        refuse_counts(trials, exposure, "gaussian")
        rows, shift = self._new_rows(X, offset)
        limit = as_rows(threshold, len(rows), "threshold")
        assert limit is not None
        return 1 - self._moments(rows, noise=include_noise).cdf(limit - shift)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> FloatArray:
        """Joint draws (n, n_samples) of the surface, or of new observations."""
        refuse_counts(trials, exposure, "gaussian")
        rows, shift = self._new_rows(X, offset)
        if not is_count(n_samples):
            raise InputError(f"n_samples={n_samples!r}; needed is an integer >= 1.")
        rng = generator(seed_of(random_state), "draws")
        noise = np.zeros(len(rows)) if include_noise else None
        return (self._model.mixture.draw(rows, int(n_samples), rng, noise=noise) + shift).T

    def _new_rows(self, X: Any, offset: Any) -> tuple[Rows, FloatArray]:
        check_is_fitted(self)
        part = used_part(X, self.coords, self.covariates)
        table = validate_data(self, part, dtype=np.float64, reset=False)
        shift = as_rows(offset, len(table), "offset", 0.0)
        assert shift is not None
        rows = self._rows(self._columns.coords_of(table), self._columns.covariates_of(table))
        self._tell_outside(rows)
        return rows, shift + self._trend.level

    def _tell_outside(self, rows: Rows) -> None:
        """Warn of places that the waves of a lattice do not cover."""
        posterior = self._model.posterior
        covers = posterior if isinstance(posterior, OperatorPosterior) else getattr(posterior, "features", None)
        outside = int(covers.outside(rows.coords).sum()) if isinstance(covers, FourierMap | OperatorPosterior) else 0
        if outside:
            warnings.warn(
                f"{outside:,} of {len(rows):,} places lie outside the box that the waves cover (the data's, and some "
                f"room around): they get the trend and the prior sd. Pass them to fit as predict_at to cover them.",
                FallbackWarning,
                stacklevel=4,
            )

    def _moments(self, rows: Rows, *, variance: bool = True, noise: bool = False) -> Moments:
        mixture = self._model.mixture
        size = max(16, BLOCK_BYTES // (8 * max(1, mixture.components[0].n_stored)))
        parts = []
        for i in rows.chunks(size):
            block = rows[i]
            extra = np.zeros(len(block)) if noise else None
            parts.append(mixture.moments(block, variance=variance, noise=extra))
        means = np.concatenate([p.means for p in parts], axis=1)
        return Moments(means, np.concatenate([p.variances for p in parts], axis=1), mixture.mass)

    def _mean_noise(self) -> float:
        mixture = self._model.mixture
        return float(mixture.mass @ mixture.noise_variance)

    # ------------------------------------------------------------- validate and explain

    def cross_validate(self, cv: Any = None, scoring: Any = None, *, groups: Any = None) -> CrossValidation:
        """Scores on held-out rows without refitting; hyperparameters are held.

        Parameters
        ----------
        cv : splitter, int or None
            None: leave one out. An integer: that many folds of blocks. Any scikit-learn splitter.
        scoring : str or list of str, optional
            Names out of ``bochner.validation.SCORES``; default all.
        groups : array, optional
            Passed to the splitter.

        Returns
        -------
        CrossValidation
            Mapping of score names to values; its `prediction`, `index` and `fold` hold the rows.
        """
        check_is_fitted(self)
        if not hasattr(self, "_observations"):
            raise InputError(
                "cross_validate needs the training rows, which a loaded model does not hold; fit it again."
            )
        obs = self._observations
        folds = None
        if cv is not None:
            coords = obs.rows.coords + self._centre
            folds = make_folds(cv, coords, obs.y + self._shift, None, seed_of(self.random_state), groups)
        with threads_for(len(obs), self.n_jobs):
            held = leave_out(self._model, obs, folds)
        return summarise(held, self._model, obs, self._shift, scoring)

    def summary(self) -> str:
        """What was fitted, in words and numbers."""
        check_is_fitted(self)
        return report.summary(self, self._model, self._trend)

    def check(self) -> list[str]:
        """What looks wrong with the fit; each finding is also raised as a `CheckWarning`."""
        check_is_fitted(self)
        findings = report.findings(self._model, self._spare_sd, float(self.tolerance))
        for finding in findings:
            warnings.warn(finding, CheckWarning, stacklevel=2)
        return findings

    def estimate(self, X: Any) -> report.Estimate:
        """Memory and time that predicting at `X` with sd will take, before the work."""
        rows, _ = self._new_rows(X, None)
        return report.estimate(self._model, rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `bochner.load` reads it.

        It holds no training rows unless the features need them: the exact kernel (their places), conjugate gradients
        on many rows (places and responses), Nystroem (landmarks).
        """
        check_is_fitted(self)
        storage.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        return tags


def refuse_counts(trials: Any, exposure: Any, family: str) -> None:
    """Refuse trials and exposure for a family without them."""
    for name, value in (("trials", trials), ("exposure", exposure)):
        if value is not None:
            raise PartError(f"{name} was given but family={family!r} has none; leave it out, or choose another family.")


def _non_negative(values: Any, n: int, name: str, default: float) -> FloatArray:
    array = as_rows(values, n, name, default)
    assert array is not None
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise InputError(f"{name} is {array[row]:g} at row {row}; needed are numbers >= 0.")
    return array


__all__ = ["Model", "Prediction", "SpatialRegressor"]
