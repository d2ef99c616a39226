"""Projects: folders with data, a description of the model and outputs, found by names that cannot lead elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits

STATE = "studio.json"
ALLOWED = re.compile(r"[^\W][\w .()+-]*", re.UNICODE)
CHANGING = threading.RLock()  # a change reads the state and writes all of it: two at once would lose one
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


class UnknownError(InputError):
    """A name that nothing bears."""


@dataclass(frozen=True)
class Project:
    """A folder of the studio."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def fits(self) -> Path:
        return self.folder / "fits"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def state(self) -> dict[str, Any]:
        return read_json(self.folder / STATE)

    def change(self, **values: Any) -> dict[str, Any]:
        """Write some values of the state, the others as they were."""
        with CHANGING:
            state = {**self.state, **values}
            write_json(self.folder / STATE, state)
        return state

    @property
    def files(self) -> list[dict[str, Any]]:
        """Files that were dropped, each with its size and what it may be used for."""
        found = [path for path in sorted(self.data.iterdir()) if not path.name.startswith(".")]
        return [{"name": p.name, "bytes": p.stat().st_size, "kind": kind_of(p.name)} for p in found]

    def file(self, name: Any) -> Path:
        """A file of the data by its name."""
        return inside(self.data, name, "file of the project")

    def new_fit(self) -> Path:
        """Folder of the next fit, with a number that no other had."""
        with CHANGING:
            taken = [int(path.name) for path in self.fits.iterdir() if path.name.isdecimal()]
            number = max(self.state["next_fit"], 1 + max(taken, default=0))
            self.change(next_fit=number + 1)
            folder = self.fits / str(number)
            (folder / "jobs").mkdir(parents=True)
        return folder

    def fit_folder(self, name: Any) -> Path:
        """Folder of a fit by its number."""
        folder = inside(self.fits, name, "fit")
        if not (folder / "status.json").exists():
            raise UnknownError(f"there is no fit {name!r} in {self.id!r}; look at the list of fits.")
        return folder

    @property
    def fit_names(self) -> list[str]:
        """Numbers of the fits, the first one first."""
        names = [path.name for path in self.fits.iterdir() if (path / "status.json").exists()]
        return sorted(names, key=lambda name: (len(name), name))


@dataclass(frozen=True)
class Shelf:
    """The folder that holds the projects."""

    root: Path

    def names(self) -> list[str]:
        """Names of the projects, the latest first."""
        found = [path.parent for path in self.root.glob(f"*/{STATE}")]
        found.sort(key=lambda folder: (folder / STATE).stat().st_mtime, reverse=True)
        return [folder.name for folder in found[: limits.MAX_PROJECTS]]

    def project(self, name: Any) -> Project:
        """A project by its name."""
        folder = inside(self.root, name, "project")
        if not (folder / STATE).exists():
            raise UnknownError(f"there is no project {name!r}; look at the list of projects.")
        return Project(folder)

    def create(self, name: Any) -> Project:
        """A new project; where its name is taken, a number is added."""
        text = " ".join(str(name or "").split()) or "project"
        wanted = self.root / checked_name(tidy_name(re.sub(r"[\s./\\]+", "-", text)))
        with CHANGING:
            folder = unused(wanted)
            for part in (folder, folder / "data", folder / "fits", folder / "cache"):
                part.mkdir()
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        write_json(folder / STATE, {"name": text, "created": created, "data": None, "spec": None, "next_fit": 1})
        return Project(folder)


def tidy_name(text: str) -> str:
    """A name without what file systems or shells take for something else; an empty one is refused."""
    plain = unicodedata.normalize("NFC", text).replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if ALLOWED.fullmatch(f"a{c}") else "-" for c in plain).strip(" .-")
    if not plain:
        raise InputError(f"the name {text[:40]!r} has no letter or digit; give one such as villages.csv.")
    return plain if plain[0].isalnum() else f"a{plain}"


def checked_name(name: str) -> str:
    """A name that is short enough, and none that a system keeps for itself."""
    if len(name) > limits.LONGEST_NAME or len(name.encode()) > 2 * limits.LONGEST_NAME:
        raise InputError(
            f"the name {name[:30]!r}... has {len(name)} characters; at most {limits.LONGEST_NAME} are taken: "
            f"give a shorter one."
        )
    if name.partition(".")[0].lower() in RESERVED:
        raise InputError(f"the name {name!r} is kept by some systems for devices; give another.")
    return name


def inside(folder: Path, name: Any, what: str) -> Path:
    """What lies directly in a folder under a name; any name that could lead elsewhere is unknown."""
    text = str(name)
    if ALLOWED.fullmatch(text) and not text.endswith((".", " ")) and len(text) <= 2 * limits.LONGEST_NAME:
        path = folder / text
        if path.resolve().parent == folder.resolve() and path.exists():
            return path
    raise UnknownError(f"there is no {what} {text[:80]!r}; look at the list.")


def unused(path: Path) -> Path:
    """A path that nothing has yet: with a number before its ending, where need be."""
    stem, ending = path.name, ""
    if "." in path.name:
        stem, _, rest = path.name.partition(".")
        ending = f".{rest}"
    found, number = path, 2
    while found.exists():
        found, number = path.with_name(f"{stem}-{number}{ending}"), number + 1
    return found


def free_bytes(folder: Path) -> int:
    """Bytes that the disk of a folder can still take."""
    return shutil.disk_usage(folder).free


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file; empty where it is missing or was cut off."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file that is either the old one or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{time.monotonic_ns()}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


KINDS = {
    "table": (".csv", ".parquet", ".xlsx"),
    "vector": (".gpkg", ".shp", ".geojson", ".json", ".geoparquet"),
    "raster": (".tif", ".tiff"),
    "stack": (".nc", ".nc4"),
}


def kind_of(name: str) -> str:
    """What a file may be used for, by its ending."""
    ending = Path(name).suffix.lower()
    return next((kind for kind, endings in KINDS.items() if ending in endings), "other")
