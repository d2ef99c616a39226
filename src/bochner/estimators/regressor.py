"""SpatialRegressor: scikit-learn's contract over the whole of the library."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bochner.arrays import FloatArray, as_finite, as_rows
from bochner.estimators import report, storage
from bochner.estimators.crossvalidation import CrossValidation, make_folds, summarise
from bochner.estimators.geography import framed
from bochner.estimators.mapped import Mapped
from bochner.estimators.parameters import KernelParameters
from bochner.estimators.predicting import Predicting
from bochner.estimators.settings import is_count
from bochner.exceptions import CheckWarning, InputError
from bochner.geo import is_geoframe
from bochner.inference import Chain, leave_out, sample
from bochner.random import generator, seed_of
from bochner.threads import threads_for


class SpatialRegressor(KernelParameters, Mapped, Predicting, RegressorMixin, BaseEstimator):
    """Spatial regression with calibrated uncertainty.

    A Gaussian field on the coordinates plus a linear trend on covariates. By default everything is
    learned and chosen: length scales, variance, noise, smoothness, features and solver; what was
    chosen, and why, is in `choices_` and printed by `summary`.

    Parameters
    ----------
    kernel : Kernel, default None
        None: smoothness and per-axis scales are chosen by the evidence; for many rows also rotated scales and a sum of
        a short, a middle and a long field, by predictions of held-out rows. A kernel, e.g. ``Matern(nu=0.5)``: only its
        values are learned; a scalar `length_scale` is isotropic, a tuple is one per axis.
    family : str or Family, default "gaussian"
        Law of the response: ``"gaussian"``, ``"bernoulli"``, ``"binomial"`` (out of `trials`), ``"poisson"``,
        ``"negative-binomial"`` (by `exposure`), ``"gamma"``; or a family with its parameters, e.g.
        ``Binomial(link="probit")``. All but the Gaussian are fitted by Laplace's approximation.
    features : str, default "auto"
        ``"auto"``, ``"exact"``, ``"lattice"``, ``"monte-carlo"``, ``"quasi"``, ``"orthogonal"``, ``"structured"``,
        ``"nystroem"``; or those that look at the data first: ``"leverage"``, ``"learned"``, ``"nonstationary"``.
    n_frequencies : int or "auto"
        Number m of waves (landmarks for Nystroem); ``"auto"`` takes the fewest that meet `tolerance`.
    coords, covariates : names or positions of columns
        Which columns are coordinates (default: all that are not covariates) and which enter linearly.
    fit_intercept : bool, default True
        Whether the trend has an intercept.
    noise_variance : float, default None
        None: learned. A number: fixed, while tuning too. 0 with ``tune=None`` on Fourier or Nystroem
        features is ordinary least squares; `noise_variance_` is then the residual variance. Under other families it is
        the variance of an effect of each row on the link; None is 0 where nothing tells of it (one trial a row, or
        a family with a dispersion).
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
    family_ : Family
        Family with its dispersion, learned where it has one.
    noise_variance_ : float
        Variance of the noise; of the effect of single rows, on the link, under other families than the Gaussian.
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

    @classmethod
    def from_formula(cls, formula: str, **parameters: Any) -> Any:
        """Estimator whose columns a formula names; `fit` and `predict` then take whole tables.

        ``SpatialRegressor.from_formula("positive ~ elevation + gp(lon, lat)", family="binomial", trials="examined")``.
        Parameters are those of `SpatialRegressor`, and `trials`, `exposure` and `offset`, as names of columns.
        """
        from bochner.estimators.formula_regressor import FormulaRegressor

        return FormulaRegressor(formula, **parameters)

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
            What counts are out of: trials of a binomial, exposure (time, population) of a Poisson or negative
            binomial; 1 where they are not given.
        offset : array of shape (n,), optional
            Known part of the linear predictor.
        measurement_variance : array of shape (n,), optional
            Known error variance of each row, added to the learned noise.
        predict_at : array or data frame, optional
            Where predictions will be wanted: shapes the blocks of ``tune="spatial-cv"``, and the held-out rows by which
            a kernel is chosen for many rows; widens the box that the lattice covers.
        """
        self._learn(X, y, sample_weight, trials, exposure, offset, measurement_variance, predict_at)
        return self

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
            As in `fit`. Without trials or exposure the answer is a prevalence or rate, with them a count.
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov were both asked for; ask for one of them.")
        rows, shift, size = self._new_rows(X, offset, trials, exposure)
        if return_cov:
            return self._joint(rows, shift, size, include_noise)
        spread = return_std or self._model.family.link != "identity"
        law = self._law(rows, shift, size, include_noise, variance=spread)
        return framed(X, mean=law.mean, sd=law.sd) if return_std else framed(X, mean=law.mean)

    def predict_latent(self, X: Any, *, offset: Any = None) -> tuple[FloatArray, FloatArray]:
        """Mean and sd (n,) of the linear predictor: of the surface before the link."""
        rows, shift, _ = self._new_rows(X, offset)
        moments = self._moments(rows)
        return moments.mean + shift, np.sqrt(moments.variance)

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
        law = self._law(*self._new_rows(X, offset, trials, exposure), include_noise)
        lower, upper = law.quantile(tail), law.quantile(1 - tail)
        return framed(X, lower=lower, upper=upper) if is_geoframe(X) else np.column_stack([lower, upper])

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
        levels = as_finite(q, "q")
        if np.any((levels <= 0) | (levels >= 1)) or levels.ndim > 1:
            raise InputError(f"q={q!r}; needed are probabilities strictly between 0 and 1.")
        law = self._law(*self._new_rows(X, offset, trials, exposure), include_noise)
        columns = {f"q{p:g}": law.quantile(float(p)) for p in np.atleast_1d(levels)}
        if is_geoframe(X) or levels.ndim == 0:
            return framed(X, **columns)
        return np.column_stack(list(columns.values()))

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
        rows, shift, size = self._new_rows(X, offset, trials, exposure)
        limit = as_rows(threshold, len(rows), "threshold")
        assert limit is not None
        return framed(X, exceedance=self._law(rows, shift, size, include_noise).exceedance(limit))

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
        rows, shift, size = self._new_rows(X, offset, trials, exposure)
        if not is_count(n_samples):
            raise InputError(f"n_samples={n_samples!r}; needed is an integer >= 1.")
        rng = generator(seed_of(random_state), "draws")
        return self._draws(rows, shift, size, int(n_samples), rng, include_noise).T

    def sample_full(
        self, X: Any, n_samples: int = 1_000, random_state: Any = 0, *, offset: Any = None
    ) -> tuple[FloatArray, Chain]:
        """Draws (n, n_samples) of the surface from the full posterior by elliptical slices, and their chain.

        The check of Laplace's approximation, at the best hyperparameters, for up to 3,000 rows and places together. The
        chain holds the draws on the link scale, and how many independent ones they are worth.
        """
        rows, shift, _ = self._new_rows(X, offset)
        if not hasattr(self, "_responses"):
            raise InputError("sample_full needs the training rows, which a loaded model does not hold; fit it again.")
        chain = sample(self._model, self._responses, rows, int(n_samples), generator(seed_of(random_state), "draws"))
        return self._model.family.mean(chain.draws + shift).T, chain

    # ------------------------------------------------------------- validate and explain

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> float:
        """Share of the variance of `y` that the predicted means explain (R²); counts need their trials or exposure."""
        from sklearn.metrics import r2_score

        law = self._law(*self._new_rows(X, offset, trials, exposure), False)
        return float(r2_score(y, law.mean, sample_weight=sample_weight))

    def cross_validate(self, cv: Any = None, scoring: Any = None, *, groups: Any = None) -> CrossValidation:
        """Scores on held-out rows without refitting; hyperparameters are held.

        Parameters
        ----------
        cv : splitter, int or None
            None: leave one out. An integer: that many folds of blocks. Any scikit-learn splitter.
        scoring : str or list of str, optional
            Names out of ``bochner.validation.SCORES``, and ``"brier"`` for presence and positives out of trials;
            default all. CRPS and log score are those of the family's law.
        groups : array, optional
            Passed to the splitter.

        Returns
        -------
        CrossValidation
            Mapping of score names to values; its `prediction`, `index` and `fold` hold the rows, its methods
            `pit_histogram`, `coverage_table` and `reliability` are tables of calibration.
        """
        check_is_fitted(self)
        if not hasattr(self, "_responses"):
            raise InputError(
                "cross_validate needs the training rows, which a loaded model does not hold; fit it again."
            )
        responses = self._responses
        folds = None
        if cv is not None:
            coords = responses.rows.coords + self._centre
            folds = make_folds(cv, coords, responses.y, None, seed_of(self.random_state), groups)
        with threads_for(len(responses), self.n_jobs):
            held = leave_out(self._model, responses, folds)
        return summarise(held, self._model, responses, scoring)

    def summary(self) -> str:
        """What was fitted, in words and numbers."""
        check_is_fitted(self)
        return report.summary(self, self._model, self._trend)

    def check(self) -> list[str]:
        """What looks wrong with the fit; each finding is also raised as a `CheckWarning`."""
        check_is_fitted(self)
        findings = report.findings(self._model, self._spare_sd, float(self.tolerance), self._survey)
        for finding in findings:
            warnings.warn(finding, CheckWarning, stacklevel=2)
        return findings

    def estimate(self, X: Any) -> report.Estimate:
        """Memory and time that predicting at `X` with sd will take, before the work."""
        rows, _, _ = self._new_rows(X, None)
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
        tags.target_tags.positive_only = getattr(self.family, "name", self.family) == "gamma"
        return tags
