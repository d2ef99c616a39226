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
the surface where it is known.

Ten seeds up to 1,000 rows, three above; `--seeds kept` takes others, for a last look.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from panel_sets import SETS, DataSet, Drawn

FIRST = {"work": 0, "kept": 1_000}
LOG_SCORED = ("bernoulli", "binomial", "classes")
WORSE, OVERALL, POINTS, SLOWER = 0.02, 1.005, 0.02, 1.5
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Record = dict[str, Any]
Records = dict[tuple[str, int], Record]


def main() -> None:
    """Run what is missing, or compare, or both."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    option = parser.add_argument
    option("--quick", action="store_true", help="two seeds, one above 1,000 rows")
    option("--only", default="", help="data sets whose name or kind has this word")
    option("--seeds", choices=FIRST, default="work")
    option("--jobs", type=int, default=1, help="data sets at a time")
    option("--data", type=Path, help="folder of real tables")
    option("--src", type=Path, help="folder that holds the library to be measured")
    option("--save", type=Path, help="JSON lines; runs that it holds are not repeated")
    option("--compare", type=Path, nargs="+", help="earlier runs, and later ones unless run now")
    option("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(args.worker[0], json.loads(args.worker[1]), args)
    after = read(args.compare[1]) if args.compare and len(args.compare) > 1 else run(args)
    if args.compare:
        raise SystemExit(compare(read(args.compare[0]), after))


def run(args: argparse.Namespace) -> Records:
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

    todo, count = [], (2, 1) if args.quick else (10, 3)
    for s in sets:
        seeds = range(FIRST[args.seeds], FIRST[args.seeds] + count[s.n > 1_000])
        todo.append((s, [seed for seed in seeds if (s.name, seed) not in done]))
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda one: process(*one, args, keep), (one for one in todo if one[1])))
    return records


def process(s: DataSet, seeds: list[int], args: argparse.Namespace, keep: Any) -> None:
    """Runs of one data set, in a process of their own."""
    command = [sys.executable, __file__, "--worker", s.name, json.dumps(seeds)]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONDONTWRITEBYTECODE": ""}
    folders = {"src": args.src and args.src.resolve(), "data": args.data}
    command += [f"--{key}={path}" for key, path in folders.items() if path]
    if args.src:
        environment["PYTHONPATH"] = str(args.src.resolve())
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as worker:
        for line in worker.stdout:
            if line.startswith('{"name"'):
                keep(json.loads(line))
                seeds = seeds[1:]
        last = (worker.stderr.read().strip().splitlines() or ["it ended without a message"])[-1]
    for seed in seeds:
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
            record |= {"data": float(np.abs(drawn.y).sum()), **measured(s.family, drawn)}
            if not all(np.isfinite(v) for v in record.values() if isinstance(v, float)):
                raise ValueError("a score is not finite")
        except Exception as error:  # one failure is one line of the table
            record["error"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(record), flush=True)


def measured(family: str, d: Drawn) -> Record:
    """Scores, coverage, seconds and memory of one fit."""
    from memory import peak, reset_peak
    from scipy.special import expit, ndtr

    from bochner import SpatialClassifier, SpatialRegressor

    before, begin = reset_peak(), time.process_time()
    if family == "classes":
        model = SpatialClassifier(n_jobs=1).fit(d.X, d.y)
        p = model.predict_proba(d.new_X)[np.arange(len(d.new_y)), d.new_y]
    else:
        model = SpatialRegressor(family=family, n_jobs=1, **d.parameters).fit(d.X, d.y, **d.known)
        model.predict(d.new_X, return_std=True)
    found: Record = {"cpu": time.process_time() - begin, "mb": (peak() - before) / 1e6}
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
        response = dict.fromkeys(("gaussian", "student"), d.eta)
        response |= dict.fromkeys(("bernoulli", "binomial"), expit(d.eta))
        rank = model.predict_distribution(d.new_X).cdf(response.get(family, np.exp(d.eta)))
        found["cover"] = float(np.mean((rank >= 0.025) & (rank <= 0.975)))
    return found


def line_of(r: Record) -> str:
    """One line about a run."""
    if r["error"]:
        return f"{r['name']:<28}{r['seed']:>5}  failed: {r['error']}"
    shown = [r.get(key) for key in ("surface", "score", "cover", "cover_new")]
    cells = "".join(f"{'-':>10}" if value is None else f"{value:>10.4g}" for value in shown)
    return f"{r['name']:<28}{r['seed']:>5}{cells}{r['cpu']:>9.1f} s{r['mb']:>8.0f} MB"


def read(path: Path) -> Records:
    """Runs of a file; of several of the same data set and seed the last."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["name"], r["seed"]): r for r in records}


