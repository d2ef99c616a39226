"""Payload: the numbers that the page's script works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy import special

from bochner.arrays import FloatArray
from bochner.diagnostics import Diagnostics, round_step
from bochner.estimators import Fitted
from bochner.exceptions import InputError
from bochner.geo.crs import LONLAT, as_crs, is_geographic
from bochner.random import generator
from bochner.report import limits
from bochner.report.colours import ramps
from bochner.report.layers import MapLayers, rows_at
from bochner.report.raster import pack
from bochner.report.survey import Survey


def map_payload(
    fitted: Fitted,
    layers: MapLayers,
    observations: dict[str, Any] | None,
    threshold: dict[str, float],
    response: str,
    unit: str,
    length_unit: str,
    share: bool = False,
    background: Mapping[str, Any] | None = None,
    areas: Sequence[Mapping[str, Any]] = (),
    csv: str = "",
    noun: str = "",
) -> dict[str, Any]:
    """All that the map needs, as plain values."""
    rows, columns = layers.shape
    nodes, mass = hermegauss(limits.LINK_NODES)
    return {
        "rows": rows,
        "columns": columns,
        "extent": list(layers.extent),
        "names": list(layers.names),
        "crs": layers.crs,
        "epsg": epsg_of(fitted.layout.crs),
        "geographic": _in_degrees(layers),
        "lengthUnit": length_unit or ("km" if layers.km_per_unit else "units"),
        "km": None if layers.km_per_unit is None else list(layers.km_per_unit),
        "mean": pack(layers.mean_eta),
        "sd": pack(layers.sd_eta),
        "cover": None if layers.cover is None else pack(layers.cover),
        "link": fitted.model.family.link,
        "nodes": nodes.tolist(),
        "mass": (mass / mass.sum()).tolist(),
        "threshold": threshold,
        "response": response,
        "unit": unit,
        "ramps": ramps(),
        "observations": observations,
        "share": share,
        "background": background or {},
        "areas": list(areas),
        "csv": csv,
        "noun": noun,
    }


def epsg_of(crs: str | None) -> dict[str, Any] | None:
    """Code of a CRS, and whether it is one of degrees; code 0 where it has none, and the page offers no GeoTIFF."""
    if crs in (None, LONLAT):
        return None if crs is None else {"code": 4326, "geographic": True}
    found = as_crs(crs)
    return {"code": found.to_epsg() or 0, "geographic": is_geographic(found)}


def threshold_of(fitted: Fitted, layers: MapLayers, given: float | None) -> dict[str, float]:
    """Threshold that the map opens with, and the range and step of its slider."""
    link = fitted.model.family.link_function
    if given is not None:
        fitted.model.family.check_threshold(given)
    mean, sd = layers.mean_eta[layers.known], layers.sd_eta[layers.known]
    low, high = (float(link.mean(np.quantile(mean + k * sd, q))) for k, q in ((-2, 0.01), (2, 0.99)))
    step = round_step((high - low) / 200) if high > low else 1.0
    value = _middling(link.mean(mean), low, high, 5 * step, link.range) if given is None else float(given)
    if not link.range[0] < value < link.range[1]:
        raise InputError(
            f"threshold={given!r} is not a value that the mean can take under the {link.name} link; give one "
            f"between {low:.3g} and {high:.3g}, say."
        )
    low, high = min(low, value), max(high, value)
    return {
        "value": _round(value),
        "low": _round(np.floor(low / step) * step),
        "high": _round(np.ceil(high / step) * step),
        "step": step,
    }


def _middling(mean: FloatArray, low: float, high: float, step: float, ends: tuple[float, float]) -> float:
    """A round number near the upper quartile of means, and none of the ends of what a mean can be."""
    quartile = float(np.quantile(mean, 0.75))
    tried = (float(np.round(quartile / step) * step), quartile, (low + high) / 2)
    return next((value for value in tried if ends[0] < value < ends[1]), quartile)


def observations_of(
    fitted: Fitted, survey: Survey, layers: MapLayers, means: Mapping[str, float] | None
) -> dict[str, Any]:
    """Observations for the map: where, what, and the value that their colour stands for.

    `means` are the covariates that the map was drawn at, if it was drawn at one value of each: colours are then of the
    responses brought to these values, so that dots and map can be compared.
    """
    layout, names = fitted.layout, fitted.layout.columns.coord_names
    known = set(layers.names) <= set(names)
    axes = [names.index(name) for name in layers.names] if known else list(layout.placement.map_axes)
    coords, values = survey.coords(layout)[:, axes], survey.response
    shade = values if means is None else _brought_to(fitted, survey, means)
    rows = np.arange(len(values))
    if len(rows) > limits.MAX_OBSERVATIONS:
        rows = np.sort(generator(0, "observations").choice(rows, limits.MAX_OBSERVATIONS, replace=False))
    x = coords[:, 0]
    if _in_degrees(layers):  # round the globe as often as the map does
        x = x + 360 * np.round(((layers.extent[0] + layers.extent[2]) / 2 - x) / 360)
    parts = {"x": x, "y": coords[:, 1], "value": values, "shade": shade}
    return {**{name: _rounded(part[rows]) for name, part in parts.items()}, "total": len(values)}


def law_gap(fitted: Fitted, layers: MapLayers, diagnostics: Diagnostics, threshold: float) -> float | None:
    """Largest error of taking the averaged law as normal, over some pixels; None where it is normal anyway."""
    if len(fitted.model.mixture.mass) == 1:
        return None
    rng, region = generator(0, "pixels"), diagnostics.region
    x, y = layers.centres()
    at = np.argwhere(layers.known)
    at = at[rng.choice(len(at), min(limits.LINK_PROBES, len(at)), replace=False)]
    coords = np.tile(np.asarray(region.middle), (len(at), 1))
    coords[:, region.axes[0]], coords[:, region.axes[1]] = x[at[:, 1]], y[at[:, 0]]
    law = fitted.law(rows_at(fitted, coords, diagnostics.covariate_means))
    limit = float(fitted.model.family.link_of(np.array(threshold)))
    normal = special.ndtr((law.eta.mean - limit) / np.maximum(law.eta.sd, 1e-300))
    return float(np.max(np.abs(law.exceedance(threshold) - normal)))


def _in_degrees(layers: MapLayers) -> bool:
    """Whether the map is one of longitudes and latitudes, whose pixels shrink towards the poles."""
    _, south, _, north = layers.extent
    return layers.km_per_unit is not None and 100 < layers.km_per_unit[1] < 120 and south >= -90 and north <= 90


def _brought_to(fitted: Fitted, survey: Survey, means: Mapping[str, float]) -> FloatArray:
    """Responses less what their covariates add on the scale of the link, beyond those of the map."""
    layout, family = fitted.layout, fitted.model.family
    covariates = survey.covariates(layout)
    if not covariates.shape[1]:
        return survey.response
    beta = fitted.fixed_effects[0][int(layout.trend.intercept) :]
    effect = (covariates - np.array([means[name] for name in layout.columns.covariate_names])) @ beta
    start = survey.response if family.observes_eta else family.start(np.asarray(survey.y, float), survey.size)
    return np.asarray(family.mean(start - effect))


def _rounded(values: FloatArray) -> list[float]:
    """Seven digits: metres in a country, and short to write."""
    return [float(f"{value:.7g}") for value in values]


def _round(value: float) -> float:
    return float(f"{value:.10g}")
