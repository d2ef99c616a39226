"""Uploads: a file that is dropped on the page, streamed to the disk and there only when it is complete."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.projects import KINDS, Project, checked_name, free_bytes, kind_of, tidy_name, unused

BESIDE = (".dbf", ".shx", ".prj", ".cpg", ".qpj", ".sbn", ".sbx")  # what a shapefile consists of


async def receive_file(project: Project, name: str, size: int | None, parts: AsyncIterator[bytes]) -> dict[str, Any]:
    """Write a stream under a name of its own; on any failure nothing is left of it."""
    own = _name(name)
    _check_room(project.data, size or 0)
    partial = project.data / f".{time.monotonic_ns()}.partial"
    written = 0
    try:
        with open(partial, "wb") as file:
            async for part in parts:
                file.write(part)
                written += len(part)
                if written % CHECKED_EVERY < len(part):
                    _check_room(project.data, 0)
            file.flush()
            os.fsync(file.fileno())
        if not written:
            raise InputError(f"{own} is empty; needed is a file with data.")
        target = project.data / own if _is_part(project, own) else unused(project.data / own)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return {"name": target.name, "bytes": written, "kind": kind_of(target.name)}


CHECKED_EVERY = limits.SPARE_DISK_BYTES // 4


def _name(name: str) -> str:
    own = checked_name(tidy_name(name))
    known = [ending for endings in KINDS.values() for ending in endings]
    if Path(own).suffix.lower() not in (*known, *BESIDE):
        raise InputError(f"{own!r} cannot be read; what can is {', '.join(known)}.")
    return own


def _is_part(project: Project, name: str) -> bool:
    """Whether a file belongs to a shapefile, whose parts must keep their names."""
    return Path(name).suffix.lower() in BESIDE and not (project.data / name).exists()


def _check_room(folder: Path, size: int) -> None:
    free = free_bytes(folder)
    if size > free - limits.SPARE_DISK_BYTES:
        raise OSError(28, f"the disk has {free / 1e6:,.0f} MB left, too few for this file; make room on it")
