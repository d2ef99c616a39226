"""SpatialRegressor: scikit-learn's contract over the whole of the library."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bochner.arrays import FloatArray, IntArray, as_finite, as_rows, unmasked
from bochner.choices import Choice
from bochner.estimators import storage
from bochner.estimators.constructor import KernelParameters, resources_of
from bochner.estimators.crossvalidation import CrossValidation, each_group, make_folds, summarise
from bochner.estimators.distribution import Distribution
from bochner.estimators.door import checked_rows
from bochner.estimators.doubtful_intervals import doubtful_intervals, too_few_counts
from bochner.estimators.fitted import Estimate, Fitted
from bochner.estimators.hidden_fields import hidden_field
from bochner.estimators.increments import add_rows, has_sums
from bochner.estimators.mapped import Mapped
from bochner.estimators.rougher_fields import rougher_field
from bochner.estimators.same_kind import SameKind
from bochner.estimators.source_folds import cross_validate_source
from bochner.estimators.streaming import Work, fit_source
from bochner.estimators.summary import findings, summary
from bochner.estimators.table_fit import TableFit, fit_table
from bochner.exceptions import CheckWarning, InputError, heard, warn
from bochner.families import family_named
from bochner.features import Rows
from bochner.geo.stacks import is_cube, is_lazy
from bochner.inference import Chain, Responses, leave_out, sample
from bochner.layout import Given
from bochner.layout.answers import Pixels
from bochner.layout.columns import encodable, plain_selectors
from bochner.layout.images import unstacked
from bochner.layout.sizes import checked_size
from bochner.random import generator, seed_of
from bochner.sources import is_source


class SpatialRegressor(KernelParameters, SameKind, Mapped, RegressorMixin, BaseEstimator):
    """Spatial regression with calibrated uncertainty.

    A Gaussian field on the coordinates plus a linear trend on covariates. By default everything is
    learned and chosen: length scales, variance, noise, smoothness, features and solver; what was
    chosen, and why, is in `choices_` and printed by `summary`.

    Parameters
    ----------
    kernel : Kernel or str, default None
        None: smoothness and per-axis scales are chosen by the evidence; for many rows also rotated scales and a sum of
        a short, a middle and a long field, by predictions of held-out rows. A kernel, e.g. ``Matern(nu=0.5)``: only its
        values are learned; a scalar `length_scale` is isotropic, a tuple is one per axis. Lengths are in the unit of
        the coordinates, in km where these have a CRS. Names as in the command line, e.g. ``"matern32"``.
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
        Which columns are coordinates (default: all that are not covariates) and which are effects beside the field:
        linear ones, or natural splines where the data show that an effect bends (``choices_["curves"]`` tells; the
        terms of a formula are taken as they are written).
        Of a data frame whose coordinates are not named, columns called lon and lat, x and y, time and the like are
        coordinates, and one that is neither coordinate nor covariate is refused. Text and categories among the
        covariates become indicators; dates become days.
    crs : str, default None
        CRS of coordinates that come without one, as arrays do: ``"EPSG:4326"`` makes them longitude and latitude.
        Places that have a CRS are brought to km.
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
        Where large sums, factors and transforms run: ``"cpu"``, ``"cuda"`` (needs PyTorch, ``bochner[gpu]``), or
        ``"auto"``: a CUDA device where there is one and the work is worth the way there.
    memory_limit : int or str, default None
        Bytes that a fit or a prediction may use beyond what the process holds, e.g. ``"2GB"``.
    n_jobs : int, default None
        Threads that may compute; None: one per core.
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
    choices_ : dict of str to Choice
        What was chosen, and why: each is a text with `value`, `reason` and `given`.
    fitted_ : Fitted
        All of it as one frozen value: what `save` writes.
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

    @classmethod
    def from_formula(cls, formula: str, **parameters: Any) -> Any:
        """Estimator whose columns a formula names; `fit` and `predict` then take whole tables.

        ``SpatialRegressor.from_formula("positive ~ elevation + gp(lon, lat)", family="binomial", trials="examined")``.
        Parameters are those of `SpatialRegressor`, and `trials`, `exposure` and `offset`, as names of columns.
        """
        return storage.class_named("FormulaRegressor")(formula, **parameters)

    # ---------------------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
        measurement_variance: Any = None,
        groups: Any = None,
        predict_at: Any = None,
        target: Any = None,
        store: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
        dask: Any = None,
    ) -> Self:
        """Learn the field and the trend.

        Parameters
        ----------
        X : array or data frame of shape (n, columns), or a source
            Coordinates and covariates. An xarray DataArray over lon and lat, or x and y, and perhaps time, is an image
            or a stack of them: its values are the response, its gaps are what is to be predicted. Of a Dataset `target`
            names the variable, and `covariates` are variables beside it. A source is read in parts, as often as it
            takes, in memory that does not grow with its rows: the path of a Parquet, CSV, NetCDF,
            Zarr or GeoTIFF file or of a folder, a Dask object or an xarray one that is backed by Dask, a memmap with
            `target`, a function that begins record batches (`bochner.sources`).
        y : array of shape (n,)
            Response; left out for a DataArray; of a source, `target` names its column.
        sample_weight : array of shape (n,), optional
            Copies that each row stands for; 0 is the same as leaving it out. Precisions are no copies: give known
            variances as `measurement_variance`. `fit` warns where all weights are equal, but not 1, or have fractions.
        trials, exposure : array of shape (n,), optional
            What counts are out of: trials of a binomial, exposure (time, population) of a Poisson or negative
            binomial; 1 where they are not given.
        offset : array of shape (n,), optional
            Known part of the linear predictor.
        measurement_variance : array of shape (n,), optional
            Known error variance of each row, added to the learned noise.
        groups : array of shape (n,), optional
            Stations, households: rows of one group are held out together wherever rows are held out, so that the model
            is for new groups. Without it, places with many rows are such groups where new places are wanted.
        predict_at : array or data frame, optional
            Where predictions will be wanted: shapes the blocks of ``tune="spatial-cv"``, and the held-out rows by which
            a kernel is chosen for many rows; widens the box that the lattice covers.
        target : str or int, optional
            Variable of a Dataset, or column of a source, that is the response; `sample_weight`, `trials` and so on are
            names of columns then, too.
        store : path, optional
            Folder into which the rows of a source are sorted by place. With it, a field too rough for waves is answered
            by waves and by kriging of what they leave from the nearest rows, which are read from there tile by tile.
        checkpoint : path, optional
            Folder in which a fit of a source notes its progress after every part.
        resume : bool, default False
            Whether to go on from what `checkpoint` holds.
        dask : str or distributed.Client, optional
            Where the parts of a source are computed: ``"local"``, the address of a scheduler, or a client. A Dask
            object is computed by the client in use, if there is one.
        """
        known = {
            "sample_weight": sample_weight,
            "trials": trials,
            "exposure": exposure,
            "offset": offset,
            "measurement_variance": measurement_variance,
            "groups": groups,
        }
        # columns by name, a limit of memory and work in parts are for sources; any other image is taken as it is
        in_parts = (*known.values(), store, checkpoint, dask, self.memory_limit)
        if is_cube(X) and not is_lazy(X) and (target is None or all(one is None for one in in_parts)):
            linear = plain_selectors(None, self.covariates)[1] or ()
            X, y, predict_at = unstacked(X, y, predict_at, self.crs, target, linear)
        elif target is not None or is_source(X):
            return fit_source(self, X, y, target, known, predict_at, Work(store, checkpoint, resume, dask))
        for name, value in (("store", store), ("checkpoint", checkpoint), ("dask", dask)):
            if value is not None:
                raise InputError(f"{name} was given with a table in memory; it is for sources: files, Dask, batches.")
        given = Given(sample_weight, trials, exposure, offset, measurement_variance, groups)
        return self.learn_table(X, y, given, TableFit((self.coords, self.covariates), predict_at))

    def learn_table(self, X: Any, y: Any, given: Given, wanted: TableFit) -> Self:
        """Fit a table, and take the result as one's own; its rows may be a sample of those of the model."""
        with heard() as raised:
            fitted, training = fit_table(self, X, y, given, wanted)
        fitted = replace(fitted, findings=tuple(dict.fromkeys((*fitted.findings, *raised))))
        for name in ("_training", "_sample", "_source"):
            self.__dict__.pop(name, None)
        setattr(self, "_training" if wanted.solve is None else "_sample", training)
        self.set_fitted(fitted)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """State for pickle: the source that rows were read from stays behind."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_source"}

    def tell(self, choice: Choice) -> None:
        """Keep one decision more with the fit, e.g. which rows of a file were left out; files and reports tell it."""
        model = self.fitted_.model
        self.set_fitted(replace(self.fitted_, model=replace(model, choices=(*model.choices, choice))))

    @available_if(has_sums)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        measurement_variance: Any = None,
        offset: Any = None,
        predict_at: Any = None,
        target: Any = None,
    ) -> Self:
        """Add rows to a model of Gaussian responses: what it knows of all rows are sums, and sums add.

        The first call learns the kernel and lays out waves over the box of its rows and of `predict_at`, which should
        name the whole region; later calls keep them. After `fit`, its rows are the first. Parameters are those of
        `fit`.
        """
        known = {"sample_weight": sample_weight, "measurement_variance": measurement_variance, "offset": offset}
        with resources_of(self).in_use():
            return add_rows(self, X, y, target, known, predict_at)

    def set_fitted(self, fitted: Fitted) -> None:
        """Take a fitted value as one's own: that of a file, or one that carries its diagnostics."""
        model = fitted.model
        self.fitted_ = fitted
        self.crs_ = fitted.layout.crs
        self.kernel_ = model.kernel
        self.family_ = model.family
        self.noise_variance_ = model.noise_variance
        self.log_evidence_ = fitted.log_evidence
        self.log_likelihood_ = model.log_likelihood
        self.n_frequencies_ = model.n_frequencies
        self.choices_ = model.decided
        trend, _ = fitted.fixed_effects
        self.coef_ = np.r_[trend, model.posterior.feature_coef]
        self.intercept_ = float(trend[0]) if fitted.layout.trend.intercept else 0.0
        if model.posterior.row_coef is not None:
            self.dual_coef_ = model.posterior.row_coef

    # ------------------------------------------------------------------------ predict

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = ...,
        return_cov: Literal[False] = ...,
        *,
        include_noise: bool = ...,
        trials: Any = ...,
        exposure: Any = ...,
        offset: Any = ...,
    ) -> FloatArray: ...

    @overload
    def predict(
        self,
        X: Any,
        return_std: bool = ...,
        return_cov: bool = ...,
        *,
        include_noise: bool = ...,
        trials: Any = ...,
        exposure: Any = ...,
        offset: Any = ...,
    ) -> tuple[FloatArray, FloatArray]: ...

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
            Places, with the covariates of the fit. Of a GeoDataFrame the answer is one, too, with the columns mean and
            sd; of an xarray object, whose pixels are the places, it is a Dataset. Of a pandas or polars table it is
            arrays, as everywhere in scikit-learn, or such a table after ``set_output(predict="same")``.
        return_std, return_cov : bool
            Also return the standard deviations (n,) or the covariance matrix (n, n).
        include_noise : bool
            Make those of a new observation, not of the surface.
        trials, exposure, offset
            As in `fit`. Without trials or exposure the answer is a prevalence or rate, with them a count.
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov were both asked for; ask for one of them.")
        law = self.predict_distribution(X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset)
        with self._resources(law):
            if return_cov:
                return law.mean, law.covariance
            if not return_std:
                return self._same_kind(X, {"mean": law.mean})
            sd = law.sd  # first: the law then knows its mean, too
            return self._same_kind(X, {"mean": law.mean, "sd": sd})

    def predict_distribution(
        self,
        X: Any,
        *,
        include_noise: bool = False,
        trials: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> Distribution:
        """The predictive law itself: mean, sd, cdf, quantile, interval, exceedance, sample, log_density, crps."""
        rows = self._rows(X)
        n, family = len(rows), self.fitted_.model.family
        shift = as_rows(offset, n, "offset", 0.0)
        assert shift is not None
        return Distribution(self.fitted_, rows, shift, checked_size(family, n, trials, exposure), bool(include_noise))

    def predict_latent(self, X: Any, *, offset: Any = None) -> tuple[FloatArray, FloatArray]:
        """Mean and sd (n,) of the linear predictor: of the surface before the link."""
        law = self.predict_distribution(X, offset=offset)
        with self._resources(law):
            return law.law.eta.mean, law.law.eta.sd

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
        law = self.predict_distribution(X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset)
        with self._resources(law):
            interval = law.interval(level)
        return self._same_kind(X, {"lower": interval[:, 0], "upper": interval[:, 1]}, interval)

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
        law = self.predict_distribution(X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset)
        with self._resources(law):
            columns = {f"q{p:g}": law.quantile(float(p)) for p in np.atleast_1d(levels)}
        return self._same_kind(X, columns, np.column_stack(list(columns.values())) if levels.ndim else None)

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
        law = self.predict_distribution(X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset)
        limit = as_rows(threshold, len(law), "threshold")
        with self._resources(law):
            return self._same_kind(X, {"exceedance": law.exceedance(limit)})

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
        """Joint draws of the surface, or of new observations: (n, n_samples); of an xarray object along `draw`."""
        law = self.predict_distribution(X, include_noise=include_noise, trials=trials, exposure=exposure, offset=offset)
        with self._resources(law):
            drawn = law.sample(n_samples, random_state)
        return Pixels.of(X, self.fitted_.layout).dataset({"draws": drawn})["draws"] if is_cube(X) else drawn

    def sample_full(
        self, X: Any, n_samples: int = 1_000, random_state: Any = 0, *, offset: Any = None
    ) -> tuple[FloatArray, Chain]:
        """Draws (n, n_samples) of the surface from the full posterior by elliptical slices, and their chain.

        The check of Laplace's approximation, at the best hyperparameters, for up to 3,000 rows and places together. The
        chain holds the draws on the link scale, and how many independent ones they are worth.
        """
        law, model = self.predict_distribution(X, offset=offset), self.fitted_.model
        rng = generator(seed_of(random_state), "draws")
        with self._resources(law):
            chain = sample(model, self.training_responses(), law.rows, int(n_samples), rng)
        shift = law.offset + self.fitted_.layout.trend.level
        return model.family.mean(chain.draws + shift).T, chain

    def _rows(self, X: Any) -> Rows:
        """Rows of a table of the user's, checked."""
        check_is_fitted(self)
        layout = self.fitted_.layout
        X = Pixels.of(X, layout).table if is_cube(X) else encodable(unmasked(X))
        table = checked_rows(self, layout.frame(X), layout.encoding)
        return self.fitted_.check_rows(layout.rows(table, layout.support(X)))

    def _resources(self, law: Distribution) -> AbstractContextManager[None]:
        return resources_of(self).in_use(len(law))

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

        law = self.predict_distribution(X, trials=trials, exposure=exposure, offset=offset)
        with self._resources(law):
            return float(r2_score(y, law.mean, sample_weight=sample_weight))

    def cross_validate(self, cv: Any = None, scoring: Any = None, *, groups: Any = None) -> CrossValidation:
        """Scores on held-out rows without refitting; hyperparameters are held.

        One by one, a row that alone tells an effect of the trend (the only one of its class) is not scored: the others
        say nothing of it. Of rows that were read in parts, blocks are held out of the sums of all rows in one more pass
        over the source (on the workers of the fit), and the rows of the sample in them are scored.

        Parameters
        ----------
        cv : splitter, int or None
            None: leave one out; one group, if the fit was given groups. An integer: that many folds of blocks; of rows
            with a time, of space at all times. Any scikit-learn splitter; of rows that were read in parts,
            `BlockKFold`.
        scoring : str or list of str, optional
            Names out of ``bochner.validation.SCORES``; default: all that apply (``"brier"`` to presence and to
            positives out of trials). CRPS and log score are those of the family's law.
        groups : array, optional
            Rows that are held out together; passed to a splitter. Default: those of the fit.

        Returns
        -------
        CrossValidation
            Mapping of score names to values; its `prediction`, `index` and `fold` hold the rows, its methods
            `pit_histogram`, `coverage_table` and `reliability` are tables of calibration.
        """
        if hasattr(self, "_source") and not self.has_training:
            with resources_of(self).in_use():
                return cross_validate_source(self, self._source, cv, scoring, groups)
        responses, layout = self.training_responses(), self.fitted_.layout
        codes = self.training_groups() if groups is None else Given(groups=groups).codes(len(responses))
        if cv is None:
            folds = None if codes is None else each_group(codes)
        else:
            coords = responses.rows.coords + layout.centre
            folds = make_folds(cv, coords, responses.y, None, seed_of(self.random_state), codes, layout)
        with resources_of(self).in_use(len(responses)):
            held = leave_out(self.fitted_.model, responses, folds)
            return summarise(held, self.fitted_.model, responses, scoring)

    @property
    def has_training(self) -> bool:
        """Whether the training rows are at hand: not of a model that was loaded."""
        return hasattr(self, "_training")

    @property
    def has_sample(self) -> bool:
        """Whether a sample of the training rows is at hand, of a model of rows that were read in parts."""
        return hasattr(self, "_sample")

    def sample_responses(self) -> Responses:
        """That sample as the model sees it."""
        return self._sample.responses(self.fitted_.layout, self.fitted_.model.family)

    def training_responses(self) -> Responses:
        """Training rows as the model sees them; refused for a model that was loaded, which does not hold them."""
        check_is_fitted(self)
        if not self.has_training:
            raise InputError(
                "this needs the training rows, which a model that was loaded, merged or read in parts does not"
                " hold; fit it again in this session."
            )
        return self._training.responses(self.fitted_.layout, self.fitted_.model.family)

    def training_groups(self) -> IntArray | None:
        """Number of the group of each training row, (n,), if the fit was given groups."""
        check_is_fitted(self)
        return self._training.given.codes(len(self._training.y)) if self.has_training else None

    def summary(self) -> str:
        """What was fitted, in words and numbers."""
        check_is_fitted(self)
        return summary(self.fitted_)

    def check(self) -> list[str]:
        """All warnings of the model: those of `fit` and what looks wrong; each is also raised as a `CheckWarning`.

        Some checks need the training rows. A model that is saved makes them first, and its file holds what they found.
        """
        check_is_fitted(self)
        fitted = self.judged()
        found = list(dict.fromkeys((*findings(fitted, float(self.tolerance)), *(fitted.doubts or ()))))
        for finding in found:
            warn(finding, CheckWarning)
        return found

    def judged(self) -> Fitted:
        """The fitted value with what its training rows say against it, if they are at hand; computed once."""
        fitted = self.fitted_
        if fitted.doubts is None and self.has_training:
            with resources_of(self).in_use():
                model, responses = fitted.model, self.training_responses()
                narrow = doubtful_intervals(model, responses, self.training_groups(), fitted.layout)
                few = too_few_counts(model, responses) or hidden_field(model, responses)
                few = few or rougher_field(model, responses)
            self.fitted_ = replace(fitted, doubts=tuple(doubt for doubt in (narrow, few) if doubt is not None))
        return self.fitted_

    def estimate(self, X: Any) -> Estimate:
        """Memory and time that predicting at `X` with sd will take, before the work."""
        with resources_of(self).in_use():
            return self.fitted_.estimate(self._rows(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `bochner.load` reads it.

        It holds no training rows unless the features need them: the exact kernel (their places), conjugate gradients
        on many rows (places and responses), Nystroem (landmarks). `bochner.diagnostics.remember(model)` before it lets
        the file carry what `bochner map` and `bochner report` need of them: their region and summaries.
        """
        check_is_fitted(self)
        storage.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        tags.target_tags.positive_only = family_named(self.family).positive_only
        return tags


storage.register(SpatialRegressor)
