"""Extras: the table of the documentation names those of the package, each once, and what `all` is said to hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "installation.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="a source distribution has no documentation")


def test_every_extra_is_in_the_table():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE.read_text(), flags=re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(extras)
    held = {name for one in extras["all"] for name in re.search(r"\[(.*)\]", one)[1].split(",")}
    # `table` comes with `geo`; what stands above `all` is in it, and nothing else
    assert set(named[: named.index("all")]) == held | {"table"}
