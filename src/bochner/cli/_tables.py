"""Files as the tables that models are fitted to and predict at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.cli._amiss import amiss, exchanged, swapped_rows, yes_or_no
from bochner.cli._heads import no_target
from bochner.cli._sheets import sheets_told
from bochner.cli._spec import GAPS, Spec
from bochner.exceptions import ColumnError, InputError
from bochner.families import family_named
from bochner.geo import (
    READ_TABLES,
    Places,
    RasterGrid,
    as_crs,
    crs_name,
    is_lonlat,
    raster_at,
    read_places,
    same_crs,
    transform,
)
from bochner.geo.cube_bands import named_band
from bochner.geo.grids import box_text
from bochner.geo.lonlat import lonlat_axes
from bochner.geo.rasters import categories, holds_classes
from bochner.geo.vectors import is_geoparquet
from bochner.spelling import check_columns

SWAPPED = "its coordinates look swapped (--fix-swapped exchanges them)"
GEOMETRY = ("x", "y")  # what a model calls coordinates that have a CRS but are no longitude and latitude


@dataclass(frozen=True)
class Training:
    """Rows to be fitted.

    Attributes
    ----------
    table : DataFrame or GeoDataFrame
        As `SpatialRegressor.fit` takes it.
    coords, covariates : names of columns, as its parameters
    columns : response, trials, exposure and offset by what they are to the model, each a Series with its name
    places : Places
        What was read, without the rows that miss a value.
    predict_at : DataFrame, optional
    """

    table: Any
    coords: list[str]
    covariates: list[str]
    columns: Mapping[str, Any]
    places: Places
    predict_at: Any = None


def training(spec: Spec) -> tuple[Spec, Training]:
    """The rows that a spec asks for, and the spec with its target filled in."""
    covariates = [*spec.covariates, *spec.covariate]
    with sheets_told(spec.data):
        spec, places = _read(spec)
        check_columns(list(spec.roles.values()), places.names, places.source)
    family = family_named(spec.family)
    places = exchanged(places) if spec.fix_swapped else places
    places = with_rasters(yes_or_no(places, family, spec.roles["target"]), spec.covariate)
    own = [name for name in (spec.groups,) if name is not None]
    known = [*spec.roles.values(), *([] if spec.error_sd is None else [spec.error_sd])]
    used = [*places.coords, *covariates, *known, *own]
    twice = [name for name in used if used.count(name) > 1]
    if twice:
        raise InputError(
            f"column {twice[0]!r} is named twice, as target, coordinate, covariate or the like; name it once."
        )
    check_columns(used, places.names, places.source)
    bad = places.bad_rows([name for name in used if name not in own], covariates)
    roles = spec.roles if spec.error_sd is None else {**spec.roles, "error_sd": spec.error_sd}
    found, swapped = amiss(family, roles, places, bad), swapped_rows(places).tolist()
    if swapped and not spec.drop_bad:
        hint = "rows may be swapped: --fix-swapped exchanges their coordinates, --drop-bad leaves them out."
        places = replace(places, notes=(*places.notes, f"{len(swapped):,} of {len(places):,} {hint}"))
    why = {row: SWAPPED for row in swapped if spec.drop_bad or row in found.rows}
    places = places.without(dict(sorted({**found.rows, **why}.items())), spec.drop_bad, found.way)
    whole, places = places, places.complete(used, covariates, own)
    coords, table = _fitted_table(places, covariates)
    numbers = places.numbers(known)
    columns = {role: numbers[name] for role, name in spec.roles.items()}
    if spec.error_sd is not None:
        columns["measurement_variance"] = numbers[spec.error_sd] ** 2
    if spec.groups is not None:
        columns["groups"] = places.frame[spec.groups]
    at = None if spec.predict_at is None else _wanted(spec.predict_at, whole, coords)
    return spec, Training(table, coords, covariates, columns, places, at)


def with_rasters(places: Places, rasters: Mapping[str, Any]) -> Places:
    """Places with the values of rasters as further columns; NaN where a raster has none."""
    taken = [name for name in rasters if name in (*places.names, *places.unread)]
    if taken:
        raise InputError(
            f"{places.source} has a column {taken[0]!r}, and --covariate gives another by that name; leave the raster "
            f"out to use the column, or rename one of them."
        )
    if not rasters:
        return places
    pair = np.nan_to_num(places.pair(loose=True))
    return places.with_columns({name: _sampled(raster, pair, places, name) for name, raster in rasters.items()})


def read_like(
    model: SpatialRegressor, path: Path, *, coords: Sequence[str] = (), crs: str | None = None, layer: str | None = None
) -> Places:
    """Places of a file, with coordinates in a CRS from which the model's can be reached."""
    own = model.fitted_.layout.columns.coord_names
    with sheets_told(path):
        places = _read_coords(path, tuple(coords) or None, own, crs, layer)
    if places.crs is None and model.crs_ is not None:
        if places.kind not in ("table", "vector"):
            raise InputError(
                f"{places.source} has no CRS, and the model was fitted in {model.crs_}; give it with --crs."
            )
        named = places.coords if places.kind == "table" else None
        places = read_places(path, layer=layer, coords=named, crs=model.crs_)
        told = f"coordinates of {places.source} are taken to be in {crs_name(as_crs(model.crs_))}, as the model's are."
        return replace(places, notes=(*places.notes, told))
    if places.crs is not None and model.crs_ is None and not set(own) <= set(places.coords):
        raise InputError(
            f"{places.source} is in {crs_name(places.crs)}, but the model was fitted without a CRS; fit it again with "
            f"--crs, or give places in the same plane."
        )
    return places


