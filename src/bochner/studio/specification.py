"""Specification: the model on the page, checked, and written as the TOML file that `bochner fit --config` reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits

MEASURES = {"number": "gaussian", "positives": "binomial", "cases": "poisson", "presence": "bernoulli"}
GAPS = "gaps"
LARGEST = float(2**1000)  # of a number that is one to every reader


def checked_spec(given: Any) -> dict[str, Any]:
    """A spec with every key that is known; unknown keys and wrong types are refused by name."""
    if not isinstance(given, Mapping):
        raise InputError(f"the spec is a {type(given).__name__}; needed is an object such as {{'target': 'temp'}}.")
    unknown = [key for key in given if key not in FIELDS]
    if unknown:
        raise InputError(f"the spec has the unknown key {str(unknown[0])[:80]!r}; known are {', '.join(FIELDS)}.")
    empty: tuple[Any, ...] = (None, "", [], {})
    spec = {name: read(given[name], name) for name, read in FIELDS.items() if given.get(name) not in empty}
    spec = {"measures": "number", "coords": [], "covariates": [], "covariate": {}, "drop_bad": False, **spec}
    if spec["measures"] not in MEASURES:
        raise InputError(f"measures is {spec['measures']!r}; needed is one of {', '.join(MEASURES)}.")
    return spec


def family_of(spec: Mapping[str, Any]) -> str:
    """Family of a spec: the one that was named, or that of what is measured."""
    return str(spec.get("family") or MEASURES[spec["measures"]])


def options_of(spec: Mapping[str, Any], data: str, folder: str = "") -> dict[str, Any]:
    """Keys and values of the TOML file, paths relative to a folder `folder` steps away from the project."""
    size = {"positives": "trials", "cases": "exposure"}.get(spec["measures"])
    own = {
        "data": f"{folder}data/{data}",
        "target": spec.get("target"),
        "coords": spec.get("coords"),
        "covariates": spec.get("covariates"),
        "family": family_of(spec),
        **({size: spec.get(size)} if size else {}),
        **{name: spec.get(name) for name in ("error_sd", "groups", "kernel", "features", "tune", "crs", "layer")},
        "n_frequencies": spec.get("n_frequencies"),
        "noise_variance": spec.get("noise_variance"),
        "predict_at": spec.get("predict_at"),
        "seed": spec.get("seed"),
        "drop_bad": spec.get("drop_bad") or None,
    }
    kept = {name: value for name, value in own.items() if value is not None and value != []}
    rasters = {name: f"{folder}data/{file}" for name, file in spec.get("covariate", {}).items()}
    return {**kept, "output": "model.bochner", **({"covariate": rasters} if rasters else {})}


def toml_of(spec: Mapping[str, Any], data: str) -> str:
    """The file `fits/N/model.toml` of a spec."""
    options = options_of(spec, data, "../../")
    rasters = options.pop("covariate", {})
    lines = ["# What `bochner fit` and `bochner validate` are told; paths are relative to this file."]
    lines += [f"{name} = {toml_value(value)}" for name, value in options.items()]
    if rasters:
        lines += ["", "[covariate]", *(f"{toml_value(k)} = {toml_value(v)}" for k, v in rasters.items())]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """Text, numbers, switches and lists of text as TOML writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return f"[{', '.join(toml_value(one) for one in value)}]"


