"""Constraints that hold every dependency in the oldest series that pyproject.toml allows.

    python benchmarks/oldest.py > constraints.txt
    pip install -c constraints.txt -e '.[test]'

A floor of 2.0 becomes 2.0.*: the last of the series, which has the fixes and the wheels that the first may not have.
`make oldest` makes an environment of its own with them and runs the tests there. Tools that run the tests or check
style, and touch no data, are left as they are.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

TOOLS = {"pytest", "pytest-xdist", "pytest-cov", "hypothesis", "ruff", "mypy", "playwright", "axe-playwright-python"}
EXTRAS = ("table", "geo", "grid", "plot", "dask", "formula", "nufft", "studio", "test")


def main() -> None:
    """Print one constraint a line."""
    project = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    print("\n".join(sorted({held for line in lines if (held := constraint(Requirement(line)))})))


def constraint(needed: Requirement) -> str:
    """A requirement with a floor as the series of that floor; nothing for tools, ourselves and other systems."""
    floors = [part.version for part in needed.specifier if part.operator == ">="]
    here = needed.marker is None or needed.marker.evaluate()
    if not floors or not here or needed.name in TOOLS or needed.name == "bochner":
        return ""
    return f"{needed.name}=={floors[0]}.*"


if __name__ == "__main__":
    main()