def model_table(model: SpatialRegressor, places: Places) -> Any:
    """Rows of places as `predict` takes them: the model's own columns, in its own CRS and order."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            "the model was fitted to an array without column names; fit it to a table, or predict in Python."
        )
    layout = model.fitted_.layout
    coords = layout.columns.coord_names
    table = _located(places, list(coords), layout.crs)
    further = [name for name in layout.inputs if name not in coords]
    others = places.values(further, further)
    return table.join(others)[list(layout.inputs)]


def _read(spec: Spec) -> tuple[Spec, Places]:
    """Read what is needed of a file; the only band of a raster is its target."""
    more = [name for name in (spec.error_sd, spec.groups) if name is not None]
    columns = None if spec.target is None else [*spec.covariates, *spec.roles.values(), *more]
    places = read_places(spec.data, layer=spec.layer, coords=spec.coords or None, crs=spec.crs, columns=columns)
    if spec.target is not None:
        return spec, places
    others = [name for name in places.names if name not in places.coords]
    if places.grid is None or len(others) != 1:
        raise no_target(others)
    return replace(spec, target=others[0]), places


def _read_coords(
    path: Path, coords: tuple[str, ...] | None, own: Sequence[str], crs: str | None, layer: str | None
) -> Places:
    """Places by the columns that are named; of a table, else by those that the model knows, or by the usual names."""
    table = path.suffix.lower() in READ_TABLES and not is_geoparquet(path)
    for names in [coords] if coords or not table else [tuple(own), None]:
        try:
            return read_places(path, layer=layer, coords=names, crs=crs)
        except ColumnError as error:
            failure = error
    raise failure


def _fitted_table(places: Places, covariates: list[str]) -> tuple[list[str], Any]:
    """Names of the coordinates, and the table: with a geometry where the names alone do not tell the CRS."""
    axes = lonlat_axes(places.coords)
    further = [name for j, name in enumerate(places.coords) if j not in axes]
    if places.crs is None or (is_lonlat(places.coords) and same_crs(places.crs, "EPSG:4326")):
        return list(places.coords), places.values([*places.coords, *covariates], covariates)
    import geopandas

    clash = [name for name in [*further, *covariates] if name in GEOMETRY]
    if clash:
        raise InputError(f"column {clash[0]!r} has the name of a coordinate of the map; rename it.")
    points = geopandas.points_from_xy(*places.pair().T)
    frame = places.values([*further, *covariates], covariates)
    return [*GEOMETRY, *further], geopandas.GeoDataFrame(frame, geometry=points, crs=places.crs)


def _wanted(path: Path, places: Places, coords: list[str]) -> Any:
    """Places to be predicted as a table of coordinates, in the CRS of the rows."""
    at = places.gaps() if path == GAPS else _read_coords(path, None, coords, None, None)
    if at.crs is None and places.crs is not None:
        at = replace(at, crs=places.crs)
    at = at.complete(at.coords)
    return _located(at, coords, places.crs)


def _located(places: Places, names: list[str], crs: Any) -> Any:
    """Coordinates under the names and in the CRS of a model, as a data frame."""
    if len(names) == 1:
        return places.values(names)
    axes = lonlat_axes(names)
    table = places.values([name for j, name in enumerate(names) if j not in axes])
    for axis, values in zip(axes, _moved(places, crs).T, strict=True):
        table[names[axis]] = values
    return table[names]


def _moved(places: Places, crs: Any) -> FloatArray:
    """Easting and northing (n, 2) in a CRS, as they are where either has none; NaN where one is missing."""
    pair = places.pair().copy()
    known = np.isfinite(pair).all(axis=1)
    pair[~known] = np.nan
    if crs is not None and places.crs is not None:
        pair[known] = transform(pair[known], places.crs, crs)
    return pair


def _sampled(raster: Any, pair: FloatArray, places: Places, name: str) -> Any:
    """Values of a raster at places, as a column: numbers, or categories where the raster holds classes."""
    if not isinstance(raster, Path):
        return np.full(len(pair), float(raster))
    from bochner.geo import grid_like

    grid = grid_like(raster)
    if (grid.crs is None) != (places.crs is None):
        which, other = (raster.name, places.source) if grid.crs is None else (places.source, raster.name)
        raise InputError(f"{which} has no CRS and {other} has one, so the two cannot be laid over each other; give it.")
    band = named_band(raster, name)
    classes = holds_classes(band)
    values = raster_at(band, pair, places.crs, resampling="classes" if classes else None)
    if not np.isfinite(values).any():
        raise InputError(_apart(raster, band, grid, pair, places))
    return categories(values) if classes else values


def _apart(raster: Path, band: Any, grid: RasterGrid, pair: FloatArray, places: Places) -> str:
    """What to say where a raster has no value at any place."""
    swapped = np.isfinite(raster_at(band, pair[:, ::-1], places.crs, resampling="classes")).mean() > 0.5
    names = " and ".join(places.coords[:2])
    hint = f"with {names} swapped it would: check their order" if swapped else "check the CRS of both"
    low, high = pair.min(axis=0), pair.max(axis=0)
    return (
        f"{raster.name} has no value at any place of {places.source}: it covers {box_text(grid.bounds)}, the places "
        f"{box_text((*low, *high))}; {hint}."
    )
