"""``python -m tests.fuzz``: the long target, its table, and every case that ended badly."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.runner import DOORS, GOOD, Case, cases_of, one_case, run, table


def main() -> None:
    """Run and print; exit with 1 if any case ended in something else than an answer or an error that is meant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", choices=list(DOORS), action="append", help="only this door, or several")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--case", type=int, help="one case of a door, in this process")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no case after these")
    given = parser.parse_args()
    if given.case is not None:
        print(one_case(given.door[0], given.case, given.seed))
        return
    wanted = [case for case in cases_of(given.cases) if given.door is None or case[0] in given.door]
    begin = time.perf_counter()
    shares = [wanted[i :: given.jobs] for i in range(given.jobs)]
    with ThreadPoolExecutor(given.jobs) as pool:
        parts = pool.map(lambda share: run(share, given.seed, _tell, given.minutes), shares)
        found = [case for part in parts for case in part]
    print(table(found))
    print(f"\n{len(found):,} cases in {time.perf_counter() - begin:,.0f} s, seed {given.seed}")
    sys.exit(any(case.outcome not in GOOD for case in found))


def _tell(case: Case) -> None:
    if case.outcome not in GOOD:
        print(f"{case.outcome}: --door '{case.door}' --case {case.number}: {case.told}", flush=True)


if __name__ == "__main__":
    main()
