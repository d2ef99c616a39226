"""Files that a command is given: looked for before anything heavy is imported."""

from __future__ import annotations

from pathlib import Path

from bochner.exceptions import InputError


def must_exist(*paths: Path | None, what: str = "file") -> None:
    """Refuse files that are not there; what was not given is not looked for."""
    for path in paths:
        if path is not None and not Path(path).exists():
            raise InputError(f"{path} does not exist; check the name of the {what}.")


def check_escaping(escape_formulas: bool, output: Path | None) -> None:
    """Refuse to escape formulas in what is no CSV: nothing would be escaped, and nobody would know."""
    if escape_formulas and (output is None or Path(output).suffix.lower() != ".csv"):
        told = "nothing is written" if output is None else f"{output} is no .csv and keeps text as it is"
        raise InputError(f"--escape-formulas was given, and {told}; leave it out, or write a .csv.")
