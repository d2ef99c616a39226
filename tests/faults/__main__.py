"""``python -m tests.faults``: the long target, its table, and every trial that ended badly."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.faults import trials, world
from tests.faults.trials import Trial

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
DISKS = (1_000, 9_000, 20_000, 45_000, 100_000)


def main() -> None:
    """Run and print; exit with 1 if any trial ended badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=6, help="moments of each command at which each signal comes")
    parser.add_argument("--job", help="only commands of this name")
    parser.add_argument("--no-demo", action="store_true")
    parser.add_argument("--sample", action="store_true", help="a few trials of each kind")
    given = parser.parse_args()
    trials.preload()
    begin, found = time.perf_counter(), list[Trial]()
    jobs = [job for job in (*world.JOBS, *(() if given.no_demo else (world.DEMO,))) if given.job in (None, job.name)]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "world"
        home.mkdir()
        world.make(home)
        wanted = sample(home) if given.sample else (t for job in jobs for t in tried(home, job, given.moments))
        for trial in wanted:
            found.append(trial)
            if trial.wrong:
                print(f"{trial.fault}, {trial.job}: {trial.wrong}", flush=True)
    print(table(found))
    print(f"\n{len(found):,} trials in {time.perf_counter() - begin:,.0f} s")
    sys.exit(any(trial.wrong for trial in found))


def tried(home: Path, job: world.Job, moments: int) -> Iterator[Trial]:
    """Every fault that a command can meet."""
    seconds = duration(home, job)
    shares = np.linspace(0.03, 1.0, moments)
    for i, moment in enumerate(shares):
        for sent in SIGNALS:
            yield trials.signalled(home, job, sent, float(moment), seconds, old=job.output is not None and i % 2 == 1)
        yield trials.twice_interrupted(home, job, float(moment), seconds)
    if job.name == "demo":
        return
    for moment in shares[::2]:
        yield trials.vanished(home, job, float(moment), seconds)
    if job.output is not None:
        for n_bytes in DISKS:
            yield trials.full_disk(home, job, n_bytes)
        yield trials.read_only(home, job)
        for apart in (0.0, 0.5 * seconds):
            yield trials.two_at_once(home, job, apart)


def sample(home: Path) -> Iterator[Trial]:
    """A trial or two of every fault."""
    jobs = {job.name: job for job in world.JOBS}
    table_job, map_job = jobs["predict .csv"], jobs["map .nc"]
    yield trials.signalled(home, table_job, signal.SIGKILL, 0.8, duration(home, table_job), old=True)
    yield trials.signalled(home, map_job, signal.SIGTERM, 0.5, duration(home, map_job), old=False)
    yield trials.twice_interrupted(home, jobs["fit"], 0.5, duration(home, jobs["fit"]))
    for name, n_bytes in (("map .nc", 20_000), ("predict .gpkg", 20_000), ("predict .shp", 9_000), ("fit", 9_000)):
        yield trials.full_disk(home, jobs[name], n_bytes)
    yield trials.read_only(home, table_job)
    yield trials.vanished(home, jobs["fit"], 0.05, 1.0)
    yield trials.two_at_once(home, table_job, 0.0)


def duration(home: Path, job: world.Job) -> float:
    """Seconds that a command takes here, when nothing goes wrong."""
    with trials.copy_of(home) as folder:
        begin = time.perf_counter()
        code = trials.end(trials.start(job.line(), folder))
        if code != 0:
            raise SystemExit(f"{job.name} ended with {code}: {trials.told_at(folder).read_text()}")
        job.read(folder / job.output) if job.output is not None else None
        return time.perf_counter() - begin


def table(found: list[Trial]) -> str:
    """Trials by command and fault, as Markdown: how many were tried, and of how many the outcome was wrong."""
    faults = list(dict.fromkeys(trial.fault for trial in found))
    lines = ["| command | " + " | ".join(faults) + " |", "|---" * (1 + len(faults)) + "|"]
    for job in dict.fromkeys(trial.job for trial in found):
        own = [trial for trial in found if trial.job == job]
        cells = []
        for fault in faults:
            n, bad = Counter(t.fault for t in own)[fault], sum(bool(t.wrong) for t in own if t.fault == fault)
            cells.append(f"{n}" if not bad else f"{n}, {bad} wrong")
        lines.append(f"| {job} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
