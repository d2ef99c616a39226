"""Drawer: the state on the screen as commands and as Python that give the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from bochner.studio.specification import GAPS, family_of, options_of


def shell_of(folder: Path, lines: Sequence[str]) -> str:
    """Commands, one a line, run in the folder of the project."""
    return "\n".join([f"cd {quote(str(folder))}", *lines]) + "\n"


def python_of(spec: Mapping[str, Any], data: str, view: Mapping[str, Any] | None, number: str) -> str:
    """Python that fits the model as `bochner fit` does, and saves it; to be run in the folder of the project."""
    options = options_of(spec, data)
    sizes: dict[str, str] = {role: options[role] for role in ("trials", "exposure") if role in options}
    target = options.get("target") or _only_column(view)
    error = options.get("error_sd")
    numbers = [target, *sizes.values(), *([error] if error else [])]
    projected = _needs_geometry(view)
    parts = [
        _imports(bool(spec["covariate"]), projected),
        _rows(spec, options, numbers, target, sizes.get("trials")),
        _table(spec, projected, numbers),
        _model(spec, projected),
        _fit(spec, target, sizes, error),
        ["model.check()", "remember(model)", f"model.save({f'fits/{number}/model.bochner'!r})"],
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _imports(rasters: bool, projected: bool) -> list[str]:
    first = ["import geopandas", ""] if projected else []
    names = "raster_at, read_places" if rasters else "read_places"
    library = ["from bochner import SpatialRegressor", "from bochner.diagnostics import remember"]
    return [*first, *library, f"from bochner.geo import {names}", ""]


def _rows(
    spec: Mapping[str, Any], options: Mapping[str, Any], numbers: Sequence[str], target: str, trials: str | None
) -> list[str]:
    """Rows of the file with covariates from rasters, without those that are amiss or miss a value."""
    how = {"coords": spec["coords"], "crs": spec.get("crs"), "layer": spec.get("layer")}
    given = "".join(f", {name}={value!r}" for name, value in how.items() if value)
    lines = [f"rows = read_places({options['data']!r}{given})"]
    for name, file in options.get("covariate", {}).items():
        lines.append(f"rows = rows.with_columns({{{name!r}: raster_at({file!r}, rows.pair(loose=True), rows.crs)}})")
    covariates, groups = _covariates(spec), spec.get("groups")
    lines.append(f"used = [*rows.coords, {', '.join(map(repr, [*covariates, *numbers]))}]")
    if spec["drop_bad"]:
        lines.append(f"rows = rows.without(rows.bad_rows(used, {covariates!r}), True, 'them')")
        if trials is not None:
            lines += [
                f"counts = rows.numbers([{target!r}, {trials!r}])",
                f"wrong = (counts[{target!r}] > counts[{trials!r}]) | (counts < 0).any(axis=1)",
                "rows = rows.rows(~wrong.to_numpy())",
            ]
    if spec.get("predict_at") == GAPS:
        lines.append("gaps = rows.gaps()")
    own = f", [{groups!r}]" if groups else ""
    used = f"[*used, {groups!r}]" if groups else "used"
    return [*lines, f"rows = rows.complete({used}, {covariates!r}{own})"]


def _table(spec: Mapping[str, Any], projected: bool, numbers: Sequence[str]) -> list[str]:
    """Table of coordinates and covariates as `fit` takes it, and the columns of the response."""
    covariates = _covariates(spec)
    known = f"known = rows.numbers({list(dict.fromkeys(numbers))!r})"
    if not projected:
        names = ", ".join(["*rows.coords", *map(repr, covariates)])
        return [f"table = rows.values([{names}], {covariates!r})", known, ""]
    return [
        "points = geopandas.points_from_xy(*rows.pair().T)",
        f"table = rows.values([{', '.join(['*rows.coords[2:]', *map(repr, covariates)])}], {covariates!r})",
        "table = geopandas.GeoDataFrame(table, geometry=points, crs=rows.crs)",
        known,
        "",
    ]


def _model(spec: Mapping[str, Any], projected: bool) -> list[str]:
    """The model; parameters that are the library's choice are left out."""
    coords = "['x', 'y', *rows.coords[2:]]" if projected else "list(rows.coords)"
    found = [f"family={family_of(spec)!r}", f"coords={coords}"]
    found += [f"covariates={_covariates(spec)!r}"] if _covariates(spec) else []
    found += [f"{name}={spec[name]!r}" for name in ("kernel", "features", "n_frequencies") if spec.get(name)]
    if spec.get("noise_variance") is not None:
        found.append(f"noise_variance={spec['noise_variance']!r}")
    if spec.get("tune"):
        found.append(f"tune={None if str(spec['tune']).lower() == 'none' else spec['tune']!r}")
    found.append(f"random_state={spec.get('seed') or 0}")
    return ["model = SpatialRegressor(", *(f"    {one}," for one in found), ")"]


def _fit(spec: Mapping[str, Any], target: str, sizes: Mapping[str, str], error: str | None) -> list[str]:
    given = [f"known[{target!r}]", *(f"{role}=known[{column!r}]" for role, column in sizes.items())]
    given += [f"measurement_variance=known[{error!r}] ** 2"] if error else []
    given += [f"groups=rows.frame[{spec['groups']!r}]"] if spec.get("groups") else []
    if spec.get("predict_at") == GAPS:
        given.append("predict_at=gaps.coordinates()")
    return [f"model.fit(table, {', '.join(given)})"]


def _covariates(spec: Mapping[str, Any]) -> list[str]:
    return [*spec["covariates"], *spec["covariate"]]


def _only_column(view: Mapping[str, Any] | None) -> str:
    """The band of an image of one."""
    return str(view["columns"][0]["name"]) if view and view["columns"] else "value"


def _needs_geometry(view: Mapping[str, Any] | None) -> bool:
    """Whether names of coordinates do not tell their CRS, so that the table has to."""
    points = None if view is None else view.get("points")
    if points is None or points["crs"] is None:
        return False
    return not (points["lonlat"] and points["crs"] == "EPSG:4326")
