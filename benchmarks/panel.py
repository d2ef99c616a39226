"""Default fits of about 100 data sets, recorded by one version and compared with another's.

    python benchmarks/panel.py --save new.jsonl --jobs 2     every data set; a stopped run goes on
    python benchmarks/panel.py --quick --only poisson        fewer seeds, names or kinds with a word
    python benchmarks/panel.py --save old.jsonl --src DIR    the library in another folder, DIR
    python benchmarks/panel.py --compare old.jsonl new.jsonl a verdict on each kind; 1 if worse

`panel_sets.py` lists the data sets. Real tables need `--data DIR`, a folder of tables with the
tasks of `zoo.py` in DIR/zoo. One process for each data set and one thread; a small fit of the same
family goes first, so that compiled code is loaded. Each run is one line of JSON:

- `surface`: CRPS of the linear predictor at new places, from its mean and standard deviation;
- `score`: CRPS of new observations, or their log score (presence, positives and classes);
- `cover` and `cover_new`: coverage of 95 % intervals of the surface and of new observations;
- `cpu` and `mb`: CPU seconds and peak memory of fit and prediction.

A kind of data set is worse where the mean log ratio of its scores is above .02 by two standard
errors, where coverage is farther from 95 % and misses it by more than two points, or where a data
set takes more than 1.5 times the seconds and more than its limit. Scores and coverage are those of
the surface where it is known. Ten seeds up to 1,000 rows and three above; `--seeds kept` are others,
for a last look.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from panel_sets import SETS, DataSet, Drawn

FIRST = {"work": 0, "kept": 1_000}
WORSE, OVERALL, POINTS, SLOWER = 0.02, 1.005, 0.02, 1.5
LOG_SCORED = ("bernoulli", "binomial", "classes")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Record = dict[str, Any]
Key = tuple[str, int]


def main() -> None:
    """Run what is missing, or compare, or both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two seeds, one above 1,000 rows")
    parser.add_argument("--only", default="", help="data sets whose name or kind has this word")
    parser.add_argument("--seeds", choices=FIRST, default="work")
    parser.add_argument("--jobs", type=int, default=1, help="data sets at a time")
    parser.add_argument("--data", type=Path, help="folder of real tables")
    parser.add_argument("--src", type=Path, help="folder that holds the library to be measured")
    parser.add_argument("--save", type=Path, help="JSON lines; runs that it holds are not repeated")
    parser.add_argument("--compare", type=Path, nargs="+", help="earlier runs, and later ones")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker[0], [int(seed) for seed in args.worker[1].split(",")], args)
        return
    if args.compare and len(args.compare) > 1:
        after = read(args.compare[1])
    else:
        after = run(args)
    if args.compare:
        raise SystemExit(compare(read(args.compare[0]), after))


# ---------------------------------------------------------------------------------------- run


