"""Runner: cases one by one in a process of their own, each with a limit of time and memory, told apart by outcome."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.exceptions import BochnerError
from tests.fuzz import command_doors, estimator_doors, file_doors, model_doors

# Doors with the share of the cases that each is given, by how much they take.
DOORS: dict[str, tuple[Callable[..., None], float]] = {
    "regressor": (estimator_doors.regressor, 0.12),
    "classifier": (estimator_doors.classifier, 0.03),
    "features": (estimator_doors.waves, 0.05),
    "kernels": (estimator_doors.kernels, 0.10),
    "csv": (file_doors.csv, 0.13),
    "excel": (file_doors.excel, 0.02),
    "parquet": (file_doors.parquet, 0.05),
    "toml": (file_doors.toml, 0.10),
    "geojson": (file_doors.geojson, 0.07),
    "geopackage": (file_doors.geopackage, 0.02),
    "raster": (file_doors.raster, 0.07),
    "netcdf": (file_doors.netcdf, 0.05),
    "damaged model": (model_doors.damaged_model, 0.08),
    "forged model": (model_doors.forged_model, 0.03),
    "forged value": (model_doors.forged_value, 0.06),
    "bomb": (model_doors.bomb, 0.01),
    "command": (command_doors.command, 0.04),
}
OUTCOMES = ("answer", "our error", "scikit-learn's", "raw error", "nonsense", "timeout", "crash")
GOOD = OUTCOMES[:3]
SECONDS, WAITING, BYTES = 30, 300, 6 * 2**30


class TooLong(BaseException):
    """A case that took more than its time."""


@dataclass(frozen=True)
class Case:
    """One case: the door, its number, and what became of it."""

    door: str
    number: int
    outcome: str
    told: str = ""


def cases_of(total: int) -> list[tuple[str, int]]:
    """Doors and numbers of all cases, the doors in turn, so that any beginning is a fair sample."""
    counts = {door: max(1, round(total * share)) for door, (_, share) in DOORS.items()}
    cases = [(door, i) for door, n in counts.items() for i in range(n)]
    return sorted(cases, key=lambda case: (case[1] + 0.5) / counts[case[0]])


def one_case(door: str, number: int, seed: int) -> Case:
    """Run a case in this process."""
    rng = np.random.default_rng([seed, sorted(DOORS).index(door), number])
    signal.signal(signal.SIGPROF, _too_long)
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of computing; one that only waits is given longer
    signal.alarm(WAITING)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            DOORS[door][0](rng, Path(folder))
        return Case(door, number, "answer")
    except (BochnerError, command_doors.Refused) as error:
        lines = len(str(error).splitlines())
        return Case(door, number, "our error" if lines == 1 else "raw error", "" if lines == 1 else repr(error))
    except TooLong:
        return Case(door, number, "timeout", _where())
    except AssertionError as error:
        return Case(door, number, "nonsense", f"{error} {_where()}")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        of_sklearn = isinstance(error, (ValueError, TypeError)) and f"sklearn{os.sep}" in last
        return Case(door, number, "scikit-learn's" if of_sklearn else "raw error", f"{error!r:.200} {_where()}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def run(
    cases: Sequence[tuple[str, int]],
    seed: int,
    report: Callable[[Case], None] = lambda case: None,
    minutes: float = float("inf"),
) -> list[Case]:
    """Run cases in processes of their own; one that dies takes its case with it, and the next goes on.

    No case is begun once the minutes are over.
    """
    left, found, last = list(cases), list[Case](), time.monotonic() + 60 * minutes
    while left and time.monotonic() < last:
        with tempfile.TemporaryFile("w+") as wanted:
            json.dump([seed, left], wanted)
            wanted.seek(0)
            command = [sys.executable, "-m", "tests.fuzz.runner"]
            process = subprocess.Popen(
                command, stdin=wanted, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
            done = _followed(process, len(left), lambda case: (found.append(case), report(case)), last)
        left = left[done:]
        if left and process.returncode != 0 and time.monotonic() < last:
            case = Case(*left.pop(0), "crash", f"exit {process.returncode}")
            found.append(case)
            report(case)
    return found


def table(cases: Sequence[Case]) -> str:
    """Outcomes by door, as Markdown."""
    lines = [f"| door | cases | {' | '.join(OUTCOMES)} |", "|---" * (2 + len(OUTCOMES)) + "|"]
    for door in (*DOORS, "all"):
        own = Counter(case.outcome for case in cases if door in (case.door, "all"))
        lines.append(f"| {door} | {sum(own.values()):,} | {' | '.join(f'{own[name]:,}' for name in OUTCOMES)} |")
    return "\n".join(lines)


def _followed(process: Any, n: int, keep: Callable[[Case], Any], until: float) -> int:
    """Cases that a process tells of, as they come; one that says nothing for too long, or beyond the end, is ended."""
    import select

    done, last = 0, time.monotonic()
    while done < n:
        if time.monotonic() > until:
            process.kill()
            break
        ready, _, _ = select.select([process.stdout], [], [], 5.0)
        if not ready:
            if time.monotonic() - last > 2 * WAITING:
                process.kill()
                break
            continue
        line = process.stdout.readline()
        if not line:
            break
        keep(Case(*json.loads(line)))
        done, last = done + 1, time.monotonic()
    process.stdout.close()
    process.wait()
    return done


def _too_long(*_: Any) -> None:
    raise TooLong


def _where() -> str:
    """The last place in our own code that an error passed."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = [f for f in frames if f"{os.sep}bochner{os.sep}" in f.filename] or frames
    return f"({Path(own[-1].filename).name}:{own[-1].lineno})"


def _worker() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    seed, cases = json.load(sys.stdin)
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for door, number in cases:
        case = one_case(door, number, seed)
        told.write(json.dumps([case.door, case.number, case.outcome, case.told]) + "\n")


if __name__ == "__main__":
    _worker()
