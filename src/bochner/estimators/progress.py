"""Progress of a fit: what is being done, and about how long it will take, from the first second."""

from __future__ import annotations

import html
import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

from bochner.estimators import limits

# Set to "lines", this makes every step one line of JSON on the standard error, for a program that watches.
SPOKEN = "BOCHNER_PROGRESS"
DONE = "done"
STAGES = {
    DONE: DONE,
    "features": "learning the kernel",
    "compiling": "compiling loops, once on this machine",
    "tuning": "learning the kernel",
    "solved": "solving",
}


def duration(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress_logging(verbose: int, expected: float = 0.0, what: str = "fit") -> Iterator[None]:
    """Within: one line that says what is being done and how long it will take about; every step, if `verbose`.

    The line is for a terminal, in a notebook it is a bar, and both are for work of more than a few seconds.
    """
    logger, level = logging.getLogger("bochner"), logging.getLogger("bochner").level
    handlers: list[logging.Handler] = []
    if verbose:
        steps = logging.StreamHandler()
        steps.setFormatter(logging.Formatter("bochner: %(message)s"))
        handlers.append(steps)
        sys.stderr.write(f"bochner: {what}: about {duration(expected)}\n")
    elif spoken():
        handlers.append(_Spoken(what, expected, sys.stderr))
    elif expected >= limits.SHOWN_FROM and in_notebook():
        handlers.append(_Bar(what, expected, sys.stderr))
    elif expected >= limits.SHOWN_FROM and _watched(sys.stderr):
        handlers.append(_Line(what, expected, sys.stderr))
    if not handlers:
        yield
        return
    for handler in handlers:
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    try:
        yield
        logger.info("%s", DONE)
    finally:
        logger.setLevel(level)
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()


def in_notebook() -> bool:
    """Whether code runs in the kernel of a notebook, which shows HTML."""
    if "ipykernel" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def spoken() -> bool:
    """Whether a program watches, and reads lines of JSON."""
    return os.environ.get(SPOKEN) == "lines"


def speak(what: str, text: str, **values: float | None) -> None:
    """Say one thing to the program that watches; nothing without one."""
    if spoken():
        sys.stderr.write(json.dumps({"bochner": what, "text": text, **values}) + "\n")
        sys.stderr.flush()


class _Line(logging.Handler):
    """A line that is written anew every second, and wiped at the end; stages are those that the library logs."""

    def __init__(self, what: str, expected: float, stream: TextIO) -> None:
        super().__init__()
        self.what, self.total, self.stream = what, expected, stream
        self.begin, self.stage, self.width = time.monotonic(), "reading the rows", 0
        self.over = threading.Event()
        self.writer = threading.Thread(target=self._write, daemon=True)
        self.writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        stage = STAGES.get(record.getMessage().split(":")[0])
        if stage is None:
            return
        if stage == STAGES["solved"] and self.stage != stage:
            # what was learned has taken its time: the rest is in proportion
            self.total = (time.monotonic() - self.begin) / (1 - limits.SOLVED_SHARE)
        self.stage = stage

    def text(self, elapsed: float) -> str:
        """The line after some seconds."""
        left = duration(self.left(elapsed))
        return f"bochner: {self.what}: {self.stage}, {duration(elapsed)} so far, about {left} left"

    def left(self, elapsed: float) -> float:
        """Seconds that are left, about."""
        return max(self.total - elapsed, limits.LEAST_LEFT * elapsed)

    def share(self, elapsed: float) -> float:
        """How much is done, about, between 0 and 1."""
        return elapsed / (elapsed + self.left(elapsed))

    def close(self) -> None:
        self.over.set()
        self.writer.join()
        self.stream.write("\r" + " " * self.width + "\r")
        self.stream.flush()
        super().close()

    def _write(self) -> None:
        while True:
            line = self.text(time.monotonic() - self.begin)
            self.stream.write("\r" + line.ljust(self.width))
            self.stream.flush()
            self.width = max(self.width, len(line))
            if self.over.wait(1.0):
                return


class _Bar(_Line):
    """The same in a notebook: a bar that moves, and at the end one line that says how long it took."""

    def __init__(self, what: str, expected: float, stream: TextIO) -> None:
        from IPython import display

        self.shown: Any = display.display(_Shown("", 0.0), display_id=True)  # type: ignore[no-untyped-call]
        super().__init__(what, expected, stream)

    def close(self) -> None:
        self.over.set()
        self.writer.join()
        elapsed = time.monotonic() - self.begin
        if self.stage == DONE:
            self.shown.update(_Shown(f"bochner: {self.what}: done in {duration(elapsed)}", 1.0))
        else:
            self.shown.update(_Shown(f"bochner: {self.what}: ended while {self.stage}", self.share(elapsed)))
        logging.Handler.close(self)

    def _write(self) -> None:
        while True:
            elapsed = time.monotonic() - self.begin
            self.shown.update(_Shown(self.text(elapsed), self.share(elapsed)))
            if self.over.wait(1.0):
                return


@dataclass(frozen=True)
class _Shown:
    """A sentence and how much is done, as a front end shows it: with a bar where it knows HTML."""

    text: str
    share: float

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        name = html.escape(self.text, quote=True)
        bar = f'<progress max="100" value="{100 * self.share:.0f}" aria-label="{name}" style="width:16em"></progress>'
        return f'<div style="font-size:90%">{bar} {name}</div>'


class _Spoken(_Line):
    """The same for a program: a line of JSON every second, and one for every choice that is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        stage, _, said = record.getMessage().partition(": ")
        if stage == "features":
            speak("choice", f"Computation: {said}")
        elif stage == "tuning":
            short = re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", said)
            speak("choice", f"Learning: {short}")

    def close(self) -> None:
        self.over.set()
        self.writer.join()
        logging.Handler.close(self)

    def _write(self) -> None:
        while True:
            elapsed = time.monotonic() - self.begin
            left = self.left(elapsed)
            text = f"{self.stage}, {duration(elapsed)} so far, about {duration(left)} left"
            speak("progress", text, fraction=round(self.share(elapsed), 4), seconds_left=round(left, 1))
            if self.over.wait(1.0):
                return


def _watched(stream: TextIO) -> bool:
    """Whether somebody reads a stream while it is written."""
    return bool(getattr(stream, "isatty", lambda: False)())
