"""Check view: what a fit says of itself, in the words and charts of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bochner.diagnostics import diagnostics_of
from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError
from bochner.report import Survey, words
from bochner.report.figure import Figure
from bochner.report.page import calibration_figures, space_figures
from bochner.report.words import Table
from bochner.studio import limits
from bochner.studio.range_chart import range_figure


def check_of(model: SpatialRegressor, survey: Survey | None, response: str) -> dict[str, Any]:
    """Findings, numbers, sentences, tables and charts of a fit, as plain values."""
    fitted, diagnostics = model.fitted_, diagnostics_of(model)
    if diagnostics is None:
        raise InputError("the model file carries no diagnostics; fit it again with this version.")
    held, figures = calibration_figures(model, diagnostics, survey, response)
    ranges = range_figure(fitted, diagnostics.distance_unit)
    effects = words.effects(fitted, diagnostics)
    findings = words.findings(model)
    return {
        "findings": findings,
        "all_clear": words.all_clear(model, findings),
        "all_made": model.fitted_.doubts is not None,
        "numbers": [list(pair) for pair in words.key_numbers(fitted, diagnostics)],
        "sentences": words.in_short(fitted, diagnostics),
        "story": words.model_words(fitted, diagnostics, response),
        "scores": _table(words.score_table(held)),
        "figures": [_figure(one) for one in figures],
        "space": [_figure(one) for one in space_figures(fitted, diagnostics)],
        "ranges": None if ranges is None else _figure(ranges),
        "effects": None if effects is None else _figure(effects),
        "choices": [list(pair) for pair in words.choices(fitted)],
        "parameters": _table(words.parameters(fitted)),
        "coefficients": _table(words.coefficients(fitted)),
        "residuals": None if survey is None else residuals_of(model, survey),
        "summary": model.summary(),
    }


def scores_of(model: SpatialRegressor) -> dict[str, dict[str, float]]:
    """Scores of every kind of cross-validation that the model carries."""
    diagnostics = diagnostics_of(model)
    return {} if diagnostics is None else {one.name: dict(one.scores) for one in diagnostics.held_out}


def compared_scores(
    first: Mapping[str, Mapping[str, float]], second: Mapping[str, Mapping[str, float]]
) -> list[list[Any]]:
    """Rows of a name and two numbers, for what both models were judged by."""
    kinds = [kind for kind in first if kind in second]
    return [
        [f"{name}, {kind}", first[kind][name], second[kind][name]]
        for kind in kinds
        for name in first[kind]
        if name in second[kind]
    ]


def residuals_of(model: SpatialRegressor, survey: Survey) -> dict[str, Any]:
    """Observed less predicted at the rows, in standard deviations of a new observation there."""
    law = model.predict_distribution(survey.X, include_noise=True, **survey.more)
    z = (np.asarray(survey.y, dtype=float) - law.mean) / np.maximum(law.sd, 1e-300)
    layout = model.fitted_.layout
    coords = survey.coords(layout)[:, list(layout.placement.map_axes)]
    rows = np.arange(len(z))
    if len(rows) > limits.SHOWN_POINTS:
        rows = np.unique(np.linspace(0, len(z) - 1, limits.SHOWN_POINTS).astype(int))
    dots = {"x": _short(coords[rows, 0]), "y": _short(coords[rows, 1]), "value": _short(z[rows])}
    return {**dots, "shown": len(rows), "names": list(layout.map_axes)}


def _figure(figure: Figure) -> dict[str, Any]:
    plain = asdict(figure)
    plain["legend"] = [list(pair) for pair in figure.legend]
    plain["header"], plain["rows"] = list(figure.header), [list(row) for row in figure.rows]
    return plain


def _table(table: Table | None) -> dict[str, Any] | None:
    return None if table is None else {"header": list(table.header), "rows": [list(row) for row in table.rows]}


def _short(values: Sequence[float] | Any) -> list[float]:
    return [float(f"{v:.7g}") for v in values]
