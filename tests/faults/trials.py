"""Trials: a command in a process of its own, something that goes wrong, and what must hold afterwards.

Always: the output is not there, is the old one, or is complete; once the command has run again, nothing else is left.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.world import Job

LONGEST = 120.0  # seconds that a command may take to end by itself
PROMPT = 5.0  # seconds after a second signal, within which a command must be gone


@dataclass(frozen=True)
class Trial:
    """What was tried, and what was wrong about it; nothing, if all is well."""

    fault: str
    job: str
    wrong: str = ""


def start(line: list[str], folder: Path, prepare: Callable[[], object] = lambda: None) -> int:
    """Run a command in a child of this process, which has everything imported already; its process number."""
    later = {signal.SIGINT, signal.SIGTERM}  # heard once the child is a command
    signal.pthread_sigmask(signal.SIG_BLOCK, later)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, later)
        return child
    try:
        os.setsid()
        os.chdir(folder)
        out = os.open("/dev/null", os.O_WRONLY)
        err = os.open(str(told_at(folder)), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(err, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare()
        from bochner.cli import main

        signal.pthread_sigmask(signal.SIG_UNBLOCK, later)
        main(line)
    except KeyboardInterrupt:
        os._exit(130)  # before the command began, or after it had ended
    except SystemExit as stop:
        os._exit(stop.code if isinstance(stop.code, int) else 0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(99)
    os._exit(0)


def told_at(folder: Path) -> Path:
    """File beside a folder, for what commands say."""
    return folder.parent / f"{folder.name}.err"


def end(child: int, seconds: float = LONGEST) -> int:
    """Exit code of a child; -9 and so on for a signal, 124 if it had to be ended."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


@contextmanager
def copy_of(world: Path) -> Iterator[Path]:
    """A fresh copy of the folder that commands run in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        shutil.copytree(world, folder)
        yield folder


def signalled(world: Path, job: Job, sent: int, moment: float, seconds: float, *, old: bool) -> Trial:
    """A signal at a moment, a share of the time that the command takes; `old`: an earlier output is in the way."""
    fault = f"{signal.Signals(sent).name}"
    with copy_of(world) as folder:
        if old:
            end(start(job.line(), folder))
        before = _state(folder, job)
        child = start(job.line(), folder)
        time.sleep(moment * seconds)
        os.kill(child, sent)
        code = end(child)
        if code == 124:
            return Trial(fault, job.name, "did not stop")
        wrong = _whole(folder, job, before if old else None) or _told_once(folder, code)
        return Trial(fault, job.name, wrong or _cleared(world, folder, job))


def twice_interrupted(world: Path, job: Job, moment: float, seconds: float) -> Trial:
    """Ctrl-C, and again before the first has done its work."""
    with copy_of(world) as folder:
        child = start(job.line(), folder)
        time.sleep(moment * seconds)
        for _ in range(2):
            os.kill(child, signal.SIGINT)
            time.sleep(0.01)
        code = end(child, PROMPT)
        wrong = f"still there {PROMPT:g} s after the second" if code == 124 else ""
        return Trial("SIGINT twice", job.name, wrong or _whole(folder, job) or _cleared(world, folder, job))


def full_disk(world: Path, job: Job, n_bytes: int) -> Trial:
    """An output on a disk that has room for some bytes only: a tmpfs where that is allowed, else a limit on files."""
    with copy_of(world) as folder:
        small = folder / "small"
        small.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "none", str(small)]
        mounted = os.getuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
        fault = "full disk" if mounted else "limit on files"
        try:
            code = end(start(job.line("small/"), folder, (lambda: None) if mounted else lambda: _limit(n_bytes)))
            return Trial(fault, job.name, _refused_or_done(folder, job, code, small))
        finally:
            if mounted:
                subprocess.run(["umount", str(small)], check=True)


def read_only(world: Path, job: Job) -> Trial:
    """An output folder that may not be written to."""
    with copy_of(world) as folder:
        closed = folder / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        child = start(job.line("closed/"), folder, obey_modes)
        return Trial("read-only folder", job.name, _refused_or_done(folder, job, end(child), closed))


def obey_modes() -> None:
    """Take root's right to write where modes forbid it; root may still import from folders that only root may enter."""
    if os.getuid() != 0:
        return
    if sys.platform != "linux":
        os.setuid(65534)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # version 3, this process
    override = 1 << 1  # CAP_DAC_OVERRIDE
    if libc.capget(header, sets) == 0:
        sets[0], sets[1] = sets[0] & ~override, sets[1] & ~override  # effective, permitted
        if libc.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "the right to write anywhere could not be given up")


