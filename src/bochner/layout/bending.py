"""Bending: which covariates have a curved effect, asked of the training rows; the layout with their curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference import Domain, Responses, Settings, columns_worth
from bochner.layout import limits
from bochner.layout.curves import Curve
from bochner.layout.layout import Layout
from bochner.layout.trend import Trend


def bent(
    layout: Layout, responses: Responses, table: FloatArray, settings: Settings, domain: Domain
) -> tuple[Layout, Responses, tuple[Choice, ...]]:
    """Layout and training rows with a curve for every covariate whose effect bends, and what is told of it.

    Formulas say themselves what is curved, and a likelihood is asked for to be compared with that of other software;
    where nothing is learned, nothing is asked.
    """
    covariates = layout.columns.covariates_of(table)
    counts = np.flatnonzero(responses.weight > 0)
    able = [j for j in range(covariates.shape[1]) if len(np.unique(covariates[counts, j])) > 2]
    if not able or not settings.learns or layout.design is not None:
        return layout, responses, ()
    n_columns = min(limits.MOST_CURVE_COLUMNS, len(counts) // (limits.ROWS_PER_CURVE * len(able)))
    why_not = _obstacle(layout, responses, settings, n_columns)
    if why_not:
        return layout, responses, (Choice("curves", {}, text=f"none: lines are taken, since {why_not}"),)
    names = layout.columns.covariate_names
    offered = _offered(able, covariates, responses, n_columns)
    columns = [curve.columns(covariates) for curve in offered]
    asked = columns_worth(settings, responses[counts], [part[counts] for part in columns], domain) if offered else ()
    if asked is None:
        return layout, responses, (Choice("curves", {}, text="none: lines are taken, since rows could not be asked"),)
    taken = dict(zip((c.covariate for c in offered), asked, strict=True))
    told = _told({names[j]: k for j, k in taken.items()}, [names[j] for j in able if j not in taken])
    curves = tuple(curve.first(k) for curve, k in zip(offered, asked, strict=True) if k)
    if not curves:
        return layout, responses, (told,)
    plain = layout.trend
    zero = np.zeros(len(responses))
    trend = Trend.learn(covariates, zero, responses.weight, layout.columns.covariate_names, True, curves)
    layout = replace(layout, trend=replace(trend, level=plain.level))
    rows = replace(responses.rows, trend=layout.trend.columns(covariates))
    return layout, replace(responses, rows=rows), (told,)


def _obstacle(layout: Layout, responses: Responses, settings: Settings, n_columns: int) -> str:
    """Why it is not asked whether effects bend; empty if it is."""
    reasons = {
        "a likelihood is wanted, to be compared with that of other software": not settings.reml,
        "there is no intercept": not layout.trend.intercept,
        f"errors of the family {responses.family.name} are reweighted": responses.family.reweighted,
        "rows are means over areas": responses.rows.has_areas,
        f"a curve needs {limits.ROWS_PER_CURVE} rows for each covariate": n_columns < 1,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _offered(able: Sequence[int], covariates: FloatArray, responses: Responses, n_columns: int) -> list[Curve]:
    """A curve for every covariate with enough values, as far as the linear trend does not hold it already."""
    weight = responses.weight
    counts = weight > 0
    found = []
    linear = np.linalg.qr(responses.rows.trend[counts])[0]
    for j in able:
        curve = Curve.learn(j, covariates[counts, j], weight[counts], n_columns)
        if curve is None:
            continue
        columns = curve.columns(covariates[counts])
        own = columns - linear @ (linear.T @ columns)
        alone = np.linalg.norm(own, axis=0) > limits.LEAST_CURVE_SHARE * np.linalg.norm(columns, axis=0)
        n_alone = len(alone) if alone.all() else int(np.argmin(alone))
        if n_alone:
            found.append(curve.first(n_alone))
    return found


def _told(taken: Mapping[str, int], unable: Sequence[str]) -> Choice:
    """Which covariates bend, with as many columns beside their lines, and which run straight or have no curve."""
    bends = {name: k for name, k in taken.items() if k}
    straight = [name for name, k in taken.items() if not k]
    said = []
    if bends:
        said.append(f"the effect of {_joined(list(bends))} bends")
    if straight:
        said.append(f"{'' if bends else 'none: '}straight lines serve {_joined(straight)}")
    if unable:
        said.append(f"{_joined(unable)} could not be asked: values too uneven (try a logarithm), or told by the others")
    return Choice("curves", bends, text="; ".join(said))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
