"""Increments: rows added to a model, and models added to each other, by the sums that they are made of.

The precision of the coefficients is that of the prior and the Gram of the rows; so a model of waves gives back the
moments of its rows, and needs no rows to take in more. What a model file tells of single rows is what these sums tell:
see the guide on scale.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import blas

from bochner.arrays import unmasked
from bochner.choices import Choice
from bochner.estimators.constructor import resources_of
from bochner.estimators.door import checked_rows
from bochner.estimators.fitted import Fitted
from bochner.estimators.streaming import SketchWork, Streamed, laid_out, requested, told_of
from bochner.estimators.table_fit import TableFit
from bochner.exceptions import InputError, PartError
from bochner.families import family_named
from bochner.inference import Model, RowSums, WavePlan, plan_waves, solve
from bochner.layout import Given, Training
from bochner.layout.columns import encodable, named_columns, roles_of
from bochner.moments import DenseMoments
from bochner.posterior import CoefficientPosterior, Mixture
from bochner.solvers import CholeskyFactor
from bochner.sources import Local, Reading, is_source, limits

logger = logging.getLogger("bochner")


def add_rows(estimator: Any, X: Any, y: Any, target: Any, known: Mapping[str, Any], predict_at: Any) -> Any:
    """Rows added to an estimator; the first ones found it. See `SpatialRegressor.partial_fit`."""
    if hasattr(estimator, "fitted_") and not _adds(estimator.fitted_.model):
        _begin_again(estimator, predict_at)
    if hasattr(estimator, "fitted_") or hasattr(estimator, "pattern_"):
        new = _sums_of_source if target is not None or is_source(X) else _sums_of_table
        _take(estimator, new(estimator, X, y, target, known))
        return estimator
    if target is not None or is_source(X):
        request = requested(estimator, X, y, target, known)
        work = SketchWork(request.wanted, 1.0, limits.HELD_ROWS)
        sample = Local().total(request.source, request.wanted.names, work)
        training = request.training(sample.columns)
        every = Streamed(request, sample, Local())
        wanted = TableFit(request.asked, predict_at, solve=every, crs=request.crs, row_name=None)
        return estimator.learn_table(training.X, training.y, training.given, wanted)
    X, y = encodable(unmasked(X)), unmasked(y)
    given = Given(**known)
    asked = named_columns(X, estimator.coords, estimator.covariates, set(roles_of(y, given).values()))
    return estimator.learn_table(X, y, given, TableFit(asked, predict_at, solve=_of_all))


def has_sums(estimator: Any) -> bool:
    """Whether rows can be added to an estimator; an error says why not, and the method is not there."""
    if not family_named(estimator.family).observes_eta:
        raise PartError(
            f"partial_fit with family={estimator.family!r}: its sums depend on the fit of all rows and do not add. "
            f"Use fit with a source, which passes over all rows at each step."
        )
    return True


def _begin_again(estimator: Any, predict_at: Any) -> None:
    """The rows that a model was fitted to, as sums: so that others can be added."""
    training = vars(estimator).get("_training")
    if training is None:
        moments_of_model(estimator.fitted_.model)  # says what is needed
    given: Given = training.given
    del estimator.fitted_
    known = {name: getattr(given, name) for name in ("sample_weight", "measurement_variance", "offset")}
    add_rows(estimator, training.X, training.y, None, known, predict_at)


def merge(first: Any, *others: Any) -> Any:
    """One model of the rows of several, from their sums alone.

    The models must have the same waves, kernel and columns: fit the first, let the others begin from it
    (``bochner.like(first).partial_fit(...)``), at other places and times; no rows are exchanged.

    Parameters
    ----------
    first, *others : SpatialRegressor
        Fitted to Gaussian responses on waves (not with the exact kernel).

    Returns
    -------
    SpatialRegressor
        As if all their rows had been fitted together.
    """
    from sklearn.base import clone

    if not others and isinstance(first, (list, tuple)) and first:
        first, *others = first  # type: ignore[assignment]
    if not others:
        raise InputError("merge was given one model; give at least two: merge(a, b).")
    with resources_of(first).in_use():
        total = moments_of_model(first.fitted_.model)
        for other in others:
            _check_alike(first.fitted_, other.fitted_)
            total = total + moments_of_model(other.fitted_.model)
        fitted = _with_moments(first.fitted_, total)
    result = clone(first)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(result, name, getattr(first, name))
    result.set_fitted(fitted)
    return result


def like(model: Any) -> Any:
    """An estimator with the waves, the kernel and the columns of a fitted one, and none of its rows.

    `partial_fit` then gives it rows of its own; `merge` adds models that are alike.
    """
    from sklearn.base import clone

    blank = clone(model)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(blank, name, getattr(model, name))
    _check_sums(model.fitted_.model)
    blank.pattern_ = model.fitted_
    return blank


def _adds(model: Model) -> bool:
    """Whether the rows of a model are sums."""
    try:
        _check_sums(model)
    except PartError:
        return False
    return True


def moments_of_model(model: Model) -> DenseMoments:
    """Moments of the rows of a model of waves, out of its posterior; sums of weights are not told apart."""
    posterior, factor = _check_sums(model)
    coef, p = posterior.coef, posterior.features.n_columns
    gram = blas.dtrmm(1.0, factor.root, factor.root.T, lower=1) / factor.scale / factor.scale[:, None]
    projection = gram @ coef
    gram[np.arange(p), np.arange(p)] -= 1.0
    # -2 log evidence = energy - sum of log weights + (n - q) log 2 pi - projection' coef + logdet: all that is of the
    # rows alone is one number, which adds
    constant = _n_trend(posterior) * float(np.log(2 * np.pi))
    energy = -2 * model.log_evidence - factor.logdet() + float(projection @ coef) + constant
    return DenseMoments(np.asfortranarray(gram), projection, energy, 0.0, 0.0, 0)


def _check_sums(model: Model) -> tuple[CoefficientPosterior, CholeskyFactor]:
    """Posterior and factor of a model whose rows are sums; an error says why those of others are none."""
    posterior = model.posterior
    if not isinstance(posterior, CoefficientPosterior) or not isinstance(posterior.factor, CholeskyFactor):
        raise PartError(
            f"the model was fitted as {model.scheme!r}, whose rows are no sums; fit with partial_fit, or with "
            f"features='lattice' and n_frequencies, then models add."
        )
    if not model.family.observes_eta or len(model.mixture.mass) > 1:
        raise PartError(
            "the sums of this model depend on its own fit (another family than the Gaussian, or averaged "
            "hyperparameters); fit with partial_fit, then models add."
        )
    return posterior, posterior.factor


def _with_moments(fitted: Fitted, moments: DenseMoments) -> Fitted:
    """The fitted value with other sums."""
    model = fitted.model
    posterior = model.posterior
    assert isinstance(posterior, CoefficientPosterior)
    plan = WavePlan.of(model, posterior.features)
    solved = plan.engine.fit_moments(moments, _n_trend(posterior))
    factor, coef = solved.posterior.factor, solved.posterior.coef
    constant = _n_trend(posterior) * float(np.log(2 * np.pi))
    evidence = -0.5 * (moments.energy - constant - float(moments.projection @ coef) + factor.logdet())
    likelihood = evidence + 0.5 * (factor.trend_logdet() - constant)
    added = Choice("rows", None, text="sums of rows, added one after the other; the kernel is that of the first ones")
    changed = replace(
        model,
        mixture=Mixture([solved.posterior], np.ones(1), np.array([model.noise_variance])),
        log_evidence=evidence,
        log_likelihood=likelihood,
        choices=(*(c for c in model.choices if c.name != "rows"), added),
        _fits=(solved,),
    )
    return replace(fitted, model=changed, diagnostics=None, doubts=None)


def _take(estimator: Any, sums: RowSums) -> None:
    fitted = _founded(estimator)
    posterior = fitted.model.posterior
    plan = WavePlan.of(fitted.model, posterior.features)  # type: ignore[attr-defined]
    alone = plan.dense(sums)
    constant = alone.n_rows * float(np.log(2 * np.pi)) - alone.log_weight - 2 * alone.copies
    new = DenseMoments(alone.gram, alone.projection, alone.energy + constant, 0.0, 0.0, 0)
    estimator.__dict__.pop("_training", None)
    begun = hasattr(estimator, "fitted_")
    estimator.set_fitted(_with_moments(fitted, moments_of_model(fitted.model) + new if begun else new))


def _founded(estimator: Any) -> Fitted:
    """What gives an estimator its waves: its own rows so far, or another model."""
    fitted: Fitted = getattr(estimator, "fitted_", None) or estimator.pattern_
    return fitted


def _sums_of_table(estimator: Any, X: Any, y: Any, target: Any, known: Mapping[str, Any]) -> RowSums:
    fitted = _founded(estimator)
    X, y = encodable(unmasked(X)), unmasked(y)
    part = fitted.layout.frame(X)
    checked_rows(estimator, part, fitted.layout.encoding)
    values = np.asarray(y, dtype=np.float64).ravel()
    if len(values) != len(part) or not np.isfinite(values).all():
        raise InputError(f"y has {len(values):,} values, {np.isfinite(values).sum():,} finite; needed is one per row.")
    responses = Training(X, y, Given(**known)).responses(fitted.layout, fitted.model.family, whole=False)
    return WavePlan.of(fitted.model, fitted.model.posterior.features).sums(responses)  # type: ignore[attr-defined]


def _sums_of_source(estimator: Any, X: Any, y: Any, target: Any, known: Mapping[str, Any]) -> RowSums:
    fitted = _founded(estimator)
    request = requested(estimator, X, y, target, known)
    plan = WavePlan.of(fitted.model, fitted.model.posterior.features)  # type: ignore[attr-defined]

    def work(reading: Reading) -> RowSums:
        usable = request.wanted.usable(reading)
        if usable.n_amiss:
            logger.warning("%d rows are left out as invalid: %s", usable.n_amiss, "; ".join(usable.amiss))
        with told_of(reading, usable.rows):
            return plan.sums(laid_out(request, fitted.layout, fitted.model.family, usable.columns))

    found: RowSums = Local().total(request.source, request.wanted.names, work)
    return found


def _of_all(layout: Any, settings: Any, responses: Any, folds: Any, domain: Any) -> Model:
    """A `Solve` of rows that are all at hand, on waves."""
    plan = plan_waves(settings, responses, len(responses), folds, domain)
    return solve(plan, lambda plan, coef: plan.sums(responses, coef))


def _check_alike(first: Fitted, other: Fitted) -> None:
    """Refuse models whose sums do not add."""
    moments_of_model(other.model)
    a, b = first.model, other.model
    differ = {
        "kernels": a.kernel != b.kernel,
        "noise variances": a.noise_variance != b.noise_variance,
        "columns": first.layout.columns != other.layout.columns,
        "centres": not np.array_equal(first.layout.centre, other.layout.centre),
        "waves": not _same_waves(a.posterior, b.posterior),
        "trends": _trend_of(first) != _trend_of(other),
    }
    apart = [name for name, yes in differ.items() if yes]
    if apart:
        raise PartError(
            f"the models have different {apart[0]}, so their sums do not add; let the second begin from the first: "
            f"bochner.like(first).partial_fit(...), or bochner fit --like FIRST."
        )


def _same_waves(a: Any, b: Any) -> bool:
    if a.waves is None or b.waves is None:
        return a.features is b.features
    return np.array_equal(a.waves.omega, b.waves.omega) and np.array_equal(a.waves.mass, b.waves.mass)


def _trend_of(fitted: Fitted) -> tuple[Any, ...]:
    t = fitted.layout.trend
    return (t.names, t.intercept, t.centre.tolist(), t.scale.tolist(), t.basis.tolist(), t.level)


def _n_trend(posterior: Any) -> int:
    return len(posterior.trend_coef)
