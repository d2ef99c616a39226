"""Recognition: what a file holds, which parts its columns may play, and what is wrong in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import BochnerError, ColumnError, InputError
from bochner.formats import CUBES, RASTERS
from bochner.geo import READ_TABLES, Places, as_crs, choose_placement, crs_name, is_geographic, read_places
from bochner.geo.kinds import is_category, is_time
from bochner.geo.lonlat import is_lonlat, is_plain_lonlat
from bochner.geo.tables import find_coords, misprints, read_table
from bochner.geo.vectors import is_geoparquet
from bochner.geo.world import outlines_around
from bochner.layout.oddities import odd_places
from bochner.random import generator
from bochner.report.raster import pack
from bochner.studio import limits

EAST = r"(^|[^a-z])(lon|lng|long|longitude|east|easting|x|utm_?e|este|leste)([^a-z]|$)|longitud|easting"
NORTH = r"(^|[^a-z])(lat|latitude|north|northing|y|utm_?n|nord|norte)([^a-z]|$)|latitud|northing"
DEGREES = r"(^|[^a-z])(lon|lng|long|lat)([^a-z]|$)|longitud|latitud"
# English, French, Spanish and Portuguese, as `plain` spells them: small letters without accents
POSITIVE = r"positi[vf]|infected|infect(e|ad)|diseased|malad|cases|successes|n_?pos|affected"
EXAMINED = (
    r"examin|tested|testad|teste$|testes$|trials|sampled|screened|depist|preleve|n_?exam|n_?test|surveyed|total|^n$"
)
CASES = r"cases|(^|[^a-z])cas(os?)?([^a-z]|$)|deaths|deces|muertes|obitos|counts?$|incidents|n_?cases"
PEOPLE = r"popul|poblaci|person|exposure|at_?risk|inhabit|habitant|people|^pop"
PRESENCE = r"presen|occur|absen|detect"
NO_MEASURE = r"^(id|fid|ogc_fid|index|row|nr|no|number|code|zip|year|month|day|annee|mois|unnamed.*)$|_id$|^id[ _]"
COVARIATE = (
    r"elev|alti|height|hauteur|altura|dem|slope|pente|rain|pluie|lluvia|chuva|precip|ndvi|evi|distan|dist_|densi|soil"
    r"|aspect|humid|urban|depth|profond"
)
GROUP = r"station|household|cluster|site|plot|subject"


@dataclass(frozen=True)
class Guess:
    """A spec that fits the columns, and why each column has its part."""

    spec: dict[str, Any]
    why: dict[str, tuple[str, str]]


def data_view(
    path: Path, layer: str | None = None, coords: Sequence[str] = (), crs: str | None = None
) -> tuple[dict[str, Any], Places | None]:
    """What the page shows of a file, and its places where it has any."""
    kind = _kind(path)
    frame, notes, places, complaint = _read(path, kind, layer, tuple(coords), crs)
    if kind == "stack" and places is not None and places.labels is None:
        kind = "image"  # a cube of one
    names = [str(name) for name in frame.columns if places is None or not _made(places, str(name))]
    columns = [_column(frame[name], name) for name in names]
    chosen = () if places is None else places.coords
    guess = propose(columns, frame, chosen if kind == "table" else (), kind)
    if kind == "image" and places is not None and _has_gaps(places):
        guess.spec["predict_at"] = "gaps"
    if kind == "table" and places is not None and places.crs is not None and not is_plain_lonlat(places.coords):
        guess.spec["crs"] = crs or crs_name(places.crs)
    for column in columns:
        column["role"], column["why"] = guess.why.get(column["name"], ("unused", "not needed for a map"))
    problems = [] if places is None else _problems(places, columns)
    view: dict[str, Any] = {
        "file": path.name,
        "kind": "table" if kind in ("table", "vector") else kind,
        "n_rows": len(frame),
        "columns": columns,
        "preview": _preview(frame[names]),
        "points": None if places is None else _points(places, guess.spec),
        "image": None if places is None else _image(places, guess.spec.get("target")),
        "background": {} if places is None else _background(places),
        "problems": problems,
        "flags": [] if places is None else _flags(places),
        "notes": [*notes, *([complaint] if complaint else [])],
        "complaint": complaint,
        "crs": None if places is None or places.crs is None else crs_name(places.crs),
        "proposal": guess.spec,
    }
    more = len(view["problems"]) - limits.LISTED_PROBLEMS
    if more > 0:
        view["problems"] = view["problems"][: limits.LISTED_PROBLEMS]
        view["notes"].append(f"{more:,} more rows are amiss, and not listed.")
    return view, places


def propose(columns: Sequence[Mapping[str, Any]], frame: Any, coords: Sequence[str], kind: str) -> Guess:
    """Parts for the columns by their names and values: what is measured, out of what, and where."""
    why = dict.fromkeys(coords, ("coordinate", "its name says where"))
    free = [c["name"] for c in columns if c["name"] not in coords and c["kind"] == "number" and _varies(c)]
    free = [name for name in free if not re.search(NO_MEASURE, plain(name))]
    spec: dict[str, Any] = {"measures": "number", "coords": list(coords), "covariates": [], "covariate": {}}
    if kind in ("image", "stack"):
        target = free[0] if free else (columns[0]["name"] if columns else None)
        return Guess({**spec, "target": target, "drop_bad": False}, {**why, **_measured(target)})
    found, told = _counted(free, frame)
    spec |= found
    if not found:
        likely = [n for n in free if not re.search(COVARIATE, plain(n)) and n not in _place_names(free)]
        target = likely[-1] if likely else (free[-1] if free else None)
        spec["target"], told = target, _measured(target)
    spec["covariates"] = [n for n in free if n not in told and re.search(COVARIATE, plain(n))]
    told |= dict.fromkeys(spec["covariates"], ("covariate", "a property of the place, by its name"))
    groups = [c["name"] for c in columns if c["kind"] == "text" and re.search(GROUP, plain(c["name"]))]
    if groups and frame[groups[0]].duplicated().mean() > 0.5:
        spec["groups"] = groups[0]
        told[groups[0]] = ("groups", "rows of one are held out together, as new ones will be")
    spec["drop_bad"] = False
    return Guess(spec, {**why, **told})


def guessed_coords(names: Sequence[str], source: str) -> list[str]:
    """Coordinate columns by their usual names, or by names that contain them."""
    try:
        return find_coords(names, source)
    except ColumnError:
        pair = [next((n for n in names if re.search(p, plain(n))), None) for p in (EAST, NORTH)]
        if pair[0] is None or pair[1] is None:
            told = f"No coordinates were recognised in {source}: choose the columns that say where."
            raise InputError(told) from None
        return [pair[0], pair[1]]


def plain(name: str) -> str:
    """A name of a column in small letters without accents: `Examinés` is `examines`."""
    parts = unicodedata.normalize("NFKD", name.strip().lower())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _counted(free: Sequence[str], frame: Any) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Positives of examined, cases by population or presence, where two columns or their values say so."""
    numbers = {name: _numbers(frame[name]) for name in free}
    whole = [n for n in free if _whole(numbers[n])]
    for first, second, measures, size, texts in PAIRS:
        for one in [n for n in whole if re.search(first, plain(n))]:
            for other in [n for n in free if n != one and re.search(second, plain(n))]:
                if np.nanmean(numbers[one] <= numbers[other]) > 0.9 and np.nanmin(numbers[other]) >= 0:
                    told = {one: ("target", texts[0]), other: (size, texts[1])}
                    return {"measures": measures, "target": one, size: other}, told
    for name in [n for n in whole if re.search(PRESENCE, plain(n))]:
        if set(np.unique(numbers[name][np.isfinite(numbers[name])])) <= {0.0, 1.0}:
            return {"measures": "presence", "target": name}, {name: ("target", "0 and 1 under such a name: presence")}
    return {}, {}


