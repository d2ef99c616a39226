"""Bending: which covariates have a curved effect, asked of the training rows; the layout with their curves."""

from __future__ import annotations

from collections.abc import Sequence
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
    learns = settings.learns and settings.reml and layout.design is None and layout.trend.intercept
    if not learns or responses.family.reweighted or responses.rows.has_areas:
        return layout, responses, ()
    covariates = layout.columns.covariates_of(table)
    offered = _offered(covariates, responses)
    if not offered:
        return layout, responses, ()
    columns = [curve.columns(covariates) for curve in offered]
    counts = np.flatnonzero(responses.weight > 0)
    taken, gain = columns_worth(settings, responses[counts], [part[counts] for part in columns], domain)
    told = _told([layout.columns.covariate_names[c.covariate] for c in offered], taken, gain)
    curves = tuple(curve.first(k) for curve, k in zip(offered, taken, strict=True) if k)
    if not curves:
        return layout, responses, (told,)
    plain = layout.trend
    zero = np.zeros(len(responses))
    trend = Trend.learn(covariates, zero, responses.weight, layout.columns.covariate_names, True, curves)
    layout = replace(layout, trend=replace(trend, level=plain.level))
    rows = replace(responses.rows, trend=layout.trend.columns(covariates))
    return layout, replace(responses, rows=rows), (told,)


def _offered(covariates: FloatArray, responses: Responses) -> list[Curve]:
    """A curve for every covariate with enough values, as far as the linear trend does not hold it already."""
    weight = responses.weight
    counts = weight > 0
    n_columns = min(limits.MOST_CURVE_COLUMNS, counts.sum() // (limits.ROWS_PER_CURVE * max(covariates.shape[1], 1)))
    if n_columns < 1:
        return []
    found = []
    linear = np.linalg.qr(responses.rows.trend[counts])[0]
    for j in range(covariates.shape[1]):
        curve = Curve.learn(j, covariates[counts, j], weight[counts], int(n_columns))
        if curve is None:
            continue
        columns = curve.columns(covariates[counts])
        own = columns - linear @ (linear.T @ columns)
        alone = np.linalg.norm(own, axis=0) > limits.LEAST_CURVE_SHARE * np.linalg.norm(columns, axis=0)
        n_alone = len(alone) if alone.all() else int(np.argmin(alone))
        if n_alone:
            found.append(curve.first(n_alone))
    return found


def _told(names: Sequence[str], taken: Sequence[int], gain: float) -> Choice:
    """Which covariates bend, with as many columns beside their lines, and which run straight."""
    bends = {name: k for name, k in zip(names, taken, strict=True) if k}
    straight = [name for name, k in zip(names, taken, strict=True) if not k]
    if not bends:
        return Choice("curves", {}, text=f"none: straight lines serve {_joined(straight)}")
    each = _joined([f"{name} ({k} {'column' if k == 1 else 'columns'} beside its line)" for name, k in bends.items()])
    rest = f"; straight lines serve {_joined(straight)}" if straight else ""
    return Choice("curves", bends, text=f"the effect of {each} bends: a gain of {gain:.1f} in log evidence{rest}")


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
