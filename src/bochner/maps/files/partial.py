"""Partial files: an output appears under its name only when it is complete."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bochner.maps import limits


@contextmanager
def completed(path: Path) -> Iterator[Path]:
    """A path in a hidden folder to write to; a file or folder left there is moved to `path` at the end.

    Nothing is moved if the work fails. Folders that were left behind by work that was killed are removed first.
    """
    clean(path)
    folder = path.with_name(f".{path.name}.partial-{_host()}-{os.getpid()}")
    folder.mkdir()
    try:
        yield folder / path.name
        if path.is_dir():
            os.replace(path, folder / "old")
        os.replace(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clean(path: Path) -> list[Path]:
    """Remove what killed work on this output left behind; work that is still going on is left alone."""
    pattern = re.compile(re.escape(f".{path.name}.partial-{_host()}-") + r"(\d+)")
    stale = []
    for found in path.parent.glob(f".{_escaped(path.name)}.partial-*"):
        match = pattern.fullmatch(found.name)
        if match and not _alive(int(match[1]), found):
            shutil.rmtree(found, ignore_errors=True)
            stale.append(found)
    return stale


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", socket.gethostname())


def _escaped(name: str) -> str:
    return re.sub(r"([\[\]*?])", r"[\1]", name)


def _alive(pid: int, folder: Path) -> bool:
    if pid == os.getpid():
        return False  # of an earlier process that had the same number: this one makes its folder afterwards
    if sys.platform == "win32":  # there, asking for a process by a signal would end it
        return time.time() - folder.stat().st_mtime < limits.STALE_AGE
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
