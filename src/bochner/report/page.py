"""The page: what the report shows, put together and written as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from bochner._version import __version__
from bochner.diagnostics import Calibration, Diagnostics, diagnostics_of
from bochner.estimators import Fitted, SpatialRegressor
from bochner.estimators.constructor import resources_of
from bochner.exceptions import InputError
from bochner.maps.mappable import Mappable, mappable
from bochner.outputs import completed, told_as_output
from bochner.report import calibration_charts, data_charts, limits, space_charts, words
from bochner.report.answer import Answer, background
from bochner.report.figure import Figure
from bochner.report.layers import MapLayers, predict_layers, rows_at
from bochner.report.payload import law_gap, map_payload, observations_of, threshold_of
from bochner.report.survey import Survey, diagnose_survey, held_out_means, judge

# modules of the page in the order in which they need each other; the studio serves all but the last
MAP_SCRIPTS = (
    *("dom.js", "theme.js", "raster.js", "law.js", "scale.js", "areas.js", "view.js", "surface.js", "gestures.js"),
    *("mapcanvas.js", "colourbar.js", "print.js", "pictures.js", "geotiff.js", "panel.js"),
)
SCRIPTS = (*MAP_SCRIPTS, "page.js")


def write_report(
    model: Mappable,
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    threshold: float | None = None,
    title: str | None = None,
    response: str = "response",
    unit: str = "",
    length_unit: str | None = None,
    layers: MapLayers | None = None,
    diagnostics: Diagnostics | None = None,
    n_pixels: int | None = None,
    answer: Answer | None = None,
) -> Path:
    """Write a fitted model as one HTML page that opens offline.

    The page holds a map (mean, sd, and the probability of exceeding any threshold), the model and its choices in words,
    coefficients, kernel and variogram, calibration, residuals, cross-validation scores and the findings of
    `SpatialRegressor.check`.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted here, or loaded from a file that carries its diagnostics.
    path : path
        File to write; it appears under its name when it is complete.
    data : (X, y) or Survey, optional
        Rows to draw on the map and to judge the model by. Without it the page shows no observation and no place of
        one: survey locations are often private.
    threshold : float, optional
        Threshold that the map opens with, on the scale of `predict`; the reader can move it.
    title : str, optional
        Heading of the page.
    response, unit : str
        Name and unit of what is mapped.
    length_unit : str, optional
        Unit of plain coordinates, e.g. "m"; those of a known CRS are told in km.
    layers : MapLayers, optional
        The map, prepared by the caller, e.g. with covariate rasters. Default: predicted over the region of the data
        with covariates at their means, and the page says so.
    diagnostics : Diagnostics, optional
        Default: those that the model carries, or new ones if it has its rows.
    n_pixels : int, optional
        Number of pixels of the default map; fewer are quicker.
    answer : Answer, optional
        Means over areas, by `answer_of`: the page then opens with which of them are above the threshold, draws their
        outlines, and lists them and the hotspots.
    """
    model = mappable(model)
    survey = None if data is None else Survey.of(data)
    with resources_of(model).in_use():
        diagnostics = _diagnostics(model, survey, diagnostics)
        if length_unit and not diagnostics.distance_unit:
            diagnostics = replace(diagnostics, distance_unit=length_unit)
        own = layers is None and diagnostics.region.dim > 1
        if own:
            layers = predict_layers(model, diagnostics, n_pixels)
        limit = answer.threshold if answer is not None and threshold is None else threshold
        text = render(model, diagnostics, layers, survey, limit, title, response, unit, at_means=own, answer=answer)
    target = Path(path)
    with completed(target) as partial, told_as_output(target):
        partial.write_text(text, encoding="utf-8")
    return target


def render(
    model: SpatialRegressor,
    diagnostics: Diagnostics,
    layers: MapLayers | None,
    survey: Survey | None,
    threshold: float | None,
    title: str | None,
    response: str,
    unit: str,
    *,
    at_means: bool,
    answer: Answer | None = None,
) -> str:
    """HTML of a report; every text of the user's is escaped in it.

    `at_means`: whether the layers were drawn with every covariate at its mean.
    """
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_unbroken)
    environment.filters["svg"] = Markup
    fitted = model.fitted_
    findings = words.findings(model)
    held, figures = calibration_figures(model, diagnostics, survey, response)
    script, payload, profile = "", None, None
    if layers is None:
        profile = _profile(fitted, diagnostics, survey, response)
    else:
        layers = layers.thinned()
        limit = threshold_of(fitted, layers, threshold)
        means = diagnostics.covariate_means if at_means else None
        seen = None if survey is None else observations_of(fitted, survey, layers, means)
        family = fitted.model.family
        payload = map_payload(
            fitted,
            layers,
            seen,
            limit,
            response,
            unit,
            diagnostics.distance_unit,
            share=not unit and family.link_function.range == (0.0, 1.0),
            background=background(model, layers.extent),
            areas=() if answer is None else answer.drawn(layers.extent),
            csv="" if answer is None else answer.csv,
            noun="" if answer is None else answer.noun,
        )
        script = _one_script()
    return environment.from_string(_asset("page.html")).render(
        title=title or f"Map of {response}",
        response=response,
        unit=unit,
        style=Markup(_asset("page.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        payload=None if payload is None else Markup(as_json(payload)),
        profile=profile,
        layers=layers,
        answer=answer,
        left_out=[text for name, text in words.choices(fitted) if name == words.CHOICES["rows left out"]],
        effects=words.effects(fitted, diagnostics),
        curves=words.curves(fitted, diagnostics),
        map_notes=_map_notes(fitted, layers, diagnostics, payload, at_means),
        has_data=survey is not None,
        n_shown=0 if survey is None else min(len(survey.response), limits.MAX_OBSERVATIONS),
        numbers=words.key_numbers(fitted, diagnostics),
        sentences=words.in_short(fitted, diagnostics),
        findings=findings,
        all_clear=words.all_clear(model, findings),
        story=words.model_words(fitted, diagnostics, response),
        coefficients=words.coefficients(fitted),
        parameters=words.parameters(fitted),
        choices=words.choices(fitted),
        summary=model.summary(),
        space=space_figures(fitted, diagnostics),
        held=held,
        calibration=figures,
        scores=words.score_table(held),
        version=__version__,
    )


def as_json(value: Any) -> str:
    """JSON that may stand in an HTML script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _unbroken(value: Any) -> Any:
    """Text whose percentages stay on one line; what is HTML already stays as it is."""
    return re.sub(r"(?<=\d) %", "\u202f%", value) if type(value) is str else value


