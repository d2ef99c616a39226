"""Nursery of the studio: a process with the library loaded, from which workers are born at once.

Loading takes seconds, a fork milliseconds. The server sends tasks as lines of JSON, and is told the process of each and
how it ended. When the server has gone, so have the nursery and all workers. Where forking is not safe (outside Linux),
each task is a new interpreter.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any

# not matplotlib, which no task needs and which makes a folder in the home of the user
LOADED = ("pandas", "pyarrow.csv", "pyarrow.parquet", "geopandas", "rasterio", "xarray")
DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def nurse() -> None:
    """Serve tasks until the standard input is closed."""
    if sys.platform == "linux" and os.environ.get("BOCHNER_STUDIO_FORK") != "0":
        _Forking().serve()
    else:
        _Spawning().serve()


class _Forking:
    """Workers are forks of this process, which has one thread and never computes."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def serve(self) -> None:
        bell, ringer = os.pipe()
        for end in (bell, ringer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(ringer)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _load()
        gc.freeze()
        waiting = b""
        while True:
            ready, _, _ = select.select([0, bell], [], [])
            if bell in ready:
                with suppress(BlockingIOError):
                    os.read(bell, 4096)
                self._bury()
            if 0 in ready:
                part = os.read(0, 65536)
                if not part:
                    return self._end()
                *lines, waiting = (waiting + part).split(b"\n")
                for line in lines:
                    self._bear(json.loads(line))

    def _bear(self, order: dict[str, Any]) -> None:
        pid = os.fork()
        if not pid:
            _live(order["task"])
        self.numbers[pid] = order["number"]
        _tell(number=order["number"], pid=pid)

    def _bury(self) -> None:
        """Tell how workers ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            _tell(number=self.numbers.pop(pid), code=os.waitstatus_to_exitcode(status))

    def _end(self) -> None:
        for pid in self.numbers:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)


def _live(task: dict[str, Any]) -> None:
    """The life of a fork: a group of its own, one task, and an end that does not outlast its parent."""
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        from bochner.cli._studio_worker import work

        work(task)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


class _Spawning:
    """Workers are interpreters of their own, each watched by a thread."""

    def __init__(self) -> None:
        self.processes: set[subprocess.Popen[bytes]] = set()

    def serve(self) -> None:
        for line in sys.stdin:
            order = json.loads(line)
            program = [sys.executable, "-m", "bochner.cli._studio_worker"]
            process = subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True)
            self.processes.add(process)
            assert process.stdin is not None
            process.stdin.write(json.dumps(order["task"]).encode() + b"\n")
            process.stdin.close()
            _tell(number=order["number"], pid=process.pid)
            threading.Thread(target=self._watch, args=(process, order["number"]), daemon=True).start()
        for process in self.processes:
            process.kill()

    def _watch(self, process: subprocess.Popen[bytes], number: int) -> None:
        code = process.wait()
        self.processes.discard(process)
        _tell(number=number, code=code)


def _tell(**values: int) -> None:
    """One line to the server."""
    os.write(1, json.dumps(values).encode() + b"\n")


def _load() -> None:
    """Import what tasks need, before anybody waits for it; nothing here may start a thread."""
    for name in ("bochner.cli._studio_worker", *LOADED):
        with suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    nurse()
