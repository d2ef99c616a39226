"""Files that a command is given: looked for before anything heavy is imported."""

from __future__ import annotations

from pathlib import Path

from bochner.exceptions import InputError


def must_exist(*paths: Path | None, what: str = "file") -> None:
    """Refuse files that are not there; what was not given is not looked for."""
    for path in paths:
        if path is not None and not Path(path).exists():
            raise InputError(f"{path} does not exist; check the name of the {what}.")
