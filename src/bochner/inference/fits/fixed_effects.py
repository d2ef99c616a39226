"""Fixed effects without a field: a generalised linear model of all rows, and a weak prior where covariates separate.

Whether an effect has a finite estimate does not depend on the field: if along some direction of the trend no row's
likelihood falls, it falls for no field. Rare presence is often so: a level of a factor, or a 0/1 covariate, without a
single case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.exceptions import ConvergenceError
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import crowding

MAX_NEWTON_STEPS = 60  # after which there is no mode
SMALLEST_NEWTON_STEP = 2.0**-20  # share of a full step, by halving
LEAST_INFORMATION = 1e-6  # about a coefficient, relative to that of rows taken one by one: less is separation


@dataclass(frozen=True)
class FixedEffects:
    """Trend of a model without field.

    Attributes
    ----------
    coef : (q,)
        Maximum of the likelihood, very weakly penalised.
    information : (q, q)
        Precision of it, the penalty and the prior included.
    separated : (k, q)
        Directions of the trend that the rows leave without end, if any.
    """

    coef: FloatArray
    information: FloatArray
    separated: FloatArray


def fixed_effects(responses: Responses) -> FixedEffects:
    """Newton's method with halved steps; O(n q^2) a step."""
    r = responses.with_dispersion()
    trend, q = r.rows.trend, r.rows.trend.shape[1]
    first = _information(r, r.start())
    prior = np.diag(1e-8 * np.diag(first) + 1e-300)  # so that there is a fit where covariates separate
    if r.trend_precision is not None:
        prior = prior + r.trend_precision
    level = float(r.family.link_of(np.atleast_1d(np.sum(r.weight * r.y) / np.sum(r.weight * r.size)))[0])
    level = level if np.isfinite(level) else float(np.median(r.start()))
    coef = np.asarray(np.linalg.lstsq(trend, np.full(len(r), level), rcond=None)[0]) if q else np.zeros(0)
    value = _penalised(r, coef, prior)
    for _ in range(MAX_NEWTON_STEPS):
        eta = r.offset + trend @ coef
        score = r.family.derivatives(r.y, eta, r.size).score
        step = np.linalg.lstsq(_information(r, eta) + prior, trend.T @ (r.weight * score) - prior @ coef, rcond=None)[0]
        share = 1.0
        while share > SMALLEST_NEWTON_STEP:
            there = _penalised(r, coef + share * step, prior)
            if there >= value - 1e-12 * abs(value):
                break
            share /= 2
        else:
            break
        gain, coef, value = there - value, coef + share * step, there
        if gain <= 1e-10 * (1 + abs(value)):
            break
    information = _information(r, r.offset + trend @ coef)
    return FixedEffects(coef, information + prior, _unknown(information, first))


def information_of(responses: Responses) -> tuple[float, float]:
    """Sum of the rows' curvatures at their fixed effects: what they tell of the field in all, and where they crowd.

    The second is what as many rows spread evenly would have to tell, to know as much of short waves.
    """
    r = responses.with_dispersion()
    eta = r.offset + r.rows.trend @ fixed_effects(r).coef
    each = r.weight * np.maximum(r.family.derivatives(r.y, eta, r.size).curvature, 0.0)
    total = float(each.sum())
    return total, total * crowding(r.rows.coords, each)


def held_where_separated(responses: Responses) -> tuple[Responses, tuple[Choice, ...]]:
    """Responses with a weak prior on the effects that have no finite estimate, and what to say of it.

    On the link it has an sd of 2.5, for two values or two sds of a covariate (Gelman, Jakulin, Pittau & Su 2008).
    """
    r = responses
    known = r.gaussian or r.family.reweighted or r.trend_precision is not None
    if known or not r.rows.trend.shape[1] or not r.family.link_function.smooth:
        return r, ()
    found = fixed_effects(r).separated
    columns = _involved(found, r.rows.trend)
    if not len(columns):
        return r, ()
    precision, sd = np.zeros(r.rows.trend.shape[1]), 2.5
    precision[columns] = (_unit(r.rows.trend[:, columns]) / sd) ** 2
    which = "one fixed effect has" if len(columns) == 1 else f"{len(columns)} fixed effects have"
    text = (
        f"{which} no finite estimate, because no case, or nothing but cases, goes with it: a prior of sd "
        f"{sd:g} on the link holds it"
    )
    told = Choice("fixed effects", tuple(int(j) for j in columns), text=text)
    return replace(r, trend_precision=np.diag(precision)), (told,)