def compare(before: Records, after: Records) -> int:
    """Print a line for each kind; 1 if anything is worse."""
    both = [(before[key], after[key]) for key in before if key in after]
    failed = sorted({a["name"] for b, a in both if a["error"] and not b["error"]})
    both = [(b, a) for b, a in both if not a["error"] and not b["error"]]
    same = [(b, a) for b, a in both if np.isclose(b["data"], a["data"], rtol=1e-6)]
    if not same:
        raise SystemExit("the files share no run of the same data; record both by one panel")
    print(f"{'kind':<26}{'runs':>5}{'ratio':>8}{'+-':>7}", end="")
    print(f"{'coverage':>16}{'observations':>16}{'CPU s':>16}{'MB':>16}  verdict")
    worse = [of_kind(kind, pairs) for kind, pairs in grouped(same, "kind").items()]
    means = [log_ratios(pairs).mean() for pairs in grouped(same, "name").values()]
    overall = float(np.exp(np.mean(means)))
    print(f"overall ratio {overall:.4f}: {'worse' if overall > OVERALL else 'no worse'}")
    if failed:
        print(f"failed now, and not before: {', '.join(failed)}")
    if len(same) < len(before):
        print(f"{len(before) - len(same)} of {len(before)} earlier runs are not compared")
    return int(overall > OVERALL or bool(failed) or any(worse))


def of_kind(kind: str, pairs: list[tuple[Record, Record]]) -> bool:
    """Print the line of one kind; whether it is worse."""
    ratios, told = log_ratios(pairs), []
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else np.inf
    if ratios.mean() - 2 * error > WORSE:
        told.append("worse score")
    cells = [before_and_after(pairs, key) for key in ("cover", "cover_new", "cpu", "mb")]
    off = np.abs(np.array(cells[0] or cells[1] or [0.95, 0.95]) - 0.95)
    if off[1] > max(off[0], POINTS):
        told.append("worse coverage")
    told += [f"slower: {name}" for name, own in grouped(pairs, "name").items() if slower(own)]
    print(f"{kind:<26}{len(pairs):>5}{np.exp(ratios.mean()):>8.3f}{error:>7.3f}", end="")
    for cell, form in zip(cells, (".3f", ".3f", ".1f", ".0f"), strict=True):
        print(f"{' -> '.join(f'{value:{form}}' for value in cell):>16}", end="")
    print(f"  {'; '.join(told) or 'no worse'}")
    return bool(told)


def grouped(pairs: list[tuple[Record, Record]], key: str) -> dict[str, Any]:
    """Pairs by kind or name."""
    return {value: [p for p in pairs if p[0][key] == value] for value in (b[key] for b, _ in pairs)}


def log_ratios(pairs: list[tuple[Record, Record]]) -> np.ndarray:
    """Log ratios of the scores of the surface, or of observations where it is not known."""
    keys = ["surface" if "surface" in b else "score" for b, _ in pairs]
    return np.log([a[key] / b[key] for key, (b, a) in zip(keys, pairs, strict=True)])


def before_and_after(pairs: list[tuple[Record, Record]], key: str) -> list[float]:
    """Means of both sides; medians of seconds and memory; nothing where none has the key."""
    found = [[record[key] for record in pair] for pair in pairs if key in pair[0]]
    middle = np.mean if key.startswith("cover") else np.median
    return list(middle(found, axis=0)) if found else []


def slower(pairs: list[tuple[Record, Record]]) -> bool:
    """Whether a data set takes too many CPU seconds, by the median of its seeds."""
    n, gaussian = pairs[0][0]["n"], pairs[0][0]["family"] == "gaussian"
    before, after = before_and_after(pairs, "cpu")
    limit = (3 if gaussian else 6) if n < 500 else 4 if n == 10_000 else 0
    return bool(after > max(SLOWER * before, limit))


if __name__ == "__main__":
    main()
