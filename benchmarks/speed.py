"""Speed, in one run: ours beside limits (bare products and transforms), beside peers and beside what is wanted.

    make bench ARGS=--quick                    every case on small sizes: under five minutes on two cores
    make bench                                 as the documentation shows it
    python benchmarks/speed.py --only vecchia  cases whose name holds a word
    python benchmarks/speed.py --threads 1     in seconds of the processor, on a machine busy with other things
    python benchmarks/speed.py --data DIR      the satellite file of benchmarks/competition.py against GPBoost, too
    python benchmarks/speed.py --only large_field --rows 10000    fields of other sizes against GPBoost
    python benchmarks/speed.py --only growth --picture docs/_static/scaling.png    the picture of the documentation

Peers are the extra `peers`; one that is not installed is left out and told of, and so is a CUDA device. Both sides of
a row run one after the other on the same threads, each as often as `--repeats` says, and the fastest counts; what is
measured by its peak memory, and a device, in interpreters of their own. Seconds are those on the clock, or of the
processor; every row says which. Written to out/bench: speed.md, speed.json, scaling.png.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timing.plan import Plan
    from timing.rows import Row

# NumPy and all that imports it come later: libraries read the number of their threads when they are loaded.

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="*", default=[], help="words of the cases to run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="of every computation (default: one per core)")
    parser.add_argument("--data", type=Path, help="folder with heaton_satellite_train.parquet and its test places")
    parser.add_argument("--rows", type=int, nargs="+", default=(), help="of large fields, instead of its own")
    parser.add_argument("--output", type=Path, default=Path("out/bench"))
    parser.add_argument("--picture", type=Path, help="where to draw cost against size (default: in the output folder)")
    args = parser.parse_args()
    if args.threads:
        os.environ.update({name: str(args.threads) for name in THREADS})
    from timing import devices, growth
    from timing.cases import CASES
    from timing.plan import Plan
    from timing.table import publish

    names = [*(case.__name__ for case in CASES), "growth"]
    unknown = [word for word in args.only if not any(word in name for name in names)]
    if unknown:
        parser.error(f"no case has {', '.join(map(repr, unknown))} in its name; they are {', '.join(names)}")
    devices.hide()
    plan = Plan(args.quick, args.repeats, args.threads, args.data, tuple(args.rows))
    wanted = [name for name in names if not args.only or any(word in name for word in args.only)]
    rows = measured([case for case in CASES if case.__name__ in wanted], plan)
    curves = []
    if "growth" in wanted:
        print("growth ...", file=sys.stderr, flush=True)
        curves = growth.growth(plan)
        if find_spec("matplotlib"):
            growth.draw(args.picture or args.output / "scaling.png", curves, plan.seconds_of)
    publish(args.output, plan, rows, curves)


def measured(cases: list[Callable[[Plan], Iterator[Row]]], plan: Plan) -> list[Row]:
    """Rows of some cases, each told of when it is there."""
    rows = []
    for case in cases:
        print(f"{case.__name__} ...", file=sys.stderr, flush=True)
        for row in case(plan):
            row = replace(row, clock=row.clock or plan.clock)
            told = f"{row.ours:.3g} {row.unit}, {row.other} {row.theirs:.3g} {row.unit}: {row.told}"
            print(f"    {row.size}: {told}", file=sys.stderr, flush=True)
            rows.append(row)
    return rows


if __name__ == "__main__":
    main()
