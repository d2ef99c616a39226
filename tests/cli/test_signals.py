"""Signals in odd moments: Ctrl-C is never forgotten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bochner.cli import main
from bochner.cli._story import Story

PROGRAM = """
import os, signal, sys, time
from bochner.cli._signals import stopped_by_signals

class Callback:
    def __del__(self):  # its exceptions are printed and forgotten
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)

stopped = "forgotten"
with stopped_by_signals():
    try:
        Callback()
        for _ in range(500):
            time.sleep(0.01)
    except (KeyboardInterrupt, SystemExit) as error:
        stopped = type(error).__name__
print(stopped)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize(("name", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
@pytest.mark.usefixtures("hears_ctrl_c")
def test_a_signal_that_falls_into_a_callback_stops_the_command(name, raised):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, raised, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_in_a_step_of_the_demo_stops_the_demo(tmp_path, monkeypatch):
    """A step ends with an exit code; the next one must not begin."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(400, 2)), columns=["x", "y"]).assign(z=rng.normal(size=400))
    table.to_csv(tmp_path / "rows.csv", index=False)
    fit = ["fit", str(tmp_path / "rows.csv"), "--target", "z", "-o", str(tmp_path / "long.bochner")]
    last = [*fit[:-1], str(tmp_path / "last.bochner"), "--kernel", "matern32(length_scale=1)", "--tune", "none"]

    ended = threading.Event()

    def press():
        # again, as people do: one that falls into a callback of a library may be lost
        for pause in (0.2, 1.0, 2.0):
            if ended.wait(pause):
                return
            os.kill(os.getpid(), signal.SIGINT)

    def steps():
        threading.Thread(target=press, daemon=True).start()
        yield from (("long", fit), ("last", last))

    story = SimpleNamespace(introduction="", steps=steps(), truth=str, ending="")
    monkeypatch.setattr(Story, "begin", lambda *_: story)
    with pytest.raises(SystemExit) as stopped:
        try:
            main(["demo", "-o", str(tmp_path)])
        finally:
            ended.set()
    assert stopped.value.code == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv"]


WINDING_DOWN = """
import atexit, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from bochner.cli import main

def at_the_end():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)

atexit.register(at_the_end)
sys.argv = ["bochner", *{arguments}]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize("arguments", [["--version"], ["predict", "no.bochner", "no.csv", "-o", "x.csv"]])
def test_ctrl_c_while_the_interpreter_winds_down_is_no_traceback(arguments):
    """Whatever the command came to: nothing is left that could be stopped but the program."""
    program = [sys.executable, "-c", WINDING_DOWN.format(arguments=arguments)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 130 and "Traceback" not in done.stderr and "Interrupt" not in done.stderr