def _information(r: Responses, eta: FloatArray) -> FloatArray:
    curvature = np.maximum(r.family.derivatives(r.y, eta, r.size).curvature, 0.0)
    return np.asarray(r.rows.trend.T @ (r.rows.trend * (r.weight * curvature)[:, None]))


def _penalised(r: Responses, coef: FloatArray, prior: FloatArray) -> float:
    with np.errstate(over="ignore"):
        value = r.log_likelihood(r.offset + r.rows.trend @ coef) - 0.5 * float(coef @ prior @ coef)
    return value if np.isfinite(value) else -np.inf


def _unknown(information: FloatArray, first: FloatArray) -> FloatArray:
    """Directions about which the rows tell next to nothing, beside what they would at their own best predictors."""
    if not len(first):
        return np.zeros((0, 0))
    try:
        share, along = linalg.eigh(information, first)
    except linalg.LinAlgError:
        return np.zeros((0, len(first)))
    return np.asarray(along[:, share < LEAST_INFORMATION].T)


def _involved(directions: FloatArray, trend: FloatArray) -> IntArray:
    """Columns that some of the directions need; the constant is not held."""
    spread = np.ptp(trend, axis=0)
    size = np.abs(directions) * spread
    most = size.max(axis=1, keepdims=True) if size.size else size
    return np.flatnonzero(np.any(size > 0.01 * np.maximum(most, 1e-300), axis=0) & (spread > 0))


def _unit(columns: FloatArray) -> FloatArray:
    """What an effect is counted for: the step between two values, or two standard deviations."""
    two = np.array([len(np.unique(column)) == 2 for column in columns.T])
    return np.asarray(np.where(two, np.ptp(columns, axis=0), 2 * columns.std(axis=0)))


def refuse_separation(responses: Responses, eta: FloatArray) -> None:
    """Stop where Newton's method has ended on the way to infinity, or at the edge of the link's domain."""
    reach = float(np.max(np.abs(eta - responses.offset)))
    if reach > 30 and responses.family.bounded_by_size:  # logits
        raise ConvergenceError(no_fit(responses, f"the linear predictor has run to {reach:.0f}"))
    if not responses.family.link_function.smooth:
        _refuse_zero(responses, eta)
    if _least_known(responses, eta) < LEAST_INFORMATION:
        raise ConvergenceError(no_fit(responses, "a coefficient of the trend runs away without end"))


def _refuse_zero(responses: Responses, eta: FloatArray) -> None:
    """Laplace's approximation needs a mode inside the domain; the one of rates near zero lies on its edge."""
    if np.min(eta) < 1e-3 * np.sum(responses.weight * responses.y) / np.sum(responses.weight * responses.size):
        raise ConvergenceError(
            f"the {responses.family.name} model has no fit inside the domain of its identity link: the surface comes "
            f"down to zero. Identity links are for counts well above zero everywhere; take the log link."
        )


def _least_known(responses: Responses, eta: FloatArray) -> float:
    """Least information about a direction of the trend, beside that at each row's own best linear predictor.

    As a coefficient runs away, what the rows tell about it goes to zero; Newton's method stops on the way, when nothing
    more is to be gained.
    """
    r, trend = responses, responses.rows.trend
    if r.trend_precision is not None and trend.shape[1]:  # a prior holds what the rows do not
        size, along = np.linalg.eigh(r.trend_precision)
        trend = trend @ along[:, size <= 1e-12 * max(float(size[-1]), 1e-300)]
        r = replace(r, rows=replace(r.rows, trend=trend))
    if not trend.shape[1]:
        return 1.0
    try:
        return float(linalg.eigh(_information(r, eta), _information(r, r.start()), eigvals_only=True)[0])
    except linalg.LinAlgError:
        return 0.0


def no_fit(responses: Responses, what: str) -> str:
    """What to say where Newton's method finds no mode."""
    return (
        f"the {responses.family.name} model has no finite fit: {what}. Either the covariates separate the responses "
        f"completely (drop one, or give it fewer levels), or the kernel's variance is far too large; a fixed kernel "
        f"with a smaller variance, or more data, makes it determinate."
    )
