"""Exhibits: one figure, table or claim of the paper, made again, with what it shows."""

from __future__ import annotations

import csv
import inspect
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent, fill
from typing import Any

Cell = str | float | int


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what was measured here, and whether the two agree.

    `corrected`: the paper's text has a slip, and what holds is the statement without it. `tuned`: a setting was picked
    for coming close to the paper's number, so that agreement is no test passed.
    """

    paper: str
    here: str
    holds: bool
    corrected: bool = False
    tuned: bool = False

    @property
    def verdict(self) -> str:
        """One of "holds", "holds, corrected", "fitted, no test" and "fails"."""
        if self.tuned and self.holds:
            return "fitted, no test"
        return ("holds, corrected" if self.corrected else "holds") if self.holds else "fails"


@dataclass(frozen=True)
class Table:
    """Named columns and rows of text and numbers."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def csv(self) -> str:
        """Comma-separated values; numbers with six digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[_digits(cell, 6) for cell in row] for row in self.rows])
        return text.getvalue()

    def markdown(self) -> str:
        """Table in Markdown; numbers with three digits."""
        lines = [self.columns, ["---"] * len(self.columns), *self.shown()]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"

    def shown(self) -> list[list[str]]:
        """Rows as text for reading."""
        return [[_digits(cell, 3) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Exhibit:
    """What one file of `bochner.paper` makes.

    Parameters
    ----------
    module : str
        The file, as `__name__`; its docstring is the title and the story.
    claims : sequence of Claim
        What the paper says of it, and what was found.
    table : Table
        The numbers.
    draw : callable
        Returns the matplotlib figure.
    code : sequence of functions
        Those that made it, shown beside it.
    """

    module: str
    claims: Sequence[Claim]
    table: Table
    draw: Callable[[], Any]
    code: Sequence[Callable[..., Any]]

    @property
    def name(self) -> str:
        """Name of the files and of the option `--only`."""
        return self.module.rpartition(".")[2]

    @property
    def title(self) -> str:
        """First line of the module's docstring."""
        return self._docstring().partition("\n")[0].rstrip(".")

    @property
    def story(self) -> list[str]:
        """Paragraphs of the module's docstring after the first line."""
        paragraphs = self._docstring().split("\n\n")[1:]
        return [" ".join(paragraph.split()) for paragraph in paragraphs]

    @property
    def holds(self) -> bool:
        """Whether every claim was found to hold."""
        return all(claim.holds for claim in self.claims)

    def source(self) -> str:
        """Source code of the functions that made it."""
        return "\n\n\n".join(dedent(inspect.getsource(function)).rstrip() for function in self.code) + "\n"

    def claims_table(self) -> Table:
        """What the paper says beside what was found."""
        return Table(("the paper", "here", "verdict"), [(c.paper, c.here, c.verdict) for c in self.claims])

    def summary(self) -> str:
        """Title and claims as text."""
        lines = [self.title]
        for claim in self.claims:
            lines += [f"- {claim.paper}", f"  {claim.verdict}: {claim.here}"]
        return "\n".join(fill(line, 88, subsequent_indent="  ") for line in lines)

    def _docstring(self) -> str:
        return inspect.cleandoc(sys.modules[self.module].__doc__ or "")


def _digits(cell: Cell, digits: int) -> str:
    return f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell)
