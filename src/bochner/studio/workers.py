"""Workers: processes that do one task each and end, so that what they hold or break ends with them.

They are born in a nursery, a process that has the library loaded, so that a task begins at once; none outlives the
server. The nursery is told tasks as lines of JSON, and tells which process has which task and how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits

PROGRAM = (sys.executable, "-m", "bochner.cli._studio_nursery")
KILLED = -int(getattr(signal, "SIGKILL", signal.SIGTERM))  # exit code of what was ended so


@dataclass(eq=False)
class Worker:
    """A process with one task; `code` is that of its exit, negative for a signal."""

    number: int
    pid: int | None = None
    code: int | None = None
    born: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code when it has ended; None if it has not within some seconds."""
        return self.code if self.ended.wait(seconds) else None

    def signal(self, number: int) -> None:
        """Send a signal to it and its children."""
        self.born.wait(limits.GRACE_SECONDS)
        if self.pid is None or self.ended.is_set():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.pid, number)  # each worker leads a group of its own
            else:
                os.kill(self.pid, number)


class Workers:
    """All workers of a server, and their nursery."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._alive: dict[int, Worker] = {}
        self._nursery: subprocess.Popen[bytes] | None = None
        self._count = 0
        self._closed = False

    def warm(self) -> None:
        """Start the nursery, if there is none."""
        with self._lock:
            if self._closed:
                raise InputError("the studio is closing; no work is begun.")
            if self._nursery is None or self._nursery.poll() is not None:
                self._nursery = _launched()
                threading.Thread(target=self._listen, args=(self._nursery,), daemon=True).start()

    def start(self, task: Mapping[str, Any]) -> Worker:
        """A worker with a task."""
        with self._lock:
            self.warm()
            self._count += 1
            worker = self._alive[self._count] = Worker(self._count)
            line = json.dumps({"number": worker.number, "task": task}).encode() + b"\n"
            assert self._nursery is not None and self._nursery.stdin is not None
            try:
                self._nursery.stdin.write(line)
                self._nursery.stdin.flush()
            except OSError:
                self._ended(worker.number, KILLED)
        return worker

    def stop(self, worker: Worker) -> None:
        """End a worker and its children: asked first, made to after some seconds."""
        worker.signal(signal.SIGTERM)
        if worker.wait(limits.GRACE_SECONDS) is None:
            kill(worker)
            worker.wait(limits.GRACE_SECONDS)

    def close(self) -> None:
        """End all workers at once, and their nursery; no new ones are started."""
        with self._lock:
            self._closed = True
            alive, nursery = list(self._alive.values()), self._nursery
        for worker in alive:
            if worker.born.is_set():
                kill(worker)
        if nursery is not None and nursery.stdin is not None:
            with contextlib.suppress(OSError):
                nursery.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                nursery.wait(limits.GRACE_SECONDS)
            nursery.kill()
            nursery.wait()

    def _listen(self, nursery: subprocess.Popen[bytes]) -> None:
        """Hear what becomes of the workers; with their nursery they all end."""
        assert nursery.stdout is not None
        with nursery.stdout:
            for line in nursery.stdout:
                said = json.loads(line)
                if "pid" in said:
                    worker = self._alive[said["number"]]
                    worker.pid = said["pid"]
                    worker.born.set()
                else:
                    self._ended(said["number"], said["code"])
        with self._lock:
            for number in list(self._alive):
                self._ended(number, KILLED)

    def _ended(self, number: int, code: int) -> None:
        with self._lock:
            worker = self._alive.pop(number, None)
        if worker is not None:
            worker.code = code
            worker.born.set()
            worker.ended.set()


def kill(worker: Worker) -> None:
    """End a worker and its children at once."""
    worker.signal(getattr(signal, "SIGKILL", signal.SIGTERM))


def _launched() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        PROGRAM,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "BOCHNER_PROGRESS": "lines"},
    )
