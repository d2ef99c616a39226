"""Views: what the page draws of files and models, made by a worker, and kept as long as the files are as they were."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.jobs import why_failed
from bochner.studio.projects import Project, read_json, write_json
from bochner.studio.workers import Workers

TOLD_OUTSIDE = ("scores_by_kind",)  # parts of a view that are read without it


@dataclass(frozen=True)
class Views:
    """Views by the workers of a server."""

    workers: Workers

    def made(self, view: str, project: Project, given: Mapping[str, Any]) -> dict[str, Any]:
        """A view, made now."""
        target = project.cache / f"{view}-{time.monotonic_ns()}.json"
        try:
            self.write(project, {"folder": str(project.folder), "view": view, "given": given}, target)
            return read_json(target)
        finally:
            target.unlink(missing_ok=True)

    def kept(self, target: Path, view: str, project: Project, given: Mapping[str, Any]) -> dict[str, Any]:
        """A view that is kept in a file, as long as it is asked for in the same way of the same files."""
        asked = json.dumps(given, sort_keys=True) + _stamps(project.folder, given)
        kept = read_json(target)
        if kept.get("asked") == asked:
            return dict(kept["value"])
        value = self.made(view, project, given)
        write_json(target, {"asked": asked, "value": value, **{k: value[k] for k in TOLD_OUTSIDE if k in value}})
        return value

    def write(self, project: Project, task: Mapping[str, Any], target: Path) -> None:
        """Let a worker write a view, and wait for it."""
        log = project.cache / f"{target.stem}-{time.monotonic_ns()}.log"
        worker = self.workers.start({**task, "result": str(target), "log": str(log)})
        code = worker.wait(limits.VIEW_SECONDS)
        if code is None:
            self.workers.stop(worker)
        words = "" if code == 0 else _why_no_view(code, log)
        log.unlink(missing_ok=True)
        if code or not target.exists():
            raise InputError(words or "the view was not written; is the disk full?")


def _why_no_view(code: int | None, log: Path) -> str:
    """What to say of a view that was not made."""
    if code is None:
        return f"the view takes more than {limits.VIEW_SECONDS} s; ask for larger pixels."
    return why_failed(code, log)


def _stamps(folder: Path, given: Any) -> str:
    """When the files that a view is made from were last written."""
    if isinstance(given, Mapping):
        return "".join(_stamps(folder, value) for value in given.values())
    path = folder / given if isinstance(given, str) and given else None
    try:
        return "" if path is None else f" {path.stat().st_mtime_ns}"
    except (OSError, ValueError):
        return ""
