"""Workers: processes that do one task each and end, so that what they hold or break ends with them.

A spare one waits with the library loaded, which takes seconds; a task then begins at once. A worker reads its task as a
line of JSON from its standard input, and ends when that is closed: none outlives the server.
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
from typing import Any

from bochner.studio import limits

Process = subprocess.Popen[bytes]
PROGRAM = (sys.executable, "-m", "bochner.cli._studio_worker")


class Workers:
    """All workers of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: set[Process] = set()
        self._spare: Process | None = None
        self._closed = False

    def warm(self) -> None:
        """Start the spare worker, if there is none."""
        with self._lock:
            if not self._closed and (self._spare is None or self._spare.poll() is not None):
                self._spare = self._launched()

    def start(self, task: Mapping[str, Any]) -> Process:
        """Give a task to the spare worker, and start another spare."""
        line = (json.dumps(task) + "\n").encode()
        with self._lock:
            if self._closed:
                raise RuntimeError("the studio is closing; no work is begun.")
            process, self._spare = self._spare, None
            if process is None or not _told(process, line):
                process = self._launched()
                _told(process, line)
        threading.Timer(limits.POLL_SECONDS, self.warm).start()
        return process

    def finished(self, process: Process) -> int:
        """Wait for a worker; its exit code, negative for a signal."""
        code = process.wait()
        with self._lock:
            self._alive.discard(process)
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        return code

    def stop(self, process: Process) -> None:
        """End a worker and its children: asked first, made to after some seconds."""
        _signal(process, signal.SIGTERM)
        try:
            process.wait(limits.GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            kill(process)

    def close(self) -> None:
        """End all workers at once; no new ones are started."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        for process in alive:
            kill(process)
        for process in alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limits.GRACE_SECONDS)

    def _launched(self) -> Process:
        process = subprocess.Popen(
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "BOCHNER_PROGRESS": "lines"},
        )
        self._alive.add(process)
        return process


def kill(process: Process) -> None:
    """End a worker and its children at once."""
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(process: Process, number: int) -> None:
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)  # each worker leads a group of its own
        else:
            process.terminate()


def _told(process: Process, line: bytes) -> bool:
    """Whether a worker could be given its task."""
    assert process.stdin is not None
    try:
        process.stdin.write(line)
        process.stdin.flush()
    except OSError:
        return False
    return process.poll() is None