def _one_script() -> str:
    """The modules as one script: a page that is one file can import nothing."""
    whole = "\n".join(_asset(name) for name in SCRIPTS)
    whole = re.sub(r"^import [^;]*;\n", "", whole, flags=re.M)
    whole = re.sub(r"^export (?=(async )?(function|class|const)\b)", "", whole, flags=re.M)
    return "(() => {\n'use strict';\n" + whole + "})();"


def _asset(name: str) -> str:
    return resources.files("bochner.report").joinpath("assets", name).read_text("utf-8")


def _diagnostics(model: SpatialRegressor, survey: Survey | None, given: Diagnostics | None) -> Diagnostics:
    known = given if given is not None else diagnostics_of(model)
    if known is not None:
        return known
    if survey is None:
        raise InputError(
            "the model holds neither its rows nor diagnostics, so the region of the map is not known; give the data "
            "(--data), or fit again and call bochner.diagnostics.remember(model) before model.save(...), as `bochner "
            "fit` does."
        )
    return diagnose_survey(model.fitted_.layout, survey)


def space_figures(fitted: Fitted, diagnostics: Diagnostics) -> list[Figure]:
    """Charts of the kernel and the variogram."""
    model, variogram, unit = fitted.model, diagnostics.variogram, diagnostics.distance_unit
    figures, curves = [], None
    if model.kernel.stationary:
        axes = fitted.layout.placement.surface_axes  # a kilometre is no day: what is told is told of the map
        reach = float(np.linalg.norm(model.scale.extent[list(axes)])) / 2
        farthest = reach if variogram is None or variogram.unit else variogram.distance[-1] * 1.04
        on_map = space_charts.kernel_curves(model.kernel, model.dim, farthest, axes)
        figures.append(space_charts.kernel_figure(on_map, model.kernel, model.dim, unit, axes))
    if variogram is not None:
        working = not model.family.observes_eta
        if model.kernel.stationary:
            farthest = variogram.distance[-1] * 1.04
            curves = space_charts.kernel_curves(model.kernel, model.dim, farthest, variogram.axes or axes)
        figures.append(space_charts.variogram_figure(variogram, curves, variogram.unit or unit, working))
    return figures


