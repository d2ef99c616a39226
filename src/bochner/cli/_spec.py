"""Spec: everything that says how a model is fitted, from flags, from a TOML file, or from both."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bochner.cli._files import must_be_readable, must_exist
from bochner.exceptions import InputError
from bochner.spelling import (
    SIZES,
    check_criterion,
    check_family,
    check_features,
    check_kernel,
    check_sizes,
    nearest_name,
)


@dataclass(frozen=True)
class Spec:
    """A model to be fitted to a file.

    Attributes are the options of `bochner fit`, and the keys of its TOML file; `covariate` holds rasters by name.
    """

    data: Path
    target: str | None = None
    coords: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    covariate: Mapping[str, Path] = field(default_factory=dict)
    family: str = "gaussian"
    trials: str | None = None
    exposure: str | None = None
    offset: str | None = None
    error_sd: str | None = None
    groups: str | None = None
    kernel: str | None = None
    features: str = "auto"
    n_frequencies: int | None = None
    tune: str = "evidence"
    noise_variance: float | None = None
    predict_at: Path | None = None
    crs: str | None = None
    layer: str | None = None
    seed: int = 0
    drop_bad: bool = False
    fix_swapped: bool = False
    resume: bool = False
    dask: str | None = None
    memory_limit: str | None = None
    store: Path | None = None
    like: Path | None = None
    output: Path | None = None

    @classmethod
    def of(cls, config: Path | None, given: Mapping[str, Any]) -> Spec:
        """Options of the command line, and below them those of a file."""
        options = {} if config is None else read_config(config)
        said = {name: value for name, value in given.items() if not (value is None or value is False or value == [])}
        options |= {name: READERS[name](value, name) for name, value in said.items()}
        if "data" not in options:
            raise InputError("no DATA was given; name the file of places and measurements, or set data in --config.")
        return cls(**options)

    def check_sizes(self) -> None:
        """Refuse trials and exposures that a family has not, and none of those that it needs."""
        if self.family in SIZES:  # those of other packages are asked themselves
            check_sizes(self.family, SIZES[self.family], {"trials": self.trials, "exposure": self.exposure})

    def check_files(self) -> None:
        """Refuse files that are not there, or are of no format that is read: those of the TOML file, too."""
        must_be_readable(self.data)
        must_exist(*self.covariate.values(), None if self.predict_at == GAPS else self.predict_at, self.like)

    @property
    def files(self) -> list[Path]:
        """Files that are read."""
        return [self.data, *self.covariate.values(), *([] if self.predict_at is None else [self.predict_at])]

    @property
    def roles(self) -> dict[str, str]:
        """Columns by what they are to the model, beside coordinates and covariates."""
        named = {"target": self.target, "trials": self.trials, "exposure": self.exposure, "offset": self.offset}
        return {role: name for role, name in named.items() if name is not None}


def read_config(path: Path) -> dict[str, Any]:
    """Options out of a TOML file; its paths are relative to the folder of the file."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the name of the file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as TOML ({error}); check the file.") from None
    known = [one.name for one in fields(Spec)]
    options = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            near = nearest_name(name, known)
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}."
            raise InputError(f"{path.name} has the unknown key {key!r}; {hint}")
        options[name] = _beside(READERS[name](value, name), path.parent)
    return options


def covariate_files(pairs: Any, name: str = "covariate") -> dict[str, Path]:
    """Rasters by the name of their covariate, from NAME=RASTER or from a table."""
    if isinstance(pairs, Mapping):
        return {key: _path(value, f"{name}.{key}") for key, value in pairs.items()}
    if not isinstance(pairs, (list, tuple)):
        raise InputError(f'{name} is {pairs!r}; needed is a table of rasters: [covariate], then elevation = "dem.tif".')
    named = {}
    for text in pairs:
        key, mark, value = str(text).partition("=")
        if not (mark and key.strip() and value.strip()):
            raise InputError(f"--covariate is {text!r}; needed is NAME=RASTER, e.g. elevation=dem.tif.")
        if key.strip() in named:
            raise InputError(f"--covariate {key.strip()} was given twice; give one raster for it.")
        named[key.strip()] = Path(value.strip())
    return named


def inputs_named(pairs: list[str] | None) -> dict[str, Path | float]:
    """Rasters or numbers by the name of their covariate, from NAME=RASTER or NAME=NUMBER."""
    return {name: path_or_number(str(value)) for name, value in covariate_files(pairs or []).items()}


def path_or_number(text: str) -> Path | float:
    """A number where the text is one, otherwise a path."""
    try:
        return float(text)
    except ValueError:
        return Path(text)


def box_of(text: str) -> tuple[float, float, float, float]:
    """West, south, east and north out of text with commas."""
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"the box is {text!r}; needed are four numbers: WEST,SOUTH,EAST,NORTH.") from None
    if -180 <= east < west <= 180:
        raise InputError(
            f"the box is {text!r}, whose west lies beyond its east; needed is WEST,SOUTH,EAST,NORTH: across the date "
            f"line write {west:g},{south:g},{east + 360:g},{north:g}."
        )
    return west, south, east, north


def share_or_number(text: str, option: str) -> float:
    """A number, or a share as per cent: 20% is 0.2."""
    plain = text.strip().replace("\u202f", "")
    try:
        return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        raise InputError(f"{option} is {text!r}; needed is a number such as 0.2, or per cent such as 20%.") from None


def names_in(value: Any, name: str = "names") -> tuple[str, ...]:
    """Column names out of a list, or out of text with commas."""
    if isinstance(value, str):
        return tuple(one.strip() for one in value.split(",") if one.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise InputError(f'{name} is {value!r}; needed are names of columns: "a,b" or ["a", "b"].')


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise InputError(f"{name} is {value!r}; needed is text in quotes.")


def _spelt(check: Callable[[str], None]) -> Callable[[Any, str], str]:
    """Text that a check of names takes."""

    def read(value: Any, name: str) -> str:
        check(_text(value, name))
        return str(value)

    return read


def _crs(value: Any, name: str) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value, name)


def _switch(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(f"{name} is {value!r}; needed is true or false.")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InputError(f"{name} is {value!r}; needed is a whole number.")


def _number(value: Any, name: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"{name} is {value!r}; needed is a number.")


def _path(value: Any, name: str) -> Path:
    return Path(value) if isinstance(value, Path) else Path(_text(value, name))


def _beside(value: Any, folder: Path) -> Any:
    if isinstance(value, Path):
        return value if value == GAPS else folder / value
    return {key: folder / one for key, one in value.items()} if isinstance(value, dict) else value


GAPS = Path("gaps")  # the word that stands for the pixels of a raster without a value

READERS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        (
            "target",
            "trials",
            "exposure",
            "offset",
            "error_sd",
            "groups",
            "layer",
            "dask",
            "memory_limit",
        ),
        _text,
    ),
    **dict.fromkeys(("data", "predict_at", "output", "store", "like"), _path),
    "family": _spelt(check_family),
    "kernel": _spelt(check_kernel),
    "features": _spelt(check_features),
    "tune": _spelt(check_criterion),
    "coords": names_in,
    "covariates": names_in,
    "covariate": covariate_files,
    "crs": _crs,
    "n_frequencies": _whole,
    "noise_variance": _number,
    "seed": _whole,
    "drop_bad": _switch,
    "fix_swapped": _switch,
    "resume": _switch,
}
