"""`bochner paper` and `bochner` itself, as a user runs them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from bochner._version import __version__
from bochner.cli import command_names

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "pandas", "pyarrow", "dask", "xarray", "rich", "jinja2")
LAZY_TYPER = (0, 22)  # before, typer itself loads rich to show help


def bochner(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from bochner.cli import main; main()", *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
def test_table_2_through_the_command_line(tmp_path: Path) -> None:
    done = bochner("paper", "--only", "table2", "--seeds", "5", "-o", str(tmp_path / "new" / "out"))
    assert done.returncode == 0, done.stderr
    assert "statements hold" in done.stdout and "index.html" in done.stdout
    assert done.stderr == ""
    with open(tmp_path / "new" / "out" / "table2.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("model", "train_mse_mean", "train_mse_sd", "test_mse_mean", "test_mse_sd", "paper_train", "paper_test")
    ]
    assert len(rows) == 4
    assert (tmp_path / "new" / "out" / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper", "--only", "tabel2", "-o", "out"), "bochner: there is no exhibit 'tabel2'; choose from "),
        (("paper", "--only", "table2", "--seeds", "1", "-o", "out"), "bochner: seeds is 1; needed are at least 2"),
        (("paper", "--only", "table2", "-o", "/dev/null/out"), "bochner: Not a directory: /dev/null/out"),
        (("paper", "-o", "/dev/null"), "bochner: /dev/null is a file; needed is a directory"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    done = bochner(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper",), "Missing option '--output' / '-o'"),
        (("paper", "-o", "out", "--seeds", "many"), "Invalid value for '--seeds'"),
        (("papers",), "No such command 'papers'"),
        (("paper", "-o", "out", "--sedes", "3"), "No such option: --sedes"),
    ],
)
def test_wrong_usage_is_exit_code_2_without_a_traceback(arguments: tuple[str, ...], message: str) -> None:
    done = bochner(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_matplotlib_names_the_extra(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
    program = hide + "from bochner.cli import main; main()"
    command = [sys.executable, "-c", program, "paper", "--only", "figure4", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'bochner[plot]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_version() -> None:
    assert bochner("--version").stdout == f"bochner {__version__}\n"


@pytest.mark.parametrize("command", ["", *command_names()])
def test_help_is_quick_and_shows_an_example(command: str) -> None:
    """Help loads no heavy library; every command shows how it is used."""
    program = (
        "import json, sys\nfrom bochner.cli import main\nsys.argv[0] = 'bochner'\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    arguments = [*([command.replace("_", "-")] if command else []), "--help"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"Usage: bochner {command.replace('_', '-')}".rstrip())
    assert not command or f"bochner {command.replace('_', '-')} " in done.stdout.partition("Example")[2]
    by_typer = {"rich"} if tuple(map(int, version("typer").split(".")[:2])) < LAZY_TYPER else set()
    assert not set(json.loads(done.stderr.splitlines()[-1])) & (set(HEAVY) - by_typer)


def test_script_is_installed() -> None:
    (script,) = (found for found in entry_points(group="console_scripts") if found.name == "bochner")
    assert script.value == "bochner.cli:main"
