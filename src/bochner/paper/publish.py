"""Publishing: every exhibit made, written as files, and told on one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bochner.exceptions import InputError
from bochner.paper import style
from bochner.paper.contents import check_seeds, choose, make
from bochner.paper.exhibit import Exhibit
from bochner.paper.page import render


def reproduce(
    directory: str | os.PathLike[str],
    seeds: int = 50,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda name: None,
) -> list[Exhibit]:
    """Make the paper's figures, tables and claims again and write them to a directory.

    For each exhibit `name.png`, `name.svg`, `name.csv` and `name.md`, and `index.html` for reading.

    Parameters
    ----------
    directory : path
        Where to write; made if it is missing.
    seeds : int
        How many simulated data sets to average over, at least 2.
    only : sequence of str
        Names out of `bochner.paper.NAMES`; all of them by default.
    progress : callable
        Called with each name before it is made.
    """
    names = choose(only)
    check_seeds(seeds)
    style.pyplot()  # a missing matplotlib is reported before the work, not after
    folder = as_folder(directory)
    made = []
    for name in names:
        progress(name)
        made.append(make(name, seeds))
        write(made[-1], folder)
    (folder / "index.html").write_text(render(made, seeds), encoding="utf-8")
    return made


def as_folder(directory: str | os.PathLike[str]) -> Path:
    """Directory to write to, made if it is missing."""
    folder = Path(directory)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; needed is a directory to write to. Give another path.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(exhibit: Exhibit, folder: Path) -> None:
    """Write the figure and the table of an exhibit."""
    style.save(exhibit.draw(), folder, exhibit.name)
    (folder / f"{exhibit.name}.csv").write_text(exhibit.table.csv(), encoding="utf-8")
    text = f"# {exhibit.title}\n\n" + "\n\n".join(exhibit.story)
    text += f"\n\n{exhibit.table.markdown()}\n{exhibit.claims_table().markdown()}"
    (folder / f"{exhibit.name}.md").write_text(text, encoding="utf-8")
