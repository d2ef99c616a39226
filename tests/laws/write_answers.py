"""Writes down what small models answer: ``python -m tests.laws.write_answers``, or with the names of some of them.

To be run when answers change on purpose; it prints what changed, which belongs into the message of the commit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.laws.answers import answered, answered_part, differences, versions
from tests.laws.registry_answers import CASES
from tests.laws.registry_parts import PARTS

FILE = Path(__file__).parents[1] / "data" / "answers.json"


def main(names: list[str]) -> None:
    """Ask again, tell what is new, and write."""
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    asked = set(names) | (CASES.keys() | PARTS.keys()) - old.keys() if names else {*CASES, *PARTS}
    written = {name: told(name, old) if name in asked else old[name] for name in [*CASES, *PARTS]}
    lines = [f'"versions": {json.dumps(versions())}']
    lines += [f"{json.dumps(name)}: {json.dumps(_short(answer))}" for name, answer in written.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def told(name: str, old: dict[str, Any]) -> dict[str, Any]:
    """Answers of a case, and on the screen how they differ."""
    new = answered(CASES[name]) if name in CASES else answered_part(PARTS[name])
    changed = list(differences(new, old[name])) if name in old else ["new"]
    for each in changed:
        print(f"{name}: {each}")
    return new if changed else old[name]


def _short(answer: dict[str, Any]) -> dict[str, Any]:
    """With nine digits, which is more than is compared."""
    numbers = {name: [float(f"{x:.9g}") for x in values] for name, values in answer["numbers"].items()}
    return {"texts": answer["texts"], "numbers": numbers}


if __name__ == "__main__":
    main(sys.argv[1:])
