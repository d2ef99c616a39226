"""Commands of other packages: one file and one registration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bochner import cli
from bochner.cli import register_command
from bochner.exceptions import InputError

COUNT = '''
"""`bochner count-words`: a command that is no file of the package."""

from pathlib import Path
from typing import Annotated

import typer

from bochner.exceptions import InputError


def count_words(
    file: Annotated[Path, typer.Argument(help="A text.")],
    least: Annotated[int, typer.Option(help="Letters of a word.")] = 1,
) -> None:
    """Count the words of a text.

    \b
    Example:
      bochner count-words letter.txt
    """
    if not file.exists():
        raise InputError(f"{file} does not exist; check its name.")
    typer.echo(sum(len(word) >= least for word in file.read_text().split()))
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module outside of bochner that can be imported."""
    (tmp_path / "toy_words.py").write_text(COUNT)
    (tmp_path / "letter.txt").write_text("of a map")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cli, "REGISTERED", {})
    yield "toy_words"
    sys.modules.pop("toy_words", None)


def install(folder: Path, entries: str) -> None:
    """What an installer leaves behind for a package with entry points."""
    info = folder / "toy_words-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-words\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[bochner.commands]\n{entries}\n")


def test_a_registered_function_is_a_command(package, ok, run):
    import toy_words

    assert register_command(toy_words.count_words) is toy_words.count_words
    assert ok("count-words", "letter.txt", "--least", "2").out == "2\n"
    assert "count-words" in ok("--help").out
    missing = run("count-words", "no.txt")
    assert missing.code == 2 and missing.err == "bochner: no.txt does not exist; check its name.\n"


def test_an_entry_point_is_a_command(package, ok, tmp_path):
    install(tmp_path, "tally = toy_words:count_words")
    assert ok("tally", "letter.txt").out == "3\n"
    assert "tally" in ok("--help").out


@pytest.mark.parametrize(
    ("entry", "why"), [("tally = toy_words:absent", "absent"), ("fit = toy_words:count_words", "a command of bochner")]
)
def test_what_cannot_be_used_is_told_and_left_out(package, ok, tmp_path, entry, why):
    """Where all commands are listed; a command of ours does not look for others."""
    install(tmp_path, entry)
    done = ok("--help")
    assert "Learn a spatial model" in done.out
    assert "warning: the command" in done.err and why in done.err
    done = ok("fit", "--help")
    assert "Learn a spatial model" in done.out and not done.err


def test_own_commands_cannot_be_replaced(package):
    import toy_words

    with pytest.raises(InputError, match="has a command 'fit' already"):
        register_command(toy_words.count_words, "fit")
