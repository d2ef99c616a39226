"""What a change of the library could lose without a failing test: one short check of each capability.

    python benchmarks/capabilities.py                          every check, in about ten minutes on two cores
    python benchmarks/capabilities.py --only kernel memory     checks whose names hold a word
    python benchmarks/capabilities.py --record base.json       write outcomes and measured numbers
    python benchmarks/capabilities.py --compare base.json      exit code 1 where something of that file was lost

Checks use the public interface alone; they are in benchmarks/capability, by subject. A check that fails is printed with
its reason. `--compare` counts as lost what passed and fails now, and a number (seconds of the processor, bytes, peak
megabytes) that is more than twice as large. What failed when the file was recorded is no loss. Checks share a process;
those that measure have one of their own. Compiled loops are kept on disk: the first run on a machine takes longer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from capability.registry import CHECKS, FAILED, PASSED, Check, Outcome, as_json, from_json, losses, outcome_of

SUBJECTS = ("learning", "invariance", "given", "answers", "findings", "storage", "sources", "interfaces", "costs")
SIGN = "capability "


def main() -> None:
    """Run the checks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="words of the names of the checks to run")
    parser.add_argument("--record", type=Path, help="file to write the outcomes to")
    parser.add_argument("--compare", type=Path, help="file of an earlier run to compare with")
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for subject in SUBJECTS:
        import_module(f"capability.{subject}")
    if args.worker:
        work(sys.stdin.read().splitlines())
        return
    recorded = from_json(json.loads(args.compare.read_text())) if args.compare else {}
    wanted = [one for name, one in CHECKS.items() if not args.only or any(word in name for word in args.only)]
    if args.list:
        print("\n".join(one.name for one in wanted))
        return
    found: dict[str, Outcome] = {}
    for name, outcome in outcomes(wanted):
        found[name] = outcome
        print(line(name, outcome, recorded.get(name)), flush=True)
        if args.record:
            args.record.write_text(json.dumps(as_json(found), indent=1, ensure_ascii=False))
    failed = sum(one.outcome != PASSED for one in found.values())
    seconds = sum(one.seconds for one in found.values())
    print(f"\n{len(found) - failed} of {len(found)} checks passed, {failed} fail; {seconds:.0f} s")
    lost = losses(found, recorded, args.only)
    if args.compare:
        print(f"{len(lost)} capabilities lost since {args.compare}", *lost, sep="\n  ")
    sys.exit(1 if lost else 0)


def line(name: str, found: Outcome, before: Outcome | None) -> str:
    """A row of the table: name, outcome, seconds, numbers or the reason."""
    known = before is not None and before.outcome != PASSED and found.outcome != PASSED
    told = found.reason or ", ".join(f"{what} {value:.4g}" for what, value in found.numbers.items())
    return f"{name:<52} {'fails as before' if known else found.outcome:<16}{found.seconds:>7.1f} s  {told}".rstrip()


def outcomes(wanted: list[Check]) -> Iterator[tuple[str, Outcome]]:
    """Outcomes of checks, in their order; a process that ends early fails the check it was at."""
    while wanted:
        together = [wanted[0]]
        while not together[0].fresh and len(together) < len(wanted) and not wanted[len(together)].fresh:
            together.append(wanted[len(together)])
        n_done, last = 0, ""
        for text in said_of(together):
            if not text.startswith(SIGN):
                last = text.strip() or last
                continue
            told = json.loads(text.removeprefix(SIGN))
            yield told["name"], Outcome(**told["found"])
            n_done += 1
        if n_done < len(together):
            yield together[n_done].name, Outcome(FAILED, f"the process ended: {last}"[:300])
            n_done += 1
        wanted = wanted[n_done:]


def said_of(together: list[Check]) -> Iterator[str]:
    """Lines that a process says while it runs some checks."""
    # two threads wherever it runs; a check that measures asks for one
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "PYTHONUNBUFFERED": "1"}
    names = "\n".join(one.name for one in together)
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own, cwd=folder,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(names)
        process.stdin.close()
        yield from process.stdout


def work(names: list[str]) -> None:
    """Run checks by name, and say what each found."""
    for name in names:
        found = as_json({name: outcome_of(CHECKS[name])})[name]
        print(SIGN + json.dumps({"name": name, "found": found}), flush=True)


if __name__ == "__main__":
    main()
