"""Outputs: complete or not there, and what dead processes left goes."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from bochner.exceptions import BochnerError, OutputError
from bochner.outputs import clean, complete_files, completed, signals_wait, told_as_output


def dead_process() -> int:
    """Number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked for by number there")
@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize(
    "form", [".a.csv.partial-{pid}", ".a.csv.partial-{host}-{pid}", ".a.csv.partial-{host}-{pid}-3"]
)
def test_what_a_dead_process_left_goes_with_the_next_work(form, kind, tmp_path):
    """Whether a file or a folder, under the name of this version or of an earlier one."""
    with completed(tmp_path / "a.csv") as partial:
        host = partial.parent.name.split(".partial-")[1].rsplit("-", 2)[0]
        partial.write_text("first")
    left = tmp_path / f".a.csv.partial-{form.format(pid=dead_process(), host=host)}"
    left.mkdir() if kind == "folder" else left.write_text("half")
    other = tmp_path / ".b.csv.partial-1-1"
    other.write_text("of another output")
    with completed(tmp_path / "a.csv") as partial:
        partial.write_text("second")
    assert sorted(os.listdir(tmp_path)) == [".b.csv.partial-1-1", "a.csv"]
    assert (tmp_path / "a.csv").read_text() == "second"


def test_work_of_another_machine_is_left_alone_for_a_day(tmp_path):
    left = tmp_path / ".a.csv.partial-elsewhere-7-0"
    left.mkdir()
    assert clean(tmp_path / "a.csv") == []
    old = time.time() - 2 * 86_400
    os.utime(left, (old, old))
    assert clean(tmp_path / "a.csv") == [left] and not left.exists()


def test_two_pieces_of_work_in_one_process_do_not_meet(tmp_path):
    with completed(tmp_path / "a") as first, completed(tmp_path / "a") as second:
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "a").read_text() == "first"  # which ended last
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("way", [completed, complete_files])
def test_a_failure_leaves_what_was_there(way, tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), way(tmp_path / "a") as partial:
        partial.write_text("half")
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders there")
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="device or a pipe"), completed(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("error", [RuntimeError("write\nfailed"), OSError("write failed"), ValueError(), TypeError()])
def test_errors_of_libraries_are_told_as_ours(error):
    todo = "write another format" if isinstance(error, (ValueError, TypeError)) else "make sure that its disk has room"
    with pytest.raises(OutputError, match=rf"x.gpkg could not be written \(.+\); .*{todo}") as told:
        with told_as_output("x.gpkg"):
            raise error
    assert "\n" not in str(told.value)


def test_a_full_disk_is_named_with_the_file():
    """Whichever error of the library hides it, and though the system names the partial file."""
    for error in (OSError(errno.ENOSPC, "No space left on device"), OSError(errno.ENOSPC, "No space", ".a.partial-1")):
        with pytest.raises(OutputError, match=r"^x\.tif could not be written: its disk is full; make room"):
            with told_as_output("x.tif"):
                raise error
        with pytest.raises(OutputError, match=r"^x\.tif could not be written: its disk is full; make room"):
            with told_as_output("x.tif"):
                try:
                    raise error
                except OSError as cause:
                    raise RuntimeError("write failed") from cause


def test_a_disk_that_has_no_room_is_asked(tmp_path, monkeypatch):
    """GDAL says that writing failed, and not why."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(OutputError, match="its disk is full"), told_as_output(tmp_path / "x.tif"):
        raise RuntimeError("write failed")


@pytest.mark.parametrize("error", [BochnerError("ours"), FileNotFoundError(2, "No such file", "x"), MemoryError()])
def test_errors_that_say_enough_are_left_as_they_are(error):
    with pytest.raises(type(error)) as told, told_as_output("x.gpkg"):
        raise error
    assert told.value is error


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.usefixtures("hears_ctrl_c")
def test_signals_wait_for_the_end_of_the_work():
    """Ctrl-C in the middle is heard at the end, and the handlers are those of before."""
    before, done = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), signals_wait():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("the rest")
    assert done and signal.getsignal(signal.SIGINT) is before
    with signals_wait():
        pass
    assert signal.getsignal(signal.SIGINT) is before