def run(args: argparse.Namespace) -> dict[Key, Record]:
    """Every run that was asked for, those of the file first."""
    sets = [s for s in SETS if args.only in s.name or args.only in s.kind]
    if args.data is None and any(s.task for s in sets):
        print("real tables are left out; give their folder with --data DIR")
        sets = [s for s in sets if not s.task]
    records = read(args.save) if args.save and args.save.exists() else {}
    done = {key for key, record in records.items() if record["error"] is None}
    lock = threading.Lock()

    def keep(record: Record) -> None:
        with lock:
            records[record["name"], record["seed"]] = record
            if args.save:
                with args.save.open("a") as lines:
                    lines.write(json.dumps(record) + "\n")
            print(line_of(record), flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        for s in sets:
            seeds = [seed for seed in seeds_of(s, args) if (s.name, seed) not in done]
            if seeds:
                pool.submit(process, s, seeds, args, keep)
    return records


def seeds_of(s: DataSet, args: argparse.Namespace) -> range:
    """Ten seeds up to 1,000 rows, three above."""
    few = s.n > 1_000
    return range(FIRST[args.seeds], FIRST[args.seeds] + ((2, 1) if args.quick else (10, 3))[few])


def process(s: DataSet, seeds: Iterable[int], args: argparse.Namespace, keep: Any) -> None:
    """Runs of one data set, in a process of their own."""
    command = [sys.executable, __file__, "--worker", s.name, ",".join(map(str, seeds))]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    if args.src:
        command += ["--src", str(args.src.resolve())]
        environment["PYTHONPATH"] = str(args.src.resolve())
    if args.data:
        command += ["--data", str(args.data)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    left = list(seeds)
    with subprocess.Popen(command, env=environment, **pipes) as worker:
        for line in worker.stdout:
            if line.startswith('{"name"'):
                left.pop(0)
                keep(json.loads(line))
        last = (worker.stderr.read().strip().splitlines() or ["it ended without a message"])[-1]
    for seed in left:
        keep({"name": s.name, "kind": s.kind, "seed": seed, "error": last})


def work(name: str, seeds: list[int], args: argparse.Namespace) -> None:
    """Print a record for each seed of one data set."""
    import warnings

    import bochner

    if args.src and not Path(bochner.__file__).is_relative_to(args.src):
        raise SystemExit(f"{args.src} holds no library; {bochner.__file__} was imported instead")
    warnings.simplefilter("ignore")
    s = next(s for s in SETS if s.name == name)
    measured(s.family, DataSet("", "", 40, s.family).draw(0))
    for seed in seeds:
        record: Record = {"name": s.name, "kind": s.kind, "family": s.family, "n": s.n}
        record |= {"seed": seed, "error": None}
        try:
            drawn = s.draw(seed, args.data)
            # tells whether two records are of the same data
            record |= {"data": float(np.abs(drawn.y).sum()), **measured(s.family, drawn)}
        except Exception as error:  # one failure is one line of the table
            record["error"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(record), flush=True)


def measured(family: str, d: Drawn) -> Record:
    """Scores, coverage, seconds and memory of one fit."""
    from memory import peak, reset_peak
    from scipy.special import ndtr

    from bochner import SpatialClassifier, SpatialRegressor

    before, begin = reset_peak(), time.process_time()
    if family == "classes":
        model = SpatialClassifier(n_jobs=1).fit(d.X, d.y)
        p = model.predict_proba(d.new_X)[np.arange(len(d.new_y)), d.new_y]
    else:
        model = SpatialRegressor(family=family, n_jobs=1, **d.parameters).fit(d.X, d.y, **d.known)
        model.predict(d.new_X, return_std=True)
    found: Record = {"cpu": time.process_time() - begin, "mb": (peak() - before) / 1e6}
    found |= dict.fromkeys(("surface", "cover", "cover_new"))
    if family == "classes":
        return {**found, "score": float(-np.mean(np.log(p)))}
    law = model.predict_distribution(d.new_X, include_noise=True, **d.new_known)
    score = -law.log_density(d.new_y) if family in LOG_SCORED else law.crps(d.new_y)
    found["score"] = float(np.mean(score))
    if family != "bernoulli":
        low, high = law.interval(0.95).T
        found["cover_new"] = float(np.mean((low <= d.new_y) & (d.new_y <= high)))
    if d.eta is not None:
        mean, sd = model.predict_latent(d.new_X)
        z = (d.eta - mean) / sd
        bell = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        found["surface"] = float(np.mean(sd * (z * (2 * ndtr(z) - 1) + 2 * bell - np.pi**-0.5)))
        value = {"identity": d.eta, "log": np.exp(d.eta), "logit": 1 / (1 + np.exp(-d.eta))}
        rank = model.predict_distribution(d.new_X).cdf(value[LINKS.get(family, "log")])
        found["cover"] = float(np.mean((rank >= 0.025) & (rank <= 0.975)))
    return found


LINKS = {"gaussian": "identity", "student": "identity", "bernoulli": "logit", "binomial": "logit"}


def line_of(r: Record) -> str:
    """One line about a run."""
    if r["error"]:
        return f"{r['name']:<28}{r['seed']:>5}  failed: {r['error']}"
    shown = [f"{r[key]:.4g}" if r[key] is not None else "-" for key in ("surface", "score")]
    shown += [f"{r[key]:.3f}" if r[key] is not None else "-" for key in ("cover", "cover_new")]
    return "".join(
        (
            f"{r['name']:<28}{r['seed']:>5}",
            *(f"{text:>10}" for text in shown),
            f"{r['cpu']:>9.1f} s{r['mb']:>8.0f} MB",
        )
    )


# ------------------------------------------------------------------------------------ compare


def read(path: Path) -> dict[Key, Record]:
    """Runs of a file; of several of the same data set and seed the last."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["name"], r["seed"]): r for r in records}


def compare(before: dict[Key, Record], after: dict[Key, Record]) -> int:
    """Print a line for each kind; 1 if anything is worse."""
    both = [(before[key], after[key]) for key in before if key in after]
    failed = sorted({a["name"] for b, a in both if a["error"] and not b["error"]})
    both = [(b, a) for b, a in both if not a["error"] and not b["error"]]
    same = [(b, a) for b, a in both if np.isclose(b["data"], a["data"], rtol=1e-6)]
    if not same:
        raise SystemExit("the files share no run of the same data; record both by one panel")
    kinds = list(dict.fromkeys(b["kind"] for b, _ in same))
    print(
        f"{'kind':<26}{'runs':>5}{'ratio':>8}{'+-':>6}{'coverage':>16}{'observations':>16}"
        f"{'CPU s':>16}{'MB':>14}  verdict"
    )
    verdicts = [of_kind(kind, [pair for pair in same if pair[0]["kind"] == kind]) for kind in kinds]
    by_name: dict[str, list[float]] = {}
    for b, a in same:
        by_name.setdefault(b["name"], []).append(log_ratio(b, a))
    overall = float(np.exp(np.mean([np.mean(ratios) for ratios in by_name.values()])))
    print(f"overall ratio {overall:.4f}: {'worse' if overall > OVERALL else 'no worse'}")
    if failed:
        print(f"failed now, and not before: {', '.join(failed)}")
    if len(same) < len(before):
        print(f"{len(before) - len(same)} of {len(before)} earlier runs are not compared")
    return int(overall > OVERALL or bool(failed) or any(verdicts))


def of_kind(kind: str, pairs: list[tuple[Record, Record]]) -> bool:
    """Print the line of one kind; whether it is worse."""
    ratios = np.array([log_ratio(b, a) for b, a in pairs])
    error = float(np.std(ratios, ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else np.inf
    told = ["worse score"] if ratios.mean() - 2 * error > WORSE else []
    cells = []
    for key in ("cover", "cover_new"):
        found = [(b[key], a[key]) for b, a in pairs if b[key] is not None]
        cells.append(f"{_mean(found, 0):.3f} -> {_mean(found, 1):.3f}" if found else "")
        if found and (key == "cover" or not cells[0]):
            off = [abs(_mean(found, side) - 0.95) for side in (0, 1)]
            told += ["worse coverage"] if off[1] > max(off[0], POINTS) else []
    seconds = [np.median([pair[side]["cpu"] for pair in pairs]) for side in (0, 1)]
    peaks = [np.median([pair[side]["mb"] for pair in pairs]) for side in (0, 1)]
    slow = [name for name in dict.fromkeys(b["name"] for b, _ in pairs) if slower(name, pairs)]
    told += [f"slower: {', '.join(slow)}"] if slow else []
    print(
        f"{kind:<26}{len(pairs):>5}{np.exp(ratios.mean()):>8.3f}{error:>6.3f}"
        f"{cells[0]:>16}{cells[1]:>16}{_arrow(seconds, '.1f')}{_arrow(peaks, '.0f')}"
        f"  {', '.join(told) or 'no worse'}"
    )
    return bool(told)


def log_ratio(b: Record, a: Record) -> float:
    """Log ratio of the scores of the surface, or of observations where it is not known."""
    key = "score" if b["surface"] is None else "surface"
    return float(np.log(a[key] / b[key]))


def slower(name: str, pairs: list[tuple[Record, Record]]) -> bool:
    """Whether a data set takes too many CPU seconds, by the median of its seeds."""
    of_name = [pair for pair in pairs if pair[0]["name"] == name]
    before, after = (np.median([pair[side]["cpu"] for pair in of_name]) for side in (0, 1))
    first, limit = of_name[0][0], 0.0
    if first["n"] < 500:
        limit = 3.0 if first["family"] == "gaussian" else 6.0
    elif first["n"] == 10_000:
        limit = 4.0
    return bool(after > max(SLOWER * before, limit))


def _mean(found: list[tuple[float, float]], side: int) -> float:
    return float(np.mean([pair[side] for pair in found]))


def _arrow(both: list[Any], form: str) -> str:
    text = f"{both[0]:{form}} -> {both[1]:{form}}"
    return f"{text:>{16 if form == '.1f' else 14}}"


if __name__ == "__main__":
    main()
