"""Signals in odd moments: Ctrl-C is never forgotten."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
def test_a_signal_that_falls_into_a_callback_stops_the_command(name, raised):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, raised, "")
