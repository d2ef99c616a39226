"""Files that a command is given: looked for before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from zipfile import is_zipfile

from bochner.exceptions import ArchiveError, InputError
from bochner.formats import CUBES, PARTS, RASTERS, READABLE
from bochner.outputs import check_writable


def must_exist(*paths: Path | None, what: str = "file") -> None:
    """Refuse files that are not there; what was not given is not looked for."""
    for path in paths:
        if path is not None and not Path(path).exists():
            raise InputError(f"{path} does not exist; check the name of the {what}.")


def must_be_models(*paths: Path | None) -> None:
    """Refuse what is no model file, by its last bytes; of a folder the archive tells."""
    for path in paths:
        if path is None or not path.is_file() or is_zipfile(path):
            continue
        raise ArchiveError(f"{path} is not a complete bochner model file; give one that `bochner fit` or `save` wrote.")


def must_be_readable(path: Path) -> None:
    """Refuse what is no file of places or measurements, by its ending; of a folder the files tell later."""
    must_exist(path)
    if not path.is_dir() and path.suffix.lower() not in (*READABLE, *PARTS):
        raise InputError(f"{path} ends in {path.suffix!r}; what can be read is {', '.join(READABLE)}.")


def must_be_image(path: Path) -> None:
    """Refuse what is no image, by its ending."""
    must_exist(path)
    images = (*RASTERS, *CUBES)
    if path.suffix.lower() not in images:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is an image: one of {', '.join(images)}.")


def check_model_name(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a model file that cannot be written, or that would pass for a file of places."""
    if path.suffix.lower() in READABLE:
        raise InputError(f"the model {path} ends in {path.suffix!r}, as data do; name it {path.stem}.bochner, say.")
    check_writable(path, inputs=inputs)


def check_template(like: Path | None, fill_only: bool, layer: str | None, crs: str | None) -> None:
    """Refuse options of the raster whose pixels are taken, where there is none."""
    if fill_only and like is None:
        raise InputError("--fill-only was given without --like; name the raster whose gaps are to be filled.")
    if like is None and (layer is not None or crs is not None):
        raise InputError("--layer and --crs are those of the raster of --like, and none was given; leave them out.")


def check_escaping(escape_formulas: bool, output: Path | None) -> None:
    """Refuse to escape formulas in what is no CSV: nothing would be escaped, and nobody would know."""
    if escape_formulas and (output is None or Path(output).suffix.lower() != ".csv"):
        told = "nothing is written" if output is None else f"{output} is no .csv and keeps text as it is"
        raise InputError(f"--escape-formulas was given, and {told}; leave it out, or write a .csv.")
