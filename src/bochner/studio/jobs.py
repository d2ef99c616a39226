"""Jobs: commands that wait, run and end, each with a folder that tells what became of it.

The record of a job is a JSON file in its folder; what it says while it runs is a log beside it. Both are there after
the server was closed, and a job whose process is gone by then is told as lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.projects import read_json, write_json
from bochner.studio.workers import Worker, Workers

RECORD, LOG, OUT = "status.json", "log.txt", "out.txt"
OPEN = ("queued", "running")
LONG = ("fit", "validate", "fill")  # commands that fit models; others are quick, and do not wait for these
LOST = "the studio was closed or broke off while this ran; nothing else is lost: run it again."


class Busy(InputError):
    """More work is waiting than is taken."""


class Jobs:
    """The queue of a server: one lane for work that fits models, one for maps and the like, which pass it."""

    def __init__(self, workers: Workers, at_once: int | None = None) -> None:
        self.workers = workers
        self.at_once = at_once or max(1, (os.cpu_count() or 2) // 2)  # of each lane
        self._lock = threading.RLock()
        self._waiting: deque[tuple[Path, dict[str, Any]]] = deque()
        self._running: dict[Path, Worker] = {}
        self._tasks: dict[Path, dict[str, Any]] = {}  # of those that run
        self._cancelled: set[Path] = set()
        self._records: dict[Path, dict[str, Any]] = {}

    def submit(self, folder: Path, record: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
        """Put a job into the queue: its record in a folder that exists, and what a worker is told."""
        with self._lock:
            waiting = sum(is_long(one) == is_long(task) for _, one in self._waiting)
            if waiting >= limits.MAX_QUEUED:
                raise Busy(f"{waiting} jobs are waiting already, which is the most; wait for one, or cancel it.")
            full = {"id": folder.name, **record, "status": "queued", "error": None, "queued": now()}
            self._keep(folder, {**full, "started": None, "ended": None})
            told = {**task, "log": str(folder / LOG), "out": str(folder / OUT)}
            self._waiting.append((folder, told))
            self._start_next()
            return self.record(folder)

    def cancel(self, folder: Path) -> dict[str, Any]:
        """End a job that waits or runs; one that has ended stays as it is."""
        with self._lock:
            kept = deque(one for one in self._waiting if one[0] != folder)
            if len(kept) < len(self._waiting):
                self._waiting = kept
                self._keep(folder, {**self._raw(folder), "status": "cancelled", "ended": now()})
            worker = self._running.get(folder)
            if worker is not None:
                self._cancelled.add(folder)
        if worker is not None:
            self.workers.stop(worker)
            self._wait_until_ended(folder)
        return self.record(folder)

    def forget(self, folder: Path) -> None:
        """Drop what is known of jobs whose folder is about to be removed."""
        with self._lock:
            for known in [one for one in self._records if one == folder or folder in one.parents]:
                del self._records[known]

    def is_open(self, folder: Path) -> bool:
        """Whether a job, or one of those in its folder, waits or runs."""
        with self._lock:
            busy = [*self._running, *(one for one, _ in self._waiting)]
        return any(one == folder or folder in one.parents for one in busy)

    def record(self, folder: Path) -> dict[str, Any]:
        """What is known of a job: its record, progress, choices and the end of its log."""
        with self._lock:
            raw = dict(self._raw(folder))
        spoken = told_by(folder / LOG)
        if raw.get("status") == "queued":
            with self._lock:
                lane = next((is_long(task) for one, task in self._waiting if one == folder), True)
                same = [one for one, task in self._waiting if is_long(task) == lane]
                ahead = same.index(folder) if folder in same else 0
            spoken["progress"] = {"text": f"waiting, {ahead} before it", "fraction": None, "seconds_left": None}
        elif raw.get("status") not in OPEN:
            spoken["progress"] = None
        return {**raw, **spoken}

    def recover(self, folder: Path) -> None:
        """Tell a job as lost that was open when an earlier server ended."""
        with self._lock:
            raw = self._raw(folder)
            if raw.get("status") in OPEN and not self.is_open(folder):
                self._keep(folder, {**raw, "status": "lost", "error": LOST, "ended": now()})

    def close(self) -> None:
        """Drop what waits; what runs is ended by the workers, and told as lost."""
        with self._lock:
            waiting, self._waiting = list(self._waiting), deque()
            for folder in [*(one for one, _ in waiting), *self._running]:
                self._keep(folder, {**self._raw(folder), "status": "lost", "error": LOST, "ended": now()})
            self._running.clear()
            self._tasks.clear()

    def _start_next(self) -> None:
        for folder, task in list(self._waiting):
            if sum(is_long(given) == is_long(task) for given in self._tasks.values()) >= self.at_once:
                continue
            self._waiting.remove((folder, task))
            try:
                worker = self.workers.start(task)
            except OSError as error:
                text = f"no worker could be started ({error.strerror}); close other programs and run it again."
                self._keep(folder, {**self._raw(folder), "status": "failed", "error": text, "ended": now()})
                continue
            self._running[folder], self._tasks[folder] = worker, task
            self._keep(folder, {**self._raw(folder), "status": "running", "started": now()})
            threading.Thread(target=self._attend, args=(folder, worker), daemon=True).start()

    def _attend(self, folder: Path, worker: Worker) -> None:
        """Write down which process has a job, wait for its end, and write down how it ended."""
        worker.born.wait()
        with self._lock:
            if self._running.get(folder) is worker:
                self._keep(folder, {**self._raw(folder), "pid": worker.pid})
        code = worker.wait() or 0
        with self._lock:
            if self._running.get(folder) is not worker:
                return  # the server is closing
            cancelled = folder in self._cancelled
            self._cancelled.discard(folder)
            ended = {"status": "done", "error": None}
            if cancelled:
                ended = {"status": "cancelled", "error": None}
            elif code:
                ended = {"status": "failed", "error": why_failed(code, folder / LOG)}
            self._keep(folder, {**self._raw(folder), **ended, "exit": code, "ended": now()})
            del self._running[folder], self._tasks[folder]
            self._start_next()

    def _wait_until_ended(self, folder: Path) -> None:
        deadline = time.monotonic() + limits.GRACE_SECONDS
        while folder in self._running and time.monotonic() < deadline:
            time.sleep(0.01)

    def _raw(self, folder: Path) -> dict[str, Any]:
        return self._records.get(folder) or read_json(folder / RECORD)

    def _keep(self, folder: Path, record: dict[str, Any]) -> None:
        """Keep a record here and on the disk; a full disk loses nothing while the server runs."""
        self._records[folder] = record
        with contextlib.suppress(OSError):
            write_json(folder / RECORD, record)


def is_long(task: Mapping[str, Any]) -> bool:
    """Whether a task fits a model."""
    return task.get("argv", ("",))[0] in LONG


def why_failed(code: int, log: Path) -> str:
    """What to say of a worker that did not end well."""
    if code < 0:
        return (
            f"the worker was ended by signal {-code}, perhaps because the memory ran out; data and earlier fits are "
            f"as they were. Close other programs, or give fewer rows or waves, and run it again."
        )
    lines = [line for line in tail(log) if line.startswith("bochner: ") and not line.startswith("bochner: warning")]
    if lines:
        return lines[-1].removeprefix("bochner: ")
    last = [line for line in tail(log) if line.strip() and not line.startswith("{")]
    return f"the worker ended with code {code}: {last[-1] if last else 'it said nothing'}"


def told_by(log: Path) -> dict[str, Any]:
    """Progress, choices and last lines out of a log."""
    progress, choices, lines = None, list[str](), []
    for line in tail(log):
        said = _spoken(line)
        if said is None:
            lines.append(line)
        elif said.get("bochner") == "progress":
            progress = {key: said.get(key) for key in ("text", "fraction", "seconds_left")}
        elif said.get("text") not in choices:
            choices.append(str(said.get("text")))
    return {"progress": progress, "choices": choices, "log": lines[-limits.LOG_LINES :]}


def tail(log: Path) -> list[str]:
    """Last lines of a log."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limits.LOG_TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]


def shell_line(argv: Sequence[str]) -> str:
    """A command as it is typed in a shell."""
    return shlex.join(["bochner", *argv])


def now() -> float:
    """Seconds since 1970."""
    return round(time.time(), 3)


def watched(read: Callable[[], dict[str, Any]]) -> Callable[[], str | None]:
    """A function that returns a record as JSON when it has changed since it was last called."""
    last: str | None = None

    def changed() -> str | None:
        nonlocal last
        text = json.dumps(read())
        if text == last:
            return None
        last = text
        return text

    return changed


def _spoken(line: str) -> dict[str, Any] | None:
    """What a line says to the studio, None for one that is meant for people."""
    if not line.startswith('{"bochner"'):
        return None
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
