"""Table: all rows of a run in Markdown and JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .growth import Curve, as_lines
from .plan import Plan
from .rows import Row

PEERS = ("numpy", "scipy", "scikit-learn", "gpboost", "gpytorch", "pykrige", "gstools", "ducc0", "finufft")
HEAD = ("case", "size", "bochner", "beside", "its", "ratio", "goal", "seconds", "RMSE", "its RMSE", "±")


def publish(folder: Path, plan: Plan, rows: Sequence[Row], curves: Sequence[Curve]) -> None:
    """The table on the terminal and in a file, and numbers as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    table = as_markdown(plan, rows, curves)
    print(table)
    (folder / "speed.md").write_text(table, encoding="utf-8")
    numbers = {
        "machine": machine(plan),
        "rows": [
            asdict(row) | {"beside": row.beside.name, "ratio": row.ratio, "told": row.told, "verdict": row.verdict}
            for row in rows
        ],
        "growth": [asdict(curve) | {"slope": curve.slope} for curve in curves],
    }
    (folder / "speed.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")


def as_markdown(plan: Plan, rows: Sequence[Row], curves: Sequence[Curve]) -> str:
    lines = [f"{machine(plan)}{', quick sizes' if plan.quick else ''}"]
    if rows:
        lines += ["", as_line(HEAD), "|---|---|--:|---|--:|--:|---|---|--:|--:|--:|", *map(as_line, map(cells, rows))]
    if curves:
        lines += ["", *as_lines(curves)]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> list[str]:
    """What stands in the columns of `HEAD`."""
    score = row.score
    scores = (None, None, None) if score is None else (score.ours, score.theirs, score.chance)
    told = [f"{s:.4f}" if s is not None else "" for s in scores]
    numbers = [
        f"{number:.3g} {row.unit}" if number < 1e3 else f"{number:,.0f} {row.unit}" for number in (row.ours, row.theirs)
    ]
    return [row.case, row.size, numbers[0], row.other, numbers[1], row.told, row.verdict, row.seconds_of, *told]


def as_line(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def machine(plan: Plan) -> str:
    """The processor, its cores, and what ran on it."""
    from bochner import __version__
    from bochner.resources import n_cores

    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        name = names[0] if names else name
    threads = plan.threads or n_cores()
    versions = [f"Python {platform.python_version()}", f"bochner {__version__}", *map(installed_version, PEERS)]
    return f"{name}, {n_cores()} cores, {threads} thread(s); {', '.join(filter(None, versions))}"


def installed_version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""