def vanished(world: Path, job: Job, moment: float, seconds: float) -> Trial:
    """Inputs deleted while the command runs."""
    with copy_of(world) as folder:
        child = start(job.line(), folder)
        time.sleep(moment * seconds)
        for path in folder.iterdir():
            if path.name in job.arguments:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Trial("inputs deleted", job.name, _refused_or_done(folder, job, end(child), folder))


def two_at_once(world: Path, job: Job, apart: float) -> Trial:
    """Two commands that write one output."""
    with copy_of(world) as folder:
        first = start(job.line(), folder)
        time.sleep(apart)
        second = start(job.line(), folder)
        codes = end(first), end(second)
        wrong = "" if 0 in codes else f"both failed: {codes}"
        return Trial("two at one output", job.name, wrong or _whole(folder, job) or _cleared(world, folder, job))


def _limit(n_bytes: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def _state(folder: Path, job: Job) -> bytes | None:
    path = None if job.output is None else folder / job.output
    return path.read_bytes() if path is not None and path.is_file() else None


def _whole(folder: Path, job: Job, before: bytes | None = None) -> str:
    """What is wrong with the output, if it is there."""
    if job.output is None or not (folder / job.output).exists():
        return "" if before is None else "the old output is gone"
    if before is not None and _state(folder, job) == before:
        return ""
    if job.name == "demo":
        return ""  # a folder of files, each of which is complete; the last one is read after the next run
    try:
        job.read(folder / job.output)
    except Exception as error:
        return f"half-written: {error!r:.150}"
    return ""


def _told_once(folder: Path, code: int) -> str:
    """A command that a signal stopped says no more than a line."""
    told = told_at(folder).read_text(errors="replace") if told_at(folder).exists() else ""
    if "Traceback" in told:
        return f"a traceback: {told[max(told.index('Traceback') - 200, 0) :]:.600}"
    return "" if code in (0, 1, 130, 143, -2, -9, -15) else f"exit {code}"


def _cleared(world: Path, folder: Path, job: Job) -> str:
    """What is wrong once the command has run again, to its end."""
    code = end(start(job.line(), folder))
    if code != 0:
        return f"the next run ended with {code}: {told_at(folder).read_text(errors='replace')[-200:]}"
    mine = [] if job.output is None else [job.output]
    if job.output is not None and job.output.endswith(".shp"):
        mine = [path.name for path in folder.glob("o.*")]
    left = sorted({path.name for path in folder.iterdir()} - {path.name for path in world.iterdir()} - set(mine))
    return _whole(folder, job) or (f"left behind: {left}" if left else "")


def _refused_or_done(folder: Path, job: Job, code: int, where: Path) -> str:
    """A command that could not do its work says so in one line, and leaves nothing."""
    told = told_at(folder).read_text(errors="replace") if told_at(folder).exists() else ""
    if code not in (0, 1, 2):
        return f"exit {code}: {told[-200:]}"
    if "Traceback" in told:
        return f"a traceback: {told[-200:]}"
    lines = [line for line in told.splitlines() if line.startswith("bochner: ") and "warning:" not in line]
    if code and len(lines) != 1:
        return f"{len(lines)} lines for an error: {told[-200:]}"
    if job.output is not None and (where / job.output).exists():
        try:
            job.read(where / job.output)
        except Exception as error:
            return f"half-written: {error!r:.150}"
    left = [path.name for path in where.iterdir() if ".partial" in path.name]
    return f"left behind: {left}" if left else ""


def preload() -> None:
    """Import here what every child needs, so that a child takes the time of its work alone."""
    for name in (
        *("pandas", "pyarrow.parquet", "geopandas", "rasterio", "xarray", "h5netcdf", "zarr", "matplotlib.pyplot"),
        *("bochner.cli._models", "bochner.cli._draws", "bochner.report", "bochner.maps"),
    ):
        importlib.import_module(name)
    sys.stdout.flush()
