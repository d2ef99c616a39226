"""Intervals that are too narrow, errors that are too large or grow: rows held out in blocks or groups say so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray, IntArray
from bochner.estimators import limits
from bochner.estimators.crossvalidation import CrossValidation, summarise
from bochner.exceptions import InputError
from bochner.inference import Fold, Model, Responses
from bochner.layout import Layout
from bochner.random import generator
from bochner.validation import blocks_of, gap_size
from bochner.validation.coordinates import labels_of
from bochner.validation.limits import CLOSEST


def doubtful_intervals(
    model: Model, responses: Responses, groups: IntArray | None, layout: Layout | None = None
) -> str | None:
    """What to say of intervals that hold too few of the rows held out together, or, by the errors that the user gave,
    nearly all of them closely, of positive responses whose errors grow with them, and of counts that are zero too
    often; None, if they hold what they say.
    """
    single = model.family.bounded_by_size and bool(np.all(responses.size == 1))
    if single or np.count_nonzero(responses.weight) < limits.LEAST_JUDGED_ROWS or responses.rows.has_areas:
        return None
    codes = None if groups is None else groups[responses.weight > 0]
    rows, obs = model.working(responses)
    try:
        places = obs.rows.coords if layout is None else layout.blocks(obs.rows.coords).of(obs.rows.coords)
        folds, what = held_out_parts(places, codes)
        few = len(obs) <= limits.MAX_EXACTLY_JUDGED
        held = [fit.leave_out(obs, folds) if few else fit.leave_out_quickly(obs, folds) for fit in model.fits]
        found = summarise(held, model, rows, ["coverage"])
    except InputError:  # a single place, say
        return None
    grown = _in_proportion(found, rows)
    if grown is not None:
        return grown
    law: Any = found.law
    inside = (found.observed >= law.quantile(0.025)) & (found.observed <= law.quantile(0.975))
    share = np.array([np.mean(inside[found.fold == k]) for k in np.unique(found.fold)])
    size = np.bincount(np.unique(found.fold, return_inverse=True)[1])
    cover = float(np.average(share, weights=size))
    # rows of one block are right or wrong together, so blocks are what is counted
    error = float(np.sqrt(np.sum((size * (share - cover)) ** 2)) / size.sum())
    if cover + 2 * error >= limits.LEAST_COVERAGE:
        return _generous_errors(found, rows) or _too_many_zeros(found, rows)
    return (
        f"95 % intervals hold {cover:.0%} of the rows held out in {len(folds)} {what}: away from the data they are too "
        f"narrow. Give fit the places to be predicted (predict_at) or the groups of the rows (groups), or learn the "
        f"kernel by tune='spatial-cv'."
    )


def too_few_counts(model: Model, responses: Responses) -> str | None:
    """What to say where all of a field was learned from few counts, or few cases; None where that is not so."""
    n, family = int(np.count_nonzero(responses.weight)), model.family
    if responses.gaussian or family.reweighted or model.mixture.n_averaged < 2:
        return None
    if n < limits.FEW_COUNTED_ROWS:
        return (
            f"{n} rows of {family.name} responses say little of the range and the variance of the field, though "
            f"intervals average over what they may be: on simulated surfaces of 50 rows, 95 % intervals held about "
            f"90 % on average, and as little as two thirds of some surfaces. Add rows, or give a kernel that is known "
            f"from elsewhere, with tune=None."
        )
    with_case, all_of_it = responses.y > 0, responses.y >= responses.size
    cases = int(min(responses.weight @ with_case, responses.weight @ ~all_of_it)) if family.bounded_by_size else n
    if cases >= limits.FEW_COUNTED_ROWS:
        return None
    return (
        f"{cases} cases among {n:,} rows say little of the range and the variance of the field, though intervals "
        f"average over what they may be: on simulated rough surfaces with some 50 cases, 95 % intervals held about "
        f"three quarters. Add rows with cases, or give a kernel that is known from elsewhere, with tune=None."
    )


def _in_proportion(found: CrossValidation, rows: Responses) -> str | None:
    """What to say of positive responses whose errors are in proportion to what is predicted, as those of logs are."""
    y = found.observed
    if not rows.gaussian or np.any(rows.y <= 0) or np.any(rows.error > 0):
        return None
    law: Any = found.law
    sd = np.sqrt(law.variance)
    as_they_are = _log_density((y - law.mean) / sd) - np.log(sd)
    least = np.quantile(y, limits.LOW_SHARE)  # a Gaussian may predict less than nothing
    of_logs = np.log(y / np.maximum(law.mean, least))
    as_logs = _log_density(of_logs - of_logs.mean()) - np.log(y)
    gain = as_logs - as_they_are
    part = np.unique(found.fold, return_inverse=True)[1]
    error = float(np.linalg.norm(np.bincount(part, gain - gain.mean()))) / len(gain)
    if gain.mean() < max(limits.GAINED_BY_LOGS, 2 * error):
        return None
    return (
        f"errors grow in proportion to the response, which is positive and skewed: rows held out are likelier by "
        f"{gain.mean():.2f} nats each if errors are those of its logarithm. Intervals are too wide where it is small, "
        f"too narrow where it is large, and rows that look odd may be none. Take family='gamma', or fit the logarithm "
        f"of the response."
    )


def _log_density(errors: FloatArray) -> FloatArray:
    """Of errors as normal ones with the variance that they have, but for a constant."""
    sd = max(float(np.sqrt(np.mean(errors**2))), 1e-300)
    return np.asarray(-np.log(sd) - 0.5 * (errors / sd) ** 2)


def _generous_errors(found: CrossValidation, rows: Responses) -> str | None:
    """What to say of given errors, where the rows scatter far less than those would have them."""
    if not np.any(rows.error > 0):
        return None
    law: Any = found.law
    inner = (found.observed >= law.quantile(0.25)) & (found.observed <= law.quantile(0.75))
    if np.mean(inner) < limits.FAR_TOO_MANY_INSIDE:
        return None
    return (
        f"50 % intervals hold {np.mean(inner):.0%} of the rows held out: the given errors (measurement_variance) are "
        f"larger than the rows scatter. Are they variances, in the unit of the response squared? They are taken as "
        f"known, so intervals of new rows are as wide as they say."
    )


def _too_many_zeros(found: CrossValidation, rows: Responses) -> str | None:
    """What to say of counts that are zero far more often than the others let expect."""
    if not rows.family.discrete:
        return None
    law: Any = found.law
    expected, n = np.asarray(law.cdf(np.zeros(len(found.observed)))), len(found.observed)
    zeros, wanted = int(np.count_nonzero(found.observed == 0)), float(expected.sum())
    error = float(np.sqrt(np.sum(expected * (1 - expected))))
    # rows of one block are low together, too
    part = np.unique(found.fold, return_inverse=True)[1]
    among_parts = float(np.linalg.norm(np.bincount(part, (found.observed == 0) - expected)))
    surely = max(limits.TOO_MANY_ZEROS * error, limits.ZEROS_OF_PARTS * among_parts)
    if zeros < wanted + surely or zeros < limits.ZEROS_TIMES * wanted:
        return None
    plain = not (rows.family.has_dispersion or rows.family.bounded_by_size)
    return (
        f"{zeros} of {n} rows held out are zero, where the others let expect {wanted:.0f}: some seem to be zero for "
        f"another reason than a low mean (none could be there, or nobody looked). The surface is drawn down around "
        f"them, and taken to be rougher than it is. Leave out rows that can only be zero, give what makes them so as a "
        f"covariate, or model presence (SpatialClassifier) and the counts where there are some apart."
        + (" family='negative-binomial' holds a part of them." if plain else "")
    )


def held_out_parts(coords: FloatArray, groups: IntArray | None) -> tuple[list[Fold], str]:
    """Some rows that belong together, each part held out as a whole, and what they are; a thousand rows are scored."""
    rng = generator(0, "held-out blocks")
    label, what = groups, "groups"
    if label is None:
        label, what = small_blocks(coords, gap_size(coords))[0], "blocks"
    order = rng.permutation(label.max() + 1)[: limits.MAX_JUDGED_PARTS]
    most = limits.MAX_JUDGED_ROWS // limits.LEAST_JUDGED_PARTS
    total = np.cumsum(np.minimum(np.bincount(label), most)[order])
    chosen = order[: 1 + int(np.searchsorted(total, limits.MAX_JUDGED_ROWS))]
    if len(chosen) < limits.LEAST_JUDGED_PARTS:
        raise InputError(f"{len(chosen)} {what} are too few to hold out.")
    return [without(np.flatnonzero(label == part), len(label), most, rng) for part in chosen], what


def small_blocks(coords: FloatArray, side: float) -> tuple[IntArray, float]:
    """Blocks of a side, or of a smaller one where a typical row would share its block with too many others.

    Rows at one place remain together, however many they are.
    """
    n_places = int(labels_of(coords).max()) + 1
    while True:
        blocks = blocks_of(coords, side)
        few = np.median(np.bincount(blocks)[blocks]) <= limits.MAX_PART_ROWS
        if few or blocks.max() + 1 == n_places or side < CLOSEST * np.ptp(coords, axis=0).max():
            return blocks, side
        side *= 0.7


def without(part: IntArray, n: int, most: int, rng: Generator) -> Fold:
    """A fold of n rows that holds a part out, and scores some of its rows at most."""
    kept = np.ones(n, dtype=bool)
    kept[part] = False
    scored = part if len(part) <= most else np.sort(rng.choice(part, most, replace=False))
    return np.flatnonzero(kept), scored
