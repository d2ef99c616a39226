"""Commands: what the buttons of the page stand for, as arguments of `bochner`, run in the folder of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.jobs import shell_line
from bochner.studio.projects import Project, UnknownError

INTERVAL = ("0.025", "0.975")


@dataclass(frozen=True)
class Command:
    """Arguments of `bochner`, the files it writes into the folder of the fit, and where its output goes, if not."""

    what: str
    argv: tuple[str, ...]
    files: tuple[str, ...]
    out: str | None = None

    @property
    def line(self) -> str:
        """As it is typed in a shell."""
        more = "" if self.out is None else f" > {self.out}"
        return shell_line(self.argv) + more


@dataclass(frozen=True)
class FitCase:
    """A fit that commands are about: its project, its number, its spec and the view of its data."""

    project: Project
    number: str
    spec: Mapping[str, Any]
    data: str
    view: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"fits/{self.number}"

    @property
    def model(self) -> str:
        return f"{self.place}/model.bochner"

    def inputs(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Rasters or numbers by the name of their covariate: as given, as fitted, or the mean over the data."""
        given = options.get("covariate") or {}
        if not isinstance(given, Mapping):
            raise InputError("covariate is no object; needed are rasters or numbers by the name of their covariate.")
        found = {name: f"data/{file}" for name, file in self.spec.get("covariate", {}).items()}
        means = {column["name"]: column.get("mean") for column in self.view["columns"]}
        for name in self.spec.get("covariates", ()):
            value = given.get(name)
            if value not in (None, ""):
                found[name] = self._raster_or_number(value)
            elif means.get(name) is not None:
                found[name] = repr(means[name])
        return found

    def _raster_or_number(self, value: Any) -> str:
        try:
            return repr(float(value))
        except (TypeError, ValueError, OverflowError):
            return self.file(value)

    def file(self, name: Any) -> str:
        """A file of the project, as commands name it."""
        return f"data/{self.project.file(name).name}"


def fit_command(number: str) -> Command:
    """`bochner fit` of a fit."""
    return Command("fit", ("fit", "--config", f"fits/{number}/model.toml"), ("model.bochner", "model.toml"))


def command_of(what: Any, fit: FitCase, options: Mapping[str, Any]) -> Command:
    """The command of a job."""
    if what not in MAKERS:
        raise UnknownError(f"there is no job {str(what)[:40]!r}; known are map, {', '.join(MAKERS)}.")
    return MAKERS[what](fit, options)


def _geotiff(fit: FitCase, options: Mapping[str, Any]) -> Command:
    kind, data = fit.view["kind"], fit.file(fit.data)
    if kind == "stack":
        return _filled_stack(fit, data)
    if kind == "image":
        name = "filled.tif" if Path(data).suffix.lower() in (".tif", ".tiff") else "filled.nc"
        layer = _option(fit.spec, "layer")
        crs = _option(fit.spec, "crs")
        argv = ("map", fit.model, "--like", data, *layer, *crs, "--fill-only", "-o", f"{fit.place}/{name}")
        return Command("geotiff", argv, (name,))
    bands = [word for p in INTERVAL for word in ("--quantile", p)]
    argv = (
        *("map", fit.model, *_option(options, "resolution"), *_files(fit, options, "within", "areas")),
        *(*_covariates(fit, options), *_threshold(options, "--exceed"), *bands, "-o", f"{fit.place}/map.tif"),
    )
    return Command("geotiff", argv, ("map.tif",))


def _filled_stack(fit: FitCase, data: str) -> Command:
    own = [word for name in ("target", "kernel", "crs", "layer") for word in _option(fit.spec, name)]
    return Command("geotiff", ("fill", data, *own, "-o", f"{fit.place}/filled.nc"), ("filled.nc",))


