"""What commands say: results on the standard output, everything else on the standard error."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

Progress = Callable[[int, int], None]


def say(text: str) -> None:
    """A result."""
    typer.echo(text)


def note(*sentences: str) -> None:
    """What the user should know; not part of the result."""
    for sentence in sentences:
        typer.echo(f"note: {sentence}", err=True)


def say_json(value: Mapping[str, Any]) -> None:
    """A result for scripts: one JSON object."""
    typer.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON holds it; what is no finite number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def as_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows of text and numbers as aligned columns, the first to the left."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


@contextmanager
def status(text: str) -> Iterator[None]:
    """A spinner on a terminal, a line for a program that watches, now and then a line elsewhere."""
    from rich.console import Console

    from bochner.estimators.progress import speak

    speak("progress", text, fraction=None, seconds_left=None)

    console = Console(stderr=True)
    with console.status(text) if console.is_terminal else _now_and_then([text]):
        yield


@contextmanager
def progress(text: str) -> Iterator[Progress]:
    """A bar on a terminal, now and then a line elsewhere; it yields a function of the number done and the total."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from bochner.estimators.progress import speak

    begin = time.monotonic()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=console, transient=True, disable=not console.is_terminal)
    said = [text]
    # rich 13 ends a bar that it does not show with an empty line
    with bar if console.is_terminal else _now_and_then(said):
        task = bar.add_task(text, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            share = done / max(total, 1)
            said[0] = f"{text}, {share:.0%}"
            left = (time.monotonic() - begin) * (1 - share) / share if share > 0 else None
            speak("progress", text, fraction=round(share, 4), seconds_left=left if left is None else round(left, 1))

        yield update


@contextmanager
def _now_and_then(said: Sequence[str]) -> Iterator[None]:
    """Lines on the standard error while work goes on: after 5, 10, 20, ... seconds, with the words of that moment."""
    from bochner.estimators.limits import SHOWN_FROM
    from bochner.estimators.progress import duration, spoken

    begin, over = time.monotonic(), threading.Event()

    def write() -> None:
        elapsed = SHOWN_FROM
        while not over.wait(elapsed):
            elapsed = time.monotonic() - begin
            typer.echo(f"bochner: {said[0]}, {duration(elapsed)} so far", err=True)

    if not spoken():
        threading.Thread(target=write, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return "" if value is None else f"{value:,}"
