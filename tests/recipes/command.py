"""A command of one's own: `bochner length-scales MODEL`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import register_command


def length_scales(model: Annotated[Path, typer.Argument(help="File that `bochner fit` wrote.")]) -> None:
    """Show the kernel of a model.

    \b
    Example:
      bochner length-scales soil.bochner
    """
    from bochner import load

    typer.echo(repr(load(model).kernel_))


register_command(length_scales)