PAIRS = (
    (POSITIVE, EXAMINED, "positives", "trials", ("how many were positive", "how many were examined")),
    (CASES, PEOPLE, "cases", "exposure", ("how many cases there were", "among how many people")),
)


def _measured(target: str | None) -> dict[str, tuple[str, str]]:
    return {} if target is None else {target: ("target", "the number that is most likely the measurement")}


def _kind(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in RASTERS:
        return "image"
    if ending in CUBES:
        return "stack"
    return "table" if ending in READ_TABLES and not is_geoparquet(path) else "vector"


def _read(
    path: Path, kind: str, layer: str | None, coords: tuple[str, ...], crs: str | None
) -> tuple[Any, tuple[str, ...], Places | None, str]:
    """Data frame, notes, places and, where there are none, why."""
    if kind != "table":
        places = read_places(path, layer=layer, coords=coords or None, crs=crs)
        return places.frame, places.notes, places, ""
    table = read_table(path)
    frame = table.arrow.to_pandas()
    if len(set(frame.columns)) < len(frame.columns):
        twice = next(n for n in frame.columns if list(frame.columns).count(n) > 1)
        raise InputError(f"{path.name} has several columns {str(twice)!r}; rename all but one.")
    try:
        names = list(coords) or guessed_coords(table.names, table.source)
        places = read_places(path, coords=names, crs=crs or _degrees(frame, names))
    except BochnerError as error:
        return frame, table.notes, None, str(error)
    return frame, places.notes, places, ""


def _degrees(frame: Any, names: Sequence[str]) -> str | None:
    """The CRS of columns that are named like degrees, but not as everybody names them."""
    if is_plain_lonlat(names) or not all(re.search(DEGREES, plain(str(name))) for name in names[:2]):
        return None
    pair = np.column_stack([_numbers(frame[name]) for name in names[:2]])
    inside = (np.abs(pair[:, 0]) <= 360) & (np.abs(pair[:, 1]) <= 90)
    return "EPSG:4326" if np.mean(inside[np.isfinite(pair).all(axis=1)]) > 0.9 else None


def _made(places: Places, name: str) -> bool:
    """Whether a column was made from geometry or pixels."""
    return places.kind != "table" and name in places.coords


def _column(column: Any, name: str) -> dict[str, Any]:
    """One column in numbers and words."""
    told: dict[str, Any] = {"name": name, "missing": int(column.isna().sum()), "role": "unused", "why": ""}
    if is_time(column):
        return {**told, "kind": "date", "levels": int(column.nunique())}
    values = _numbers(column)
    known = values[np.isfinite(values)]
    if is_category(column) or not len(known):
        levels = [str(v)[: limits.LONGEST_NAME] for v in column.dropna().value_counts().index[: limits.LISTED_LEVELS]]
        return {**told, "kind": "text", "levels": int(column.nunique()), "examples": levels}
    kind = "number"
    numbers = {"low": float(known.min()), "high": float(known.max()), "mean": float(f"{known.mean():.10g}")}
    return {**told, "kind": kind, **numbers, "levels": len(np.unique(known))}


def _problems(places: Places, columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows that cannot be used, and by which column: text for a number, degrees beyond the Earth."""
    numeric = [c["name"] for c in columns if c["kind"] == "number"]
    found = [
        {"line": places.line(int(row)), "column": name, "text": f"{name} is {str(places.frame[name].iloc[row])!r}"}
        for name in numeric
        for row in np.flatnonzero(misprints(places.frame[name]))
    ]
    off = places.bad_rows([])
    return found + [{"line": places.line(row), "column": None, "text": text} for row, text in off.items()]


def _preview(frame: Any) -> dict[str, Any]:
    head = frame.head(limits.PREVIEW_ROWS)
    columns = [_texts(head.iloc[:, k]) for k in range(head.shape[1])]
    return {"header": [str(name) for name in head.columns], "rows": [list(row) for row in zip(*columns, strict=True)]}


def _texts(column: Any) -> list[str]:
    """Values as the file has them: counts stay whole where some are missing, which makes floats of them."""
    known = [v for v in column if not _empty(v)]
    whole = column.dtype.kind == "f" and all(float(v).is_integer() for v in known)
    return ["" if _empty(v) else str(int(v) if whole else v)[: limits.MOST_TEXT] for v in column]


def _points(places: Places, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Places for the small map: all of them, or a sample."""
    pair = places.pair(loose=True)
    known = np.flatnonzero(np.isfinite(pair).all(axis=1))
    rows = known
    if len(rows) > limits.SHOWN_POINTS:
        rows = np.sort(generator(0, "points").choice(rows, limits.SHOWN_POINTS, replace=False))
    out: dict[str, Any] = {
        "x": _short(pair[rows, 0]),
        "y": _short(pair[rows, 1]),
        "row": rows.tolist(),
        "names": list(places.coords[:2]),
        "geographic": places.crs is not None and is_geographic(places.crs),
        "crs": None if places.crs is None else crs_name(places.crs),
        "lonlat": is_lonlat(places.coords),
        "km": _km(places, pair[known]),
        "n": len(known),
        "shown": len(rows),
    }
    target, size = spec.get("target"), spec.get("trials") or spec.get("exposure")
    if target in places.names:
        values = _numbers(places.frame[target])
        if size in places.names:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = values / _numbers(places.frame[size])
        out["value"] = [None if not np.isfinite(v) else float(f"{v:.5g}") for v in values[rows]]
    return out


def _has_gaps(places: Places) -> bool:
    return places.grid is not None and places.pixels is not None and len(places.pixels) < places.grid.n_pixels


def _km(places: Places, pair: FloatArray) -> list[float] | None:
    """Kilometres in a unit of easting and of northing, in the middle of the places."""
    if places.crs is None or not len(pair):
        return None
    middle = np.median(pair, axis=0)
    around = middle + np.array([[-1e-3, -1e-3], [0.0, 0.0], [1e-3, 1e-3]])
    try:
        found = choose_placement(around, places.crs, ("x", "y")).km_per_unit(middle)
    except InputError:
        return None
    return None if found is None else list(found)


def _image(places: Places, target: str | None) -> dict[str, Any] | None:
    """An image as it is, gaps and all; of a stack, and of what is no even grid, none."""
    if places.grid is None or places.pixels is None or places.labels is not None or target not in places.names:
        return None
    values = np.full(places.grid.n_pixels, np.nan)
    values[places.pixels] = _numbers(places.frame[target])
    step = -(-max(places.grid.shape) // limits.PICTURE_SIDE)
    raster = values.reshape(places.grid.shape)[::step, ::step]
    a, _, _, _, e, _ = places.grid.transform
    raster = raster[:: 1 if e < 0 else -1, :: 1 if a > 0 else -1]  # north up, east to the right
    rows, columns = raster.shape
    return {"rows": rows, "columns": columns, "extent": list(places.grid.bounds), "values": pack(raster)}


def _background(places: Places) -> dict[str, Any]:
    """Coastlines and borders around most of the places."""
    pair = places.pair(loose=True)
    pair = pair[np.isfinite(pair).all(axis=1)]
    if places.crs is None or not len(pair):
        return {}
    (west, south), (east, north) = np.quantile(pair, [0.005, 0.995], axis=0)
    room = 0.1 * max(east - west, north - south, 1e-9)
    box = (float(west - room), float(south - room), float(east + room), float(north + room))
    lines = outlines_around(box, as_crs(places.crs))
    return {kind: [_short(np.asarray(line).ravel()) for line in found] for kind, found in lines.items()}


def _flags(places: Places) -> list[dict[str, Any]]:
    """Rows that lie far from all others, or whose coordinates look swapped."""
    pair = places.pair(loose=True)
    fine = np.setdiff1d(np.flatnonzero(np.isfinite(pair).all(axis=1)), list(places.bad_rows([])))
    if places.kind not in ("table", "vector") or len(fine) < 10:
        return []
    try:
        names = ("lon", "lat") if is_lonlat(places.coords) else ("x", "y")
        odd = odd_places(pair[fine], choose_placement(pair[fine], places.crs, names))
    except InputError:
        return []
    out = []
    for rows, what in ((odd.swapped, "its coordinates look swapped"), (odd.far, "lies far from all others")):
        out += [{"row": int(fine[r]), "text": f"{places.line(int(fine[r]))}: {what}"} for r in rows]
    return out[: limits.LISTED_PROBLEMS]


def _place_names(names: Sequence[str]) -> list[str]:
    return [n for n in names if re.search(EAST, plain(n)) or re.search(NORTH, plain(n))]


def _numbers(column: Any) -> FloatArray:
    import pandas as pd

    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)


def _whole(values: FloatArray) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known)) and bool(np.all(known == np.round(known)))


def _varies(column: Mapping[str, Any]) -> bool:
    return bool(column.get("high", 0) > column.get("low", 0))


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _short(values: FloatArray) -> list[float]:
    """Seven digits: metres in a country, and short to write."""
    return [float(f"{v:.7g}") for v in values]