def _areas(fit: FitCase, options: Mapping[str, Any]) -> Command:
    if not options.get("areas"):
        raise InputError("no areas were given; choose a file of polygons such as districts.gpkg.")
    areas = fit.file(options["areas"])
    name = f"{Path(areas).stem}.csv"
    argv = (
        *("aggregate", fit.model, "--areas", areas, *_files(fit, options, "weights")),
        *(*_covariates(fit, options), *_threshold(options, "--exceed"), *_option(options, "points")),
        *("-o", f"{fit.place}/{name}"),
    )
    return Command("areas", argv, (name,))


def _hotspots(fit: FitCase, options: Mapping[str, Any]) -> Command:
    limit = _threshold(options, "--threshold")
    if not limit:
        raise InputError("no threshold was given; say above which value a place is a hotspot, e.g. 0.2 or 20%.")
    argv = (
        *("hotspots", fit.model, *limit, *_option(options, "resolution")),
        *(*_files(fit, options, "within"), *_files(fit, options, "areas"), *_files(fit, options, "weights")),
        *(*_covariates(fit, options), "-o", f"{fit.place}/hotspots.geojson"),
    )
    return Command("hotspots", argv, ("hotspots.geojson",))


def _report(fit: FitCase, options: Mapping[str, Any]) -> Command:
    shown = () if options.get("private") else ("--data", fit.file(fit.data))
    argv = (
        *("report", fit.model, *shown, *_option(options, "title"), *_option(options, "resolution")),
        *(*_files(fit, options, "within"), *_files(fit, options, "areas"), *_files(fit, options, "weights")),
        *(*_threshold(options, "--threshold"), *_option(options, "points"), *_covariates(fit, options)),
        *(_how_read(fit) if shown else ()),
        *("-o", f"{fit.place}/report.html"),
    )
    return Command("report", argv, ("report.html",))


def _how_read(fit: FitCase) -> tuple[str, ...]:
    """How the data were read, for a command that reads them again."""
    coords = () if not fit.spec["coords"] else _option({"coords": ",".join(fit.spec["coords"])}, "coords")
    return (*coords, *_option(fit.spec, "crs"), *_option(fit.spec, "layer"))


def _validate(fit: FitCase, options: Mapping[str, Any]) -> Command:
    blocks = options.get("blocks") or []
    blocks = blocks if isinstance(blocks, list) else [blocks]
    sides = [word for side in blocks for word in ("--blocks", f"{_positive(side, 'blocks'):g}")]
    out = f"{fit.place}/validation.json"
    argv = ("validate", "--config", f"{fit.place}/model.toml", *sides, "--json")
    return Command("validate", argv, ("validation.json",), out)


MAKERS = {
    "geotiff": _geotiff,
    "areas": _areas,
    "hotspots": _hotspots,
    "report": _report,
    "validate": _validate,
}


def _option(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = options.get(name)
    if value in (None, ""):
        return ()
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not _is_short(str(value)):
        raise InputError(f"{name} is {str(value)[:40]!r}; needed is a text or a number.")
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    # one word, so that a value which begins with a dash is no option
    return (f"--{name.replace('_', '-')}={text}",) if text.startswith("-") else (f"--{name.replace('_', '-')}", text)


def _is_short(text: str) -> bool:
    return "\0" not in text and len(text) <= limits.MOST_TEXT


def _threshold(options: Mapping[str, Any], flag: str) -> tuple[str, ...]:
    return _option({flag[2:]: options.get("threshold")}, flag[2:])


def _files(fit: FitCase, options: Mapping[str, Any], name: str, instead: str = "") -> tuple[str, ...]:
    value = options.get(name) or options.get(instead)
    return () if value in (None, "") else (f"--{name}", fit.file(value))


def _covariates(fit: FitCase, options: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(word for name, value in fit.inputs(options).items() for word in ("--covariate", f"{name}={value}"))


def _positive(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise InputError(f"{name} is {str(value)[:40]!r}; needed is a length above 0.")
    return number
