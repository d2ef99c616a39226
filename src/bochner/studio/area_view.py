"""Area view: districts and hotspots as the page lists and draws them, out of the files that commands wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner.estimators import SpatialRegressor
from bochner.exceptions import InputError
from bochner.geo import read_areas
from bochner.geo.grids import Bounds
from bochner.maps.hot_places import area_names
from bochner.report import Answer
from bochner.report.answer import is_rate, is_share, total_of


def areas_of(
    model: SpatialRegressor,
    areas: Path,
    table: Path,
    places: Path | None,
    threshold: float,
    extent: Bounds,
    *,
    weights: Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    n_points: int = 300,
) -> dict[str, Any]:
    """Rows, sentences and outlines of `bochner aggregate`'s table, and of `bochner hotspots`' list where there is one.

    Numbers are those of the files; the interval of the total of all areas alone is computed here, as the report does.
    """
    answer = _answer(model, areas, table, places, threshold)
    if weights is not None and answer.counted and "total" in answer.areas:
        options = {"weights_raster": weights, "covariates": inputs, "random_state": 0}
        answer = replace(answer, total=total_of(model, answer.areas, n_points, options))
    header, hot = answer.places if len(answer.hotspots) else ([], [])
    return {
        "header": answer.header,
        "cells": [[list(cell) for cell in row] for row in answer.rows],
        "rows": [_row(answer, i) for i in range(len(answer.names))],
        "sentences": answer.sentences if places is not None else answer.sentences[:2],
        "outlines": answer.drawn(extent),
        "hotspots": None if places is None else {"header": header, "rows": hot, "outlines": _shapes(answer.hotspots)},
        "noun": answer.noun,
        "total": answer.total,
        "threshold": answer.threshold,
        "is_share": answer.is_share,
        "csv": table.read_text(encoding="utf-8"),
    }


def _answer(model: SpatialRegressor, areas: Path, table: Path, places: Path | None, threshold: float) -> Answer:
    import pandas as pd

    polygons = read_areas(areas)
    if model.crs_ is not None and polygons.crs is not None:
        polygons = polygons.to_crs(model.crs_)
    found = pd.read_csv(table)
    if len(found) != len(polygons):
        raise InputError(f"{table.name} has {len(found):,} rows and {areas.name} {len(polygons):,}; aggregate again.")
    numbers = [name for name in found.columns if name not in polygons.columns]
    joined = polygons.reset_index(drop=True).join(found[numbers])
    if not any(str(name).startswith("exceedance_") for name in numbers):
        raise InputError("the table has no probability of exceeding a threshold; give one and aggregate again.")
    hot = _hotspots(places, model)
    noun = areas.stem.lower() if areas.stem.isalpha() and areas.stem.lower().endswith("s") else "areas"
    names = tuple(str(name) for name in area_names(joined))
    return Answer(joined, names, noun, threshold, is_share(model), None, hot, is_rate(model)).judged()


def _hotspots(places: Path | None, model: SpatialRegressor) -> Any:
    import geopandas

    if places is None:
        return geopandas.GeoDataFrame({"geometry": []}, geometry="geometry")
    found = geopandas.read_file(places)
    return found if model.crs_ is None or found.crs is None else found.to_crs(model.crs_)


def _row(answer: Answer, i: int) -> dict[str, Any]:
    row = answer.areas.iloc[i]
    known = {"mean": "mean", "sd": "sd", "low": "lower", "high": "upper", "people": "weight", "total": "total"}
    numbers = {name: _finite(row[column]) for name, column in known.items() if column in answer.areas}
    judged = {"probability": _finite(answer.chance[i]), "no_data": bool(answer.no_data[i])}
    return {"name": answer.names[i], **numbers, **judged}


def _shapes(places: Any) -> list[list[list[float]]]:
    """Outer rings of polygons as flat lists of coordinates."""
    out = []
    for shape in places.geometry:
        parts = getattr(shape, "geoms", [shape])
        rings = [np.asarray(part.exterior.coords)[:, :2] for part in parts if hasattr(part, "exterior")]
        out.append([[float(f"{v:.7g}") for v in ring.ravel()] for ring in rings])
    return out


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
