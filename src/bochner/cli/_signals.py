"""Signals: the first asks a command to stop and clean up after itself, the second stops it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

MOMENT = 0.02  # seconds, after which a callback has ended
STOPPED = 128  # exit codes of a command that a signal stopped begin here
SHOW_CURSOR = "\x1b[?25h"  # which a spinner may have hidden


@contextmanager
def stopped_by_signals(*, for_good: bool = False) -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, with its partial files removed; a second signal ends it at once.

    `for_good`: nothing but the end of the program comes after the command, so from then on one signal is enough.

    Python hears a signal between two of its own steps, and one of ours may be a matrix that takes minutes. A thread
    that waits for the second signal does not wait for that. A signal that is heard in a callback, whose exceptions
    Python prints and forgets, is sent again.
    """
    alone = threading.current_thread() is threading.main_thread() and sys.platform != "win32"
    if not alone or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # part of another program, which has its own ways
        return
    signal.signal(signal.SIGTERM, _stop)
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    again: list[int] = []  # signals that were sent again, and are no second ones
    threading.Thread(target=_watch, args=(heard, again), name="second signal", daemon=True).start()
    hook = sys.unraisablehook
    sys.unraisablehook = _not_forgotten(hook, again)
    try:
        yield
    finally:
        if for_good and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)  # the interpreter winds down: an exception would be a traceback
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(told)  # at which the thread ends


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(STOPPED + number)


def _stop(number: int, _: FrameType | None) -> None:
    sys.exit(STOPPED + number)


def _not_forgotten(hook: Callable[[Any], object], again: list[int]) -> Callable[[Any], object]:
    """Hook for exceptions that nobody can catch: those of a signal come again, a moment later."""

    def unraisable(told: Any) -> None:
        if not issubclass(told.exc_type, (KeyboardInterrupt, SystemExit)):
            hook(told)
            return
        number = signal.SIGINT if issubclass(told.exc_type, KeyboardInterrupt) else signal.SIGTERM
        again.append(number)
        threading.Timer(MOMENT, os.kill, (os.getpid(), number)).start()

    return unraisable


def _watch(heard: int, again: list[int]) -> None:
    n_heard = 0
    while numbers := os.read(heard, 64):
        for number in numbers:
            n_heard += number in (signal.SIGINT, signal.SIGTERM)
            if n_heard > 1 + len(again):
                if sys.stderr is not None and sys.stderr.isatty():
                    os.write(2, SHOW_CURSOR.encode())
                os._exit(STOPPED + number)
    os.close(heard)
