"""Every error and warning that bochner raises on purpose.

An error says what was given, what is needed and what to change. Each one is also a
built-in exception, so that callers need not import this module to catch it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


class BochnerError(Exception):
    """Base of every error raised on purpose."""


class InputError(BochnerError, ValueError):
    """Data or a parameter that cannot be used as given."""


class RowError(InputError):
    """Rows that cannot be used as given: `rows` are their positions, `reasons` say of the first ones what they hold."""

    def __init__(self, text: str, rows: Sequence[int] = (), reasons: Sequence[str] = ()) -> None:
        super().__init__(text, rows, reasons)  # all of it, so that the error can travel between processes
        self.text, self.rows, self.reasons = text, rows, reasons

    def __str__(self) -> str:
        return self.text


class StoreError(InputError):
    """Rows that a model answers from, and that are not where they were."""


class ColumnError(BochnerError, KeyError, ValueError):
    """A column that is asked for by name and is not there."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class KernelError(BochnerError, ValueError):
    """A kernel that is not valid, or not valid for what is asked of it."""


class PartError(BochnerError, ValueError):
    """Two parts (features, solver, family, kernel) that do not go together."""


class MemoryLimitError(BochnerError, MemoryError):
    """Work that would need more memory than the limit allows."""


class ConvergenceError(BochnerError, RuntimeError):
    """An iteration that diverged, or a matrix that could not be factored."""


class ArchiveError(BochnerError, ValueError):
    """A model file that is damaged, foreign or too new."""


class OutputError(BochnerError, OSError):
    """An output that could not be written: a full disk, say."""


class MissingExtraError(BochnerError, ImportError):
    """An optional dependency that the call needs and that is not installed."""


class BochnerWarning(UserWarning):
    """Base of every warning raised on purpose."""


class ApproximationWarning(BochnerWarning):
    """An approximation that is coarser than was asked for."""


class CollinearityWarning(BochnerWarning):
    """Columns that carry the same information."""


class TuningWarning(BochnerWarning):
    """Hyperparameters that could not be learned well."""


class FallbackWarning(BochnerWarning):
    """Input for which a simpler model than the one asked for is used."""


class CheckWarning(BochnerWarning):
    """A fitted model that looks wrong."""


class OutsideWarning(FallbackWarning):
    """Places at which a model has nothing left but its trend and its prior."""


_HEARD: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Texts of the warnings raised meanwhile, whatever the user's filters do with them."""
    texts: list[str] = []
    token = _HEARD.set(texts)
    try:
        yield texts
    finally:
        _HEARD.reset(token)


def warn(text: str, category: type[BochnerWarning]) -> None:
    """Raise a warning that points at the line of the user's that led to it, however deep it arose."""
    texts = _HEARD.get()
    if texts is not None:
        texts.append(text)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "bochner":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
