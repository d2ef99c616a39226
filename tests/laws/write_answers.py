"""Writes down what small models answer: ``python -m tests.laws.write_answers``, or with the names of some of them.

To be run when answers change on purpose; it prints what changed, which belongs into the message of the commit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.laws.answers import Answer, answered, differences
from tests.laws.registry_answers import CASES

FILE = Path(__file__).parents[1] / "data" / "answers.json"


def main(names: list[str]) -> None:
    """Ask again, tell what is new, and write."""
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    asked = set(names) | (CASES.keys() - old.keys()) if names else set(CASES)
    written = {name: told(name, old) if name in asked else old[name] for name in CASES}
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in written.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def told(name: str, old: dict[str, Answer]) -> Answer:
    """Answers of a case, and on the screen how they differ."""
    new = answered(CASES[name])
    changed = list(differences(new, old[name])) if name in old else ["new"]
    for each in changed:
        print(f"{name}: {each}")
    return new if changed else old[name]


if __name__ == "__main__":
    main(sys.argv[1:])
