"""Hidden fields: rows that say next to nothing of one another leave open how much of their scatter is field."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators import limits
from bochner.estimators.summary import is_flat
from bochner.inference import Model, Observations, Responses, fixed_effects, residual_of


def hidden_field(model: Model, responses: Responses) -> str | None:
    """What to say where the rows hardly predict each other, though a field was learned of them.

    None where they do, and of a flat map, of which that is said already.
    """
    n = int(np.count_nonzero(responses.weight))
    learned = "tuning" in model.decided and model.decided["tuning"].value is not None
    judged = limits.LEAST_JUDGED_ROWS <= n <= limits.MAX_EXACTLY_JUDGED and not responses.rows.has_areas
    if not learned or not judged or model.scale.variance <= 0 or is_flat(model):
        return None
    rows, obs = model.working(responses)
    off, weight = _off_the_trend(rows, obs)
    root = np.sqrt(weight)
    alike = _cosine(root * off, root * _said_by_others(model, obs))
    if alike >= min(limits.SEEN_FIELD, limits.SEEN_ERRORS / np.sqrt(n)):
        return None
    return (
        f"the rows hardly predict each other: a row correlates by {max(alike, 0.0):.2f} with what the others say of "
        f"it. Either the field is weak beside the noise, and intervals are then wide and mostly hold; or it is shorter "
        f"than the distance between rows, and taken for noise: of such simulated surfaces 95 % intervals held half at "
        f"worst. Intervals of new observations hold in both cases. Rows close to each other can tell which: add some, "
        f"or give a kernel that is known from elsewhere, with tune=None."
    )


def _cosine(a: FloatArray, b: FloatArray) -> float:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size > 0 else 0.0


def _off_the_trend(rows: Responses, obs: Observations) -> tuple[FloatArray, FloatArray]:
    """How far each row lies from the trend alone, on the scale of the linear predictor, and how much it knows of that.

    A count of a large town knows much, and is as far off as that of a village.
    """
    if rows.gaussian or rows.family.reweighted:
        return residual_of(obs), obs.weight
    eta = rows.offset + rows.rows.trend @ fixed_effects(rows).coef
    slopes = rows.family.derivatives(rows.y, eta, rows.size)
    curvature = np.maximum(slopes.curvature, 1e-300)
    return np.asarray(slopes.score / curvature), np.asarray(rows.weight * curvature)


def _said_by_others(model: Model, obs: Observations) -> FloatArray:
    """What the others say of each row beyond the trend: averaged over the heaviest sets of hyperparameters."""
    mass = np.asarray(model.mixture.mass)
    heaviest = np.argsort(-mass, kind="stable")[: limits.MAX_JUDGED_SETS]
    mean = np.zeros(len(obs))
    for k in heaviest[mass[heaviest] > 0]:
        held = model.fits[k].leave_out(obs, None)
        mean[held.index] += mass[k] * held.mean
    trend = obs.rows.trend
    return np.asarray(mean - trend @ np.linalg.lstsq(trend, mean, rcond=None)[0]) if trend.shape[1] else mean