def problems_of(spec: Mapping[str, Any], view: Mapping[str, Any] | None, files: Sequence[str]) -> list[str]:
    """What keeps a spec from being fitted, in sentences; empty if nothing is known to."""
    if view is None:
        return ["No data were chosen yet: drop a file, or choose one of the project."]
    names = [column["name"] for column in view["columns"]]
    said = []
    target, image = spec.get("target"), view["kind"] != "table"
    if target is None and not (image and len(names) == 1):
        said.append("Choose what is to be mapped: one of the columns with numbers.")
    used = [target, *spec["covariates"], *(spec.get(key) for key in ("groups", "error_sd"))]
    size = {"positives": "trials", "cases": "exposure"}.get(spec["measures"])
    used += [spec.get(size)] if size else []
    used += [] if image else spec["coords"]
    said += [f"{view['file']} has no column {name!r}." for name in used if name is not None and name not in names]
    known = [name for name in [*used, *spec["covariate"]] if name is not None]
    twice = sorted({name for name in known if known.count(name) > 1})
    said += [f"The column {name!r} has two parts to play; give it one." for name in twice]
    if size == "trials" and not spec.get("trials"):
        said.append("Positives need the number examined: choose its column.")
    if len(spec["coords"]) == 1:
        said.append("One coordinate was given; needed are two, east and north.")
    elif view.get("complaint"):
        said.append(view["complaint"])
    elif not image and not spec["coords"] and view.get("points") is None:
        said.append("No coordinates were recognised: choose the two columns that say where.")
    said += [f"There is no file {file!r} in the project." for file in spec["covariate"].values() if file not in files]
    wrong = {p["line"] for p in view.get("problems", ()) if p["column"] is None or p["column"] in known}
    if wrong and not spec["drop_bad"]:
        said.append(f"{len(wrong):,} rows are amiss: mend them in the file, or leave them out.")
    n = usable_rows(spec, view)
    if not said and n < limits.FEWEST_ROWS:
        said.append(
            f"{n} rows with a value are too few to learn a map from; needed are {limits.FEWEST_ROWS} at least, and "
            f"some {limits.FEW_ROWS} for a range that the data tell."
        )
    return said


def cautions_of(spec: Mapping[str, Any], view: Mapping[str, Any]) -> list[str]:
    """What a reader of the map should know of data that can be fitted."""
    n = usable_rows(spec, view)
    if not limits.FEWEST_ROWS <= n < limits.FEW_ROWS:
        return []
    return [
        f"Only {n} rows can be used. So few tell little of how far likeness reaches: the map will rest on assumptions "
        f"as much as on data, and its intervals will be wide. Look at the range under Check."
    ]


def usable_rows(spec: Mapping[str, Any], view: Mapping[str, Any]) -> int:
    """About how many rows will be fitted: those that are not amiss and miss nothing."""
    used = {spec.get("target"), *spec["covariates"], *spec["coords"], spec.get("trials"), spec.get("exposure")}
    columns = [column for column in view["columns"] if column["name"] in used]
    wrong = {p["line"] for p in view.get("problems", ()) if p["column"] is None or p["column"] in used}
    return int(view["n_rows"]) - max((column["missing"] for column in columns), default=0) - len(wrong)


def _text(value: Any, name: str) -> str:
    if isinstance(value, str) and "\0" not in value and len(value) <= limits.MOST_TEXT:
        return value
    raise InputError(f"{name} is {str(value)[:40]!r}; needed is a short text.")


def _file(value: Any, name: str) -> str:
    text = _text(value, name)
    if PurePosixPath(text).name != text or "\\" in text or text.startswith("."):
        raise InputError(f"{name} is {text[:80]!r}; needed is the name of a file of the project, without a path.")
    return text


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or len(value) > limits.MOST_NAMES:
        raise InputError(f"{name} is {str(value)[:40]!r}; needed is a list of column names.")
    return [_text(one, name) for one in value]


def _files(value: Any, name: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > limits.MOST_NAMES:
        raise InputError(f"{name} is {str(value)[:40]!r}; needed are raster files by the name of their covariate.")
    return {_text(key, name): _file(one, f"{name}.{key}") for key, one in value.items()}


def _switch(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(f"{name} is {str(value)[:40]!r}; needed is true or false.")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InputError(f"{name} is {str(value)[:40]!r}; needed is a whole number.")


def _number(value: Any, name: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST:
        return float(value)
    raise InputError(f"{name} is {str(value)[:40]!r}; needed is a number.")


def _gaps(value: Any, name: str) -> str:
    return GAPS if value == GAPS else _file(value, name)


FIELDS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("target", "measures", "family", "trials", "exposure", "groups", "error_sd"), _text),
    **dict.fromkeys(("kernel", "features", "tune", "crs", "layer"), _text),
    "coords": _texts,
    "covariates": _texts,
    "covariate": _files,
    "n_frequencies": _whole,
    "noise_variance": _number,
    "predict_at": _gaps,
    "seed": _whole,
    "drop_bad": _switch,
}
