"""Door: what an option was given, checked as it is read, before anything heavy is imported.

Each function is the `callback` of an option: it refuses a value, or returns it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bochner.cli._files import must_be_image, must_be_readable, must_exist
from bochner.cli._spec import GAPS, box_of, covariate_files, inputs_named, path_or_number, share_or_number
from bochner.exceptions import BochnerError, InputError
from bochner.formats import CUBES, RASTERS, VECTORS
from bochner.spelling import length_and_unit

Check = Callable[[Any], Any]


def existing(value: Any) -> Any:
    """A file, or several, that must be there."""
    must_exist(*_listed(value))
    return value


def models(value: Any) -> Any:
    """A model file that must be there, or several; whether they are models is asked once all files are there."""
    must_exist(*_listed(value), what="model file")
    return value


def readable(value: Path | None) -> Path | None:
    """Places or measurements: a file of a format that is read, or a folder of such files."""
    if value is not None:
        must_be_readable(value)
    return value


def image(value: Path) -> Path:
    """An image, or a stack of images."""
    must_be_image(value)
    return value


def gaps_or_existing(value: Path | None) -> Path | None:
    """A file that must be there, or the word for the gaps of a raster."""
    return value if value == GAPS else existing(value)


def rasters(value: list[str] | None) -> list[str] | None:
    """NAME=RASTER, whose files must be there."""
    must_exist(*covariate_files(value or []).values())
    return value


def layers(value: list[str] | None) -> list[str] | None:
    """NAME=RASTER, NAME=NUMBER, a date or a class; what is named like a raster must be there."""
    files = [one for one in inputs_named(value).values() if isinstance(one, Path)]
    must_exist(*(one for one in files if one.suffix.lower() in (*RASTERS, *CUBES)))
    return value


def number_or_raster(value: str | None) -> str | None:
    """A number, or a raster that must be there."""
    known = None if value is None else path_or_number(value)
    must_exist(known if isinstance(known, Path) else None)
    return value


def spelt(check: Callable[[str], None]) -> Check:
    """Text that a check of `bochner.spelling` takes."""

    def checked(value: str | None) -> str | None:
        if value is not None:
            check(value)
        return value

    return checked


def shares(option: str) -> Check:
    """Numbers, or shares as per cent."""

    def checked(value: Any) -> Any:
        for text in _listed(value):
            share_or_number(text, option)
        return value

    return checked


def size(value: str | None) -> str | None:
    """An amount of memory."""
    from bochner.resources import memory_bytes

    memory_bytes(value)
    return value


def side(value: str | None) -> str | None:
    """The side of a pixel."""
    if value is not None:
        length_and_unit(value)
    return value


def polygons(value: Path | None) -> Path | None:
    """A file of polygons that must be there."""
    known = (*VECTORS, ".parquet")
    if existing(value) is not None and value is not None and value.suffix.lower() not in known:
        raise InputError(f"{value} ends in {value.suffix!r}; needed are polygons: one of {', '.join(known)}.")
    return value


def level(value: float) -> float:
    """The probability of an interval."""
    if not 0 < value < 1:
        raise InputError(f"--level is {value:g}; needed is a probability between 0 and 1, such as 0.95.")
    return value


def box(value: str | None) -> str | None:
    """West, south, east and north."""
    if value is not None:
        box_of(value)
    return value


def jobs(value: int | None) -> int | None:
    """Threads of this run."""
    if value is None:
        return value
    if value < 1:
        raise InputError(f"--jobs is {value}; needed is a number of threads, 1 or more: leave it out for one per core.")
    from bochner.resources import let_this_run

    let_this_run(n_jobs=value)
    return value


def device(value: str | None) -> str | None:
    """The device of this run; one that is not there is refused."""
    if value is None:
        return value
    from bochner.resources import DEVICES, let_this_run

    if value not in DEVICES:
        raise InputError(f"--device is {value!r}; needed is one of {', '.join(DEVICES)}.")
    if value == "cuda":
        from bochner.device import named_device

        try:
            named_device(value)
        except BochnerError as error:  # told by its option, where it would be by a parameter
            raise type(error)(re.sub(r"device='(\w+)'", r"--device \1", str(error))) from error
    let_this_run(device=value)
    return value


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
