"""Means over areas as files, as rows for JSON and as a table for reading."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from bochner.cli._terminal import as_table
from bochner.geo import attributes, is_geographic, write_vector
from bochner.geo.spreadsheets import plain_cells
from bochner.maps.hot_places import area_names
from bochner.outputs import complete_files, told_as_output

GEOJSON = (".geojson", ".json")
SHOWN_AREAS = 40  # areas in a table for reading


def write_areas(means: Any, path: Path, *, escape_formulas: bool = False) -> tuple[str, ...]:
    """Write areas with their means: a CSV without the polygons, anything else with them; notes for the user."""
    if path.suffix.lower() != ".csv":
        return write_vector(cut_at_date_line(means) if path.suffix.lower() in GEOJSON else means, path)
    with complete_files(path) as partial, told_as_output(path):
        table = plain_cells(attributes(means)) if escape_formulas else attributes(means)
        table.to_csv(partial, index=False)
    return ()


def cut_at_date_line(areas: Any) -> Any:
    """Areas whose longitudes leave [-180, 180], as GeoJSON has them: in two where they cross the date line.

    RFC 7946, section 3.1.9. Columns x and y, of the highest place of a hotspot, go along.
    """
    import shapely
    from shapely import affinity

    shapes = areas.geometry
    if not is_geographic(areas.crs) or not len(areas):
        return areas
    if shapes.bounds.minx.min() >= -180 and shapes.bounds.maxx.max() <= 180:
        return areas

    def cut(whole: Any) -> Any:
        west, south, east, north = whole.bounds
        turns = range(math.floor((west + 180) / 360), math.floor((east + 180) / 360) + 1)
        whole = shapely.make_valid(whole)
        pieces = [shapely.box(360 * k - 180, south, 360 * k + 180, north).intersection(whole) for k in turns]
        moved = [affinity.translate(one, -360.0 * k) for one, k in zip(pieces, turns, strict=True) if one.area > 0]
        return shapely.union_all(moved)

    made = areas.set_geometry([cut(one) for one in shapes], crs=areas.crs)
    return made.assign(x=(made.x + 180) % 360 - 180) if {"hotspot", "x"} <= set(made.columns) else made


def area_rows(means: Any) -> list[dict[str, Any]]:
    """One mapping of columns to values for every area."""
    return [dict(row) for row in attributes(means).to_dict(orient="records")]


def area_table(means: Any) -> str:
    """The areas by name, those with the highest mean first."""
    names, order = area_names(means), np.argsort(-means["mean"].to_numpy(), kind="stable")[:SHOWN_AREAS]
    columns = ["mean", "sd", "lower", "upper", *(c for c in means.columns if str(c).startswith("exceedance_"))]
    columns += [c for c in ("weight", "total", "rows") if c in means.columns]
    labels = [f"{name}{' (no data)' * blank}" for name, blank in zip(names, means["no_data"], strict=True)]
    rows = [[labels[i], *(float(v) for v in means[columns].iloc[i])] for i in order]
    table = as_table([str(getattr(names, "name", "row")), *columns], rows)
    return table if len(means) <= SHOWN_AREAS else f"{table}\n... and {len(means) - SHOWN_AREAS:,} areas more"
