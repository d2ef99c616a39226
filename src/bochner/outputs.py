"""Outputs: a file appears under its name only when it is complete, and what killed work left behind goes.

Work is done in a hidden folder beside the output, named after the machine and the process that writes to it. The next
work on the same output removes folders whose process is gone.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bochner.exceptions import BochnerError, InputError, OutputError

SIDE_FILES = (".shx", ".dbf", ".prj", ".cpg", ".qix", ".sbn", ".sbx", ".qpj")
_STALE_AGE = 86_400.0  # seconds without a change after which work of another machine counts as dead: a day
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_NO_ROOM = 2**16  # bytes: a disk with less left has no room for the next block of a file
_NUMBERS = itertools.count()
_OPEN: set[Path] = set()  # folders that this process writes to


@contextmanager
def completed(path: Path) -> Iterator[Path]:
    """A path in a hidden folder to write to; a file or folder left there is moved to `path` at the end.

    Nothing is moved if the work fails, and anything beside it in the folder is thrown away.
    """
    with _hidden_folder(path) as folder:
        yield folder / path.name
        if path.is_dir():
            os.replace(path, folder / "old")
        os.replace(folder / path.name, path)


@contextmanager
def tried(path: Path) -> Iterator[Path]:
    """A path in a hidden folder, to write to on trial: what is left there is thrown away."""
    with _hidden_folder(path) as folder:
        yield folder / path.name


@contextmanager
def complete_files(path: Path) -> Iterator[Path]:
    """A path to write to; what is there at the end, side files included, is moved under the final name.

    Nothing is moved if the work fails. Side files of an older version (a shapefile's .prj, say) are removed.
    """
    with _hidden_folder(path) as folder:
        yield folder / path.name
        written = sorted(folder.iterdir(), key=lambda file: file.name == path.name)
        if path.suffix.lower() == ".shp":
            stale = {path.with_suffix(end) for end in SIDE_FILES} - {path.with_name(file.name) for file in written}
            for file in stale:
                file.unlink(missing_ok=True)
        for file in written:
            os.replace(file, path.with_name(file.name))


def check_writable(path: str | os.PathLike[str], formats: Sequence[str] = (), inputs: Iterable[Any] = ()) -> None:
    """Refuse an output that cannot be written, or that would destroy an input, before any work is done.

    `inputs` may hold anything; what is no existing file is passed over.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the output {path.name} does not exist; make it first.")
    if formats and path.suffix.lower() not in formats:
        raise InputError(f"{path} ends in {path.suffix!r}; needed is one of {', '.join(formats)}.")
    if path.is_dir() and path.suffix.lower() != ".zarr":
        raise InputError(f"the output {path} is a folder; give the name of a file in it.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent.resolve()} of the output may not be written to; give another.")
    for given in inputs:
        if isinstance(given, (str, os.PathLike)) and path.exists() and Path(given).exists() and path.samefile(given):
            raise InputError(f"the output {path} is also an input, which would be lost; give another name.")


@contextmanager
def told_as_output(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of a library that writes a file, as one of ours: each library has its own when a disk is full."""
    try:
        yield
    except (BochnerError, MemoryError):
        raise
    except Exception as error:
        if _is_full(path, error):
            told = "its disk is full; make room, or write to another disk"
            raise OutputError(f"{path} could not be written: {told}.") from error
        if isinstance(error, OSError) and error.strerror and error.filename:
            raise
        raise _output_error(path, error) from error


@contextmanager
def signals_wait() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of a short piece of work.

    A library in C that calls Python back (HDF5 that writes to a file of ours) is left in pieces by an exception in the
    middle of that, and takes the process down when it ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # exceptions of signals are raised in the main thread alone
        return
    heard: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        heard.append(number)

    ours = (signal.SIGINT, signal.SIGTERM)
    before = {number: handler for number in ours if callable(handler := signal.getsignal(number))}
    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in sorted(before, reverse=True):  # that of Ctrl-C last: it may be heard from then on
            signal.signal(number, before[number])
        for first in heard[:1]:  # whatever became of the work
            before[signal.Signals(first)](first, None)


def clean(path: Path) -> list[Path]:
    """Remove what killed work on this output left behind; work that is still going on is left alone."""
    stale = [found for found in _partials(path) if not _alive(found)]
    for found in stale:
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found, ignore_errors=True)
        else:
            found.unlink(missing_ok=True)
    return stale


@contextmanager
def _hidden_folder(path: Path) -> Iterator[Path]:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OutputError(f"{path} is a device or a pipe, which would be replaced; give the name of a file.")
    clean(path)
    folder = path.with_name(f".{path.name}.partial-{_host()}-{os.getpid()}-{next(_NUMBERS)}")
    _OPEN.add(folder.absolute())
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _OPEN.discard(folder.absolute())


def _is_full(path: str | os.PathLike[str], error: BaseException | None) -> bool:
    """Whether the system says that a disk has no room: by an error among the causes, or when it is asked.

    GDAL and HDF5 keep the number of the error to themselves; the partial file still takes the room.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    try:
        return shutil.disk_usage(Path(path).absolute().parent).free < _NO_ROOM
    except OSError:
        return False


def _output_error(path: str | os.PathLike[str], error: Exception) -> OutputError:
    lines = [line for line in str(getattr(error, "strerror", None) or error).splitlines() if line.strip()]
    told = lines[0] if lines else type(error).__name__
    todo = "make sure that its disk has room and that you may write there"
    if isinstance(error, (ValueError, TypeError)):  # of a format that does not hold something, an attribute say
        todo = "leave out of the input what it cannot hold, or write another format"
    return OutputError(f"{path} could not be written ({told}); {todo}.")


def _partials(path: Path) -> list[Path]:
    name = re.sub(r"([\[\]*?])", r"[\1]", path.name)
    return sorted(path.parent.glob(f".{name}.partial-*"))


# .NAME.partial-HOST-PID-NUMBER; files of earlier versions had no number, or no host either
_NAME = re.compile(r"\.partial-(?:(?P<host>\w+)-)?(?P<pid>\d+)(?:-\d+)?$")


def _alive(partial: Path) -> bool:
    """Whether the process that a partial file belongs to may still be writing to it."""
    found = _NAME.search(partial.name)
    if found is None:
        return True  # none of ours
    host, pid = found["host"], int(found["pid"])
    if (host is not None and host != _host()) or sys.platform == "win32":
        return _age(partial) < _STALE_AGE  # it cannot be asked, or asking by a signal would end it
    if pid == os.getpid():
        return partial.absolute() in _OPEN
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _age(partial: Path) -> float:
    """Seconds since anything in a folder, or a file, was changed."""
    files = [partial, *(partial.rglob("*") if partial.is_dir() else ())]
    try:
        return time.time() - max(file.stat().st_mtime for file in files)
    except OSError:
        return 0.0  # it is being changed right now


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", socket.gethostname())
