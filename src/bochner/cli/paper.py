"""`bochner paper`: every table, figure and claim of the paper, made again."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bochner.paper import Exhibit


def paper(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Directory to write to; made if it is missing.")
    ],
    seeds: Annotated[int, typer.Option(metavar="N", help="Simulated data sets to average over, at least 2.")] = 50,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Make only this one, e.g. table2; may be given several times."),
    ] = None,
) -> None:
    """Make the tables, figures and claims of the paper again.

    Writes a PNG, an SVG, a CSV and a Markdown file for each, and one page, index.html, that tells the paper's story
    with its code and with the numbers that the paper printed beside ours. Takes a minute or two.

    The paper is Milton, Giorgi and Bhatt, "Spatial analysis made easy with linear regression and kernels".

    \b
    Examples:
      bochner paper -o out
      bochner paper -o out --only table2
      bochner paper -o out --only figure1 --only figure5 --seeds 10
    """
    os.environ.setdefault("MPLBACKEND", "agg")  # files only: no window, and none needed
    from bochner.paper import reproduce
    from bochner.paper.contents import choose

    names = choose(only or ())
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar if console.is_terminal else nullcontext():  # rich 13 ends a bar that it does not show with an empty line
        task = bar.add_task("", total=len(names))
        started: list[str] = []

        def progress(name: str) -> None:
            bar.update(task, description=name, completed=len(started))
            started.append(name)

        made = reproduce(output, seeds, names, progress)
    report(made, output)


def report(made: list[Exhibit], output: Path) -> None:
    """Say what holds, what does not, and what to open."""
    claims = [(exhibit.name, claim) for exhibit in made for claim in exhibit.claims]
    for name, claim in claims:
        if not claim.holds:
            typer.echo(f"does not hold ({name}): {claim.paper} Found: {claim.here}")
    tested = [claim for _, claim in claims if not claim.tuned]
    holding = sum(claim.holds for claim in tested)
    typer.echo(f"{holding} of {len(tested)} statements hold. Read {output / 'index.html'}")