def calibration_figures(
    model: SpatialRegressor, diagnostics: Diagnostics, survey: Survey | None, response: str
) -> tuple[Sequence[Calibration], list[Figure]]:
    """Held-out results that the page tells of, and their charts; rows that are new to the model come first."""
    held, scatter = list(diagnostics.held_out), None
    if survey is not None and held and diagnostics.are_of(survey.coords(model.fitted_.layout), survey.response):
        own = held_out_means(model)
        if own is not None:
            scatter = data_charts.scatter_figure(*own, response, "Leave-one-out predictions of all rows.")
    elif survey is not None:
        known = "which are not, as a whole, those that the model was fitted to"
        doubt = "which flatter the model if it was fitted to them"
        text = f"the {len(survey.response):,} rows of the data given, {known if held else doubt}"
        result, means = judge(model, survey, text)
        held = [result, *held]
        scatter = data_charts.scatter_figure(means, survey.response, response, "Predictions at the data given.")
    if not held:
        return held, []
    first = held[0]
    figures = [
        calibration_charts.pit_figure(first),
        calibration_charts.coverage_figure(held[:2]),
        calibration_charts.reliability_figure(first, response),
        calibration_charts.residual_figure(first),
    ]
    return held, figures if scatter is None else [*figures, scatter]


def _profile(fitted: Fitted, diagnostics: Diagnostics, survey: Survey | None, response: str) -> Figure:
    """Map of a single coordinate."""
    region, link = diagnostics.region, fitted.model.family.link_function
    x = np.linspace(region.low[0], region.high[0], 301)
    eta = fitted.latent(rows_at(fitted, x[:, None], diagnostics.covariate_means))
    middle, low, high = (link.mean(eta.mean + k * eta.sd) for k in (0.0, -1.96, 1.96))
    seen = None if survey is None else (survey.coords(fitted.layout)[:, 0], survey.response)
    return data_charts.profile_figure(x, middle, low, high, region.names[0], response, seen)


def _map_notes(
    fitted: Fitted, layers: MapLayers | None, diagnostics: Diagnostics, payload: dict[str, Any] | None, at_means: bool
) -> list[str]:
    """How the map was made, and how far it can be trusted."""
    if layers is None or payload is None:
        return []
    notes = [layers.note] if layers.note else []
    if at_means and payload["observations"] and diagnostics.covariates:
        notes.append(
            "Observations are coloured as if their covariates were at these means too; pointing at one tells "
            "what was observed."
        )
    gap = law_gap(fitted, layers, diagnostics, payload["threshold"]["value"]) if at_means else None
    if gap is not None:
        notes.append(
            f"Probabilities take the law at each pixel as normal on the scale of the link; the model's own law, "
            f"averaged over {fitted.model.mixture.n_averaged} sets of hyperparameters, differs by at most {gap:.3f} at "
            f"the threshold that the page opens with."
        )
    return notes
