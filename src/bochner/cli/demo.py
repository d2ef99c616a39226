"""`bochner demo`: the whole job on a simulated survey, from files to a page that can be handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write to; made if it is missing.")
    ],
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another seed is another country.")] = 0,
) -> None:
    """Map malaria in a country that does not exist: simulate a survey, then fit, validate, map, aggregate and report.

    Writes the survey (villages as CSV, covariates and people as GeoTIFF, districts as GeoPackage) as a user would have
    it, then runs the other commands on it, each shown before it runs, and compares the map with the truth. Takes less
    than a minute. The commands are kept in commands.sh, to be changed and run again.

    \b
    Example:
      bochner demo -o demo-output
    """
    import shlex

    from bochner.cli import application
    from bochner.cli._story import Story
    from bochner.cli._terminal import say, status
    from bochner.exceptions import InputError

    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; needed is a folder to write to: give another name.")
    with status("simulating a country"):
        story = Story.begin(output, seed)
    say(story.introduction)
    for sentence, arguments in story.steps:
        say(f"\n# {sentence}\n$ bochner {shlex.join(arguments)}\n")
        stopped = application(arguments[0])(arguments, standalone_mode=False)
        if stopped:  # Ctrl-C in a step comes back as its exit code
            raise typer.Exit(stopped)
    say(f"\n{story.truth()}\n\n{story.ending}")
