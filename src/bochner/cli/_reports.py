"""What a report is made from: the rows that may be shown, and the map that is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bochner import SpatialRegressor
from bochner.cli._amiss import amiss, yes_or_no
from bochner.cli._tables import model_table, read_like, with_rasters
from bochner.diagnostics import diagnostics_of
from bochner.exceptions import InputError
from bochner.geo import read_areas
from bochner.report import Answer, MapLayers, Survey, answer_of
from bochner.report.gridded import gridded_layers


def response_name(model: SpatialRegressor) -> str:
    """What the map shows: a prevalence, a rate, or the column that was fitted."""
    return model.family_.surface_name or model.fitted_.layout.roles.get("target", "response")


def survey_of(
    model: SpatialRegressor,
    path: Path,
    inputs: Mapping[str, Any],
    roles: Mapping[str, str | None],
    coords: Sequence[str],
    crs: str | None,
    layer: str | None,
) -> tuple[Survey, tuple[str, ...]]:
    """Rows of a file with their responses, and notes for the user."""
    layout = model.fitted_.layout
    known = {**layout.roles, **{role: name for role, name in roles.items() if name is not None}}
    if "target" not in known:
        raise InputError(f"the model does not say which column of {path.name} is its response; name it with --target.")
    places = read_like(model, path, coords=coords, crs=crs, layer=layer)
    places = yes_or_no(places, model.family_, known["target"])
    wanted = [name for name in [*places.coords, *layout.inputs, *known.values()] if name in places.names]
    bad = places.bad_rows(list(dict.fromkeys(wanted)), [n for n in layout.inputs if n not in places.coords])
    places = places.without(amiss(model.family_, known, places, bad).rows, True, "them")
    places = with_rasters(places, {name: raster for name, raster in inputs.items() if name not in places.names})
    linear = [name for name in layout.inputs if name not in layout.columns.coord_names]
    places = places.complete([*places.coords, *linear, *known.values()], linear)
    columns = places.numbers(list(known.values()))
    values = {role: columns[name].to_numpy() for role, name in known.items()}
    return Survey(model_table(model, places), values.pop("target"), **values), places.notes


def page_answer(
    model: SpatialRegressor,
    areas: Path | None,
    weights: Path | None,
    inputs: Mapping[str, Any],
    threshold: float | None,
    points: int,
    within: Path | None,
    resolution: str | None,
) -> Answer | None:
    """Means over areas for the head of the page; None without areas."""
    if areas is None:
        if weights is not None:
            raise InputError("--weights was given without --areas; name the polygons that people are counted in.")
        return None
    if threshold is None:
        raise InputError("--areas was given without --threshold; say what they are to be compared with, e.g. 20%.")
    noun = areas.stem.lower() if areas.stem.isalpha() and areas.stem.lower().endswith("s") else "areas"
    return answer_of(
        model,
        read_areas(areas),
        threshold,
        weights_raster=weights,
        covariates=inputs,
        noun=noun,
        n_points=points,
        within=None if within is None else read_areas(within),
        resolution=resolution,
    )


def page_layers(
    model: SpatialRegressor, inputs: Mapping[str, Any], within: Path | None, resolution: str | None
) -> MapLayers | None:
    """The map with covariates from rasters; None for the page's own, with covariates at their means."""
    if not inputs and within is None and resolution is None:
        return None
    found = diagnostics_of(model)
    areas = None if within is None else read_areas(within)
    return gridded_layers(model, found, inputs, within=areas, resolution=resolution)
