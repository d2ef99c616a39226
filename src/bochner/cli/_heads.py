"""Heads of files: the names in a CSV and in a model, compared with what was asked for before the whole is read."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bochner.cli._spec import Spec
from bochner.exceptions import InputError
from bochner.spelling import check_columns, check_covariates

MAX_HEAD = 2**20  # bytes of the manifest of a model: those of formulas and many classes are longer, and left alone


def check_header(spec: Spec) -> None:
    """Refuse columns that the header of a CSV has not, and no target; other files are left to who reads them."""
    if spec.data.suffix.lower() != ".csv" or not spec.data.is_file():
        return
    if not spec.data.stat().st_size:
        raise InputError(f"{spec.data} is empty; check that it was written completely.")
    names = _names_of_csv(spec.data)
    more = [name for name in (spec.error_sd, spec.groups) if name is not None]
    if not names:
        return
    check_columns([*spec.roles.values(), *spec.coords, *spec.covariates, *more], names, spec.data.name)
    if spec.target is None:
        from bochner.geo.tables import find_coords

        coords = spec.coords or find_coords(names, spec.data.name)
        raise no_target([name for name in names if name not in coords])


def no_target(others: Sequence[str]) -> InputError:
    """What to say where no column is to be modelled."""
    return InputError(f"no target was given; name the column to be modelled with --target: one of {list(others)}.")


def _names_of_csv(path: Path) -> list[str]:
    """Names of the columns; none where they are not plainly there."""
    from bochner.geo.signatures import check_text
    from bochner.geo.tables import encoding_of, mark_of

    encoding = encoding_of(path)
    check_text(path, encoding)
    with open(path, encoding=encoding, errors="replace", newline="") as file:
        first = file.readline()
    if "\ufffd" in first:  # no UTF-8: read as who reads the table will
        with open(path, encoding="cp1252", errors="replace", newline="") as file:
            first = file.readline()
    if first.count('"') % 2:  # a name of several lines
        return []
    return [name.strip() for name in next(csv.reader([first], delimiter=mark_of(first)), [])]


def check_inputs(model: Path, covariates: Mapping[str, Any]) -> None:
    """Refuse covariates that a model does not have, and none for one that it has, by what its file says.

    What is no plain model is left alone.
    """
    inputs = _inputs_of(model)
    if inputs is not None:
        check_covariates(inputs, covariates)


def _inputs_of(path: Path) -> list[str] | None:
    """Columns that a map of a model needs beside its place; None where its file does not plainly say."""
    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo("manifest.json").file_size > MAX_HEAD:
                return None
            state = json.loads(file.read("manifest.json"))["state"]["map"]
        layout = state["fitted"]["fields"]["layout"]["fields"]
        if layout["design"] is not None:
            return None
        columns, encoding = layout["columns"]["fields"], layout["encoding"]
        coords = [str(columns["names"]["tuple"][j]) for j in columns["coords"]["tuple"]]
        table = columns if encoding is None else encoding["fields"]
        names = [str(name) for name in table["names"]["tuple"]]
    except (OSError, zipfile.BadZipFile, ValueError, LookupError, TypeError):
        return None
    if len(coords) < 2:
        return None
    from bochner.geo.lonlat import lonlat_axes

    axes = [coords[j] for j in lonlat_axes(coords)]
    return [name for name in names if name not in axes]
