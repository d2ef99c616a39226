"""Counts of what makes code hard to change: files, lines, and the places where one part asks what another one is.

    python benchmarks/counts.py [FOLDER]

By regular expressions over ``src/bochner``, or the folder given: rough, and the same for every commit.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PATTERNS = {
    "isinstance of a posterior": r"isinstance\([^()]*,\s*\(?[^()]*Posterior",
    "comparisons with a kind": r"\bkind\s*(?:==|!=|in)\s*[\"'(]",
    "comparisons of a link's name": r"\blink\s*(?:==|!=|in)\s*[\"'(]",
    "private reads": r"(?<!self)(?<!cls)(?<![\w\"'])\b(?:model|fitted|fit|posterior|estimator|regressor)\._[a-z]\w*",
    "writes into choices": r"choices(?:_)?\[[^\]]+\]\s*=[^=]",
    "constants": r"(?m)^[A-Z][A-Z0-9_]+(?::[^=]+)?\s*=",
}


def main() -> None:
    """Print a Markdown table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "bochner"
    texts = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    print(
        f"| what | count |\n|---|---|\n| files | {len(texts)} |\n| lines | {sum(t.count(chr(10)) for t in texts):,} |"
    )
    for name, pattern in PATTERNS.items():
        print(f"| {name} | {sum(len(re.findall(pattern, text)) for text in texts)} |")


if __name__ == "__main__":
    main()
