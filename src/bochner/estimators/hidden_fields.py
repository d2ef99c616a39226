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
    alike = _cosine(_score(rows, obs), _said_by_others(model, obs))
    if alike >= min(limits.SEEN_FIELD, limits.SEEN_ERRORS / np.sqrt(n)):
        return None
    return (
        f"the rows hardly predict each other: a row correlates by {max(alike, 0.0):.2f} with what the others say of "
        f"it. The field is weak beside the noise, or shorter than the distance between rows, and how much of their "
        f"scatter is field is little more than assumed: of such simulated surfaces 95 % intervals held less than half "
        f"at worst, though those of new observations hold. Add rows, some of them close together, or give a kernel "
        f"that is known from elsewhere, with tune=None."
    )


def _cosine(a: FloatArray, b: FloatArray) -> float:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size > 0 else 0.0


def _score(rows: Responses, obs: Observations) -> FloatArray:
    """How each row would have the linear predictor changed from that of the trend alone, times its copies."""
    if rows.gaussian or rows.family.reweighted:
        return obs.weight * residual_of(obs)
    eta = rows.offset + rows.rows.trend @ fixed_effects(rows).coef
    return np.asarray(rows.weight * rows.family.derivatives(rows.y, eta, rows.size).score)


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
