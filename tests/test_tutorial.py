"""The tutorial and the how-to guides: every block of Python and every command runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from bochner.cli import main

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = [DOCS / f"{name}.md" for name in ("families", "kernels", "lattice")]
PAGES = sorted([*DOCS.glob("tutorial/*.md"), *DOCS.glob("howto/*.md"), *GUIDES])
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
WITH_CODE = [page for page, text in TEXTS.items() if "```python" in text]
TAKE_LONG = {"choose_a_kernel", "choose_blocks", "families", "million_points", "report", "validate_a_map"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=f"{page.parent.name}/{page.stem}",
            marks=[pytest.mark.slow] if page.stem in TAKE_LONG else [],
        )
        for page in WITH_CODE
    ],
)
def test_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run in order in one namespace, in an empty folder; a text block below one is its output."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "tutorial"}
    for line, kind, code, shown in blocks(page.read_text(encoding="utf-8")):
        where = f"{page}:{line}"
        printed = run(code, namespace, where) if kind == "python" else run_commands(code, where)
        if kind == "python":
            assert shown is not None or not printed, f"{page.name}, line {line}: the page does not show {printed!r}"
        if shown is not None:
            assert_same(printed, shown, f"{page.name}, line {line}")


def test_every_page_of_the_tutorial_has_code() -> None:
    """Only the two tables of contents are without."""
    assert {page.name for page in PAGES if page not in WITH_CODE} == {"index.md"}
    assert len(WITH_CODE) >= 8


def blocks(text: str) -> list[tuple[int, str, str, str | None]]:
    """Blocks of a page: line number, python or sh, code, and the text block right below, if there is one."""
    pattern = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
    return [(text[: found.start()].count("\n") + 2, found[1], found[2], found[3]) for found in pattern.finditer(text)]


def run(code: str, namespace: dict[str, object], where: str) -> str:
    """What a block prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, where, "exec"), namespace)
    return output.getvalue()


def run_commands(code: str, where: str) -> str:
    """What the commands of a block print; other lines than those of `bochner` are passed over."""
    lines = code.replace("\\\n", " ").splitlines()
    output, told = io.StringIO(), io.StringIO()
    for line in (line for line in lines if line.startswith("bochner ")):
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(told), pytest.raises(SystemExit) as stop:
            main(shlex.split(line)[1:])
        assert not stop.value.code, f"{where}: {line}: {told.getvalue()}"
    return output.getvalue()


def assert_same(printed: str, shown: str, where: str) -> None:
    """Same words, and numbers equal within 3 % or two units of the last digit shown: platforms round differently."""
    number = r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?"
    assert re.sub(number, "#", printed).split() == re.sub(number, "#", shown).split(), f"{where}: {printed}"
    for got, expected in zip(re.findall(number, printed), re.findall(number, shown), strict=True):
        digits = len(expected.partition(".")[2]) if "e" not in expected else 0
        slack = 2 * 10.0**-digits if "." in expected else 0.0
        # one digit of an exponent's mantissa can be off by one
        relative = 0.5 if "e" in expected else 0.03
        assert np.isclose(float(got), float(expected), rtol=relative, atol=slack), f"{where}: {got}, not {expected}"
