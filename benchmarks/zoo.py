"""The zoo: every table of a folder, fitted by default settings and scored against baselines in the same run.

    python benchmarks/zoo.py DIR [--only WORD ...] [--json FILE] [--no-baselines]

Each ``*.toml`` in DIR describes a task: `file` (relative to it), `rows` (a pandas query), `target`, `transform`
("log"), `family`, `trials`, `exposure`, `error_sd`, `coords`, `time`, `covariates`, `categories`, `groups` and
`hold_out`: `each` (leave one out, no refit), `random` (10 % of the rows), `blocks` (10 % of them in about 20 square
blocks of side extent / 15), `groups` (10 % of the groups), `split` (column `split`: train, test), `fold` (column
`fold`: value 0 is the test).
Every task runs in a process of its own. One line each: scores of new observations and coverage of their 95 % intervals,
those of nearest-neighbour kriging, splines and trees, CPU seconds of fit and prediction, peak memory, and what the fit
warned of. Gaussian: RMSE and CRPS; presence and positives: log loss and Brier score per trial; counts: CRPS and log
score.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from baselines import Law, Table, baselines

BLOCK_SHARE, HELD_OUT = 15, 0.1
N_OUTER = 10  # folds of the baselines where one row at a time is left out
POISSON_BELOW = 1e-9  # dispersion
MAIN_SCORE = {"gaussian": "crps", "bernoulli": "log_loss", "binomial": "log_loss"}  # counts: crps


def main() -> None:
    """Run every task, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--task", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print("\n" + json.dumps(run(args.folder, not args.no_baselines)))
        return
    records = []
    print(f"{'task':<22}{'rows':>8}  {'scores':<34}{'cover':>7}{'best other':>24}{'ratio':>7}{'CPU s':>8}{'GB':>6}")
    for path in sorted(args.folder.glob("*.toml")):
        if args.only and not any(word in path.stem for word in args.only):
            continue
        command = [sys.executable, __file__, str(path), "--task", *(["--no-baselines"] if args.no_baselines else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            records.append({"name": path.stem, "error": last, **dict.fromkeys(FIELDS)})
        else:
            records.append(json.loads(lines[-1]))
        print(line_of(records[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(records, indent=1))


FIELDS = ("n", "scores", "baselines", "coverage", "cpu_s", "peak_gb", "warnings")


def line_of(record: dict[str, Any]) -> str:
    """One line about a task."""
    if record["error"]:
        return f"{record['name']:<22}  failed: {record['error']}"
    scores = record["scores"]
    shown = ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
    cover = "" if record["coverage"] is None else f"{record['coverage']:.3f}"
    others = {name: found[record["main"]] for name, found in record["baselines"].items()}
    best = min(others, key=lambda name: others[name]) if others else ""
    ratio = f"{scores[record['main']] / others[best]:.3f}" if others else ""
    other = f"{best} {others[best]:.4g}" if others else ""
    told = "".join(f"\n    {text}" for text in record["warnings"])
    return (
        f"{record['name']:<22}{record['n']:>8,}  {shown:<34}{cover:>7}{other:>24}{ratio:>7}{record['cpu_s']:>8.1f}"
        f"{record['peak_gb']:>6.2f}{told}"
    )


# ------------------------------------------------------------------------------------ one task


def run(path: Path, with_baselines: bool) -> dict[str, Any]:
    """Record of one task."""
    task = tomllib.loads(path.read_text(encoding="utf-8"))
    frame = read(task, path.parent)
    family = task.get("family", "gaussian")
    train, test = held_out(task, frame)
    record = {"name": path.stem, "n": len(frame), "main": MAIN_SCORE.get(family, "crps"), "error": None}
    before, begin = _memory("VmRSS"), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        law, rows = fitted(task, frame, train, test)
        found, cover = scored(family, law, *rows)
        record["cpu_s"] = time.process_time() - begin
    record["peak_gb"] = (_memory("VmHWM") - before) / 1e9
    record["scores"], record["coverage"] = found, cover
    record["warnings"] = sorted({str(w.message) for w in caught if type(w.message).__module__.startswith("bochner")})
    record["baselines"] = {}
    if with_baselines:
        record["baselines"] = dict(others(task, frame, train, test))
    return record


def read(task: dict[str, Any], folder: Path) -> Any:
    """The rows of a task without missing values, the response transformed."""
    import pandas as pd

    frame = pd.read_parquet(folder / task["file"])
    if "rows" in task:
        frame = frame.query(task["rows"])
    names = [task["target"], *_coords(task), *task.get("covariates", ())]
    names += [task[key] for key in ("trials", "exposure", "error_sd", "groups") if key in task]
    names += {"split": ["split"], "fold": [task.get("fold", "fold")]}.get(task["hold_out"], [])
    frame = frame[list(dict.fromkeys(names))].dropna().reset_index(drop=True)
    if task.get("transform") == "log":
        frame[task["target"]] = np.log(frame[task["target"]])
    for name in task.get("categories", ()):
        frame[name] = frame[name].astype(str)
    return frame


def held_out(task: dict[str, Any], frame: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Training and test rows; of leave-one-out no training rows, and all rows to test."""
    rng, n = np.random.default_rng(0), len(frame)
    match task["hold_out"]:
        case "each":
            return None, np.arange(n)
        case "random":
            chosen = np.zeros(n, dtype=bool)
            chosen[rng.choice(n, int(HELD_OUT * n), replace=False)] = True
        case "blocks":
            chosen = _blocks(frame[task["coords"]].to_numpy(dtype=float), rng)
        case "groups":
            label = frame[task["groups"]].to_numpy()
            names = np.unique(label)
            chosen = np.isin(label, rng.choice(names, max(1, int(HELD_OUT * len(names))), replace=False))
        case "split":
            chosen = (frame["split"] == "test").to_numpy()
        case "fold":
            chosen = (frame[task.get("fold", "fold")] == 0).to_numpy()
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def _blocks(coords: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows in square blocks drawn until a tenth of the rows is held out, in about twenty of them."""
    low = coords.min(axis=0)
    side = float(np.ptp(coords, axis=0).max()) / BLOCK_SHARE
    cell = np.floor((coords - low) / side)
    _, label = np.unique(cell, axis=0, return_inverse=True)
    label = label.ravel()
    count = np.bincount(label)
    order = rng.permutation(len(count))
    # blocks of about a twentieth of the held-out rows each, or more where the rows are few
    wanted, chosen, total = HELD_OUT * len(coords), [], 0
    for block in order:
        if total >= wanted:
            break
        chosen.append(block)
        total += count[block]
    return np.isin(label, chosen)


def fitted(task: dict[str, Any], frame: Any, train: np.ndarray | None, test: np.ndarray) -> tuple[Any, tuple[Any, ...]]:
    """Predictive law of the held-out rows by default settings, and what was observed there."""
    from bochner import SpatialRegressor

    family = task.get("family", "gaussian")
    model = SpatialRegressor(family=family, coords=_coords(task), covariates=task.get("covariates"))
    rows = frame if train is None else frame.iloc[train]
    known: dict[str, Any] = {key: rows[task[key]] for key in ("trials", "exposure") if key in task}
    if "error_sd" in task:
        known["measurement_variance"] = rows[task["error_sd"]] ** 2
    if "groups" in task:
        known["groups"] = rows[task["groups"]]
    model.fit(rows, rows[task["target"]], **known)
    model.check()
    size = frame[task.get("trials", task.get("exposure", task["target"]))].to_numpy(dtype=float)
    size = size if "trials" in task or "exposure" in task else np.ones(len(frame))
    if train is None:
        held = model.cross_validate(None)
        return held.law, (held.observed, size[held.index])
    new = frame.iloc[test]
    wanted = {key: new[task[key]] for key in ("trials", "exposure") if key in task}
    law = model.predict_distribution(new, include_noise=True, **wanted)
    if "error_sd" in task:
        law = _widened(law, new[task["error_sd"]].to_numpy() ** 2)
    return law, (new[task["target"]].to_numpy(dtype=float), size[test])


def _widened(law: Any, error: np.ndarray) -> Any:
    """The law of observations that have known errors of their own."""
    from dataclasses import replace

    response = law.law
    return replace(response, eta=replace(response.eta, variances=response.eta.variances + error))


# ------------------------------------------------------------------------------------- scores


def scored(family: str, law: Any, y: np.ndarray, size: np.ndarray) -> tuple[dict[str, float], float | None]:
    """Scores of a predictive law of the library, and coverage of its 95 % intervals."""
    if family == "gaussian":
        lower, upper = law.quantile(0.025), law.quantile(0.975)
        scores = {"rmse": _rmse(y, law.mean), "crps": float(np.mean(law.crps(y)))}
        return scores, float(np.mean((y >= lower) & (y <= upper)))
    if family in ("bernoulli", "binomial"):
        cover = None
        if (size > 1).any():
            lower, upper = law.quantile(0.025), law.quantile(0.975)
            cover = float(np.mean((y >= lower) & (y <= upper)))
        return probabilities(law.mean / size, y, size), cover
    lower, upper = law.quantile(0.025), law.quantile(0.975)
    scores = {"crps": float(np.mean(law.crps(y))), "log_score": float(-np.mean(law.log_density(y)))}
    return scores, float(np.mean((y >= lower) & (y <= upper)))


def others(task: dict[str, Any], frame: Any, train: np.ndarray | None, test: np.ndarray) -> Any:
    """Scores of the baselines; of leave-one-out tasks in ten folds."""
    family, table = task.get("family", "gaussian"), as_table(task, frame)
    if train is not None:
        laws = baselines(family, table[train], table[test])
        for name, law in laws.items():
            yield name, scores_of(family, law, table[test])
        return
    fold = np.random.default_rng(0).permutation(len(table)) % N_OUTER
    parts = [
        baselines(family, table[np.flatnonzero(fold != k)], table[np.flatnonzero(fold == k)]) for k in range(N_OUTER)
    ]
    for name in parts[0]:
        each = [scores_of(family, part[name], table[np.flatnonzero(fold == k)]) for k, part in enumerate(parts)]
        size = np.bincount(fold)
        yield name, {key: _pooled(key, [e[key] for e in each], size) for key in each[0]}


def scores_of(family: str, law: Law, table: Table) -> dict[str, float]:
    """Scores of a baseline."""
    from bochner.validation import crps

    if family == "gaussian":
        assert law.sd is not None
        return {"rmse": _rmse(table.y, law.mean), "crps": float(crps(table.y, law.mean, law.sd))}
    if family in ("bernoulli", "binomial"):
        return probabilities(law.mean, table.y, table.size)
    mean = np.maximum(law.mean, 1e-9)
    score = crps_of_counts(table.y, mean, law.dispersion)
    return {"crps": float(score.mean()), "log_score": float(-np.mean(_counts(mean, law.dispersion).logpmf(table.y)))}


def crps_of_counts(y: np.ndarray, mean: np.ndarray, dispersion: float) -> np.ndarray:
    """CRPS of negative binomial counts, (n,), as E|Y - y| - E|Y - Y'| / 2: the tail is not summed.

    With phi the characteristic function, E|Y - Y'| is the integral of (1 - |phi(t)|^2) / (2 pi sin^2(t / 2)) over
    0 < t < pi. In x = log(cot(t / 2)) the integrand decays like exp(-|x|), and equal steps are exact to 1e-9.
    """
    law, biased = _counts(mean, dispersion), _counts(mean, dispersion, more=1)
    to_y = y * (2 * law.cdf(y) - 1) - mean * (2 * biased.cdf(y - 1) - 1)
    root, step = np.exp(np.arange(-25, 60, 0.25))[:, None], 0.25
    power = 4 * mean * (1 + mean * dispersion) / (1 + root**2)  # n log(1 + power / n) = -log |phi|^2
    if dispersion > POISSON_BELOW:
        power = np.log1p(dispersion * power) / dispersion
    return np.asarray(to_y - step * np.sum(-np.expm1(-power) * root, axis=0) / (2 * np.pi))


def _counts(mean: np.ndarray, dispersion: float, more: int = 0) -> Any:
    """Negative binomial counts; `more` failures than their dispersion says."""
    from scipy import stats

    if dispersion <= POISSON_BELOW:
        return stats.poisson(mean)
    n = 1 / dispersion
    return stats.nbinom(n + more, n / (n + mean))


def probabilities(p: np.ndarray, y: np.ndarray, size: np.ndarray) -> dict[str, float]:
    """Log loss and Brier score per trial."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    loss = -(y * np.log(p) + (size - y) * np.log1p(-p)).sum() / size.sum()
    brier = (y * (1 - p) ** 2 + (size - y) * p**2).sum() / size.sum()
    return {"log_loss": float(loss), "brier": float(brier)}


def as_table(task: dict[str, Any], frame: Any) -> Table:
    """A frame as the baselines take it."""
    import pandas as pd

    names = _coords(task)
    columns = [frame[name] for name in names]
    if "time" in task and str(columns[-1].dtype).startswith("datetime"):
        columns[-1] = (columns[-1] - columns[-1].min()) / pd.Timedelta(days=1)
    coords = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    categories = list(task.get("categories", ()))
    numeric = [name for name in task.get("covariates", ()) if name not in categories]
    parts = [frame[numeric].to_numpy(dtype=float)]
    if categories:
        parts.append(pd.get_dummies(frame[categories], drop_first=True).to_numpy(dtype=float))
    size = frame[task["trials"]] if "trials" in task else frame[task["exposure"]] if "exposure" in task else 1.0
    error = frame[task["error_sd"]].to_numpy(dtype=float) if "error_sd" in task else np.zeros(len(frame))
    return Table(
        coords,
        np.column_stack(parts),
        frame[task["target"]].to_numpy(dtype=float),
        np.broadcast_to(np.asarray(size, dtype=float), (len(frame),)),
        error,
        lonlat=names[:2] == ["lon", "lat"],
        time="time" in task,
        groups=frame[task["groups"]].to_numpy() if "groups" in task else None,
    )


def _coords(task: dict[str, Any]) -> list[str]:
    return [*task["coords"], *([task["time"]] if "time" in task else [])]


def _rmse(y: np.ndarray, mean: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y - mean) ** 2)))


def _pooled(key: str, values: list[float], size: np.ndarray) -> float:
    power = 2 if key == "rmse" else 1
    return float(np.average(np.array(values) ** power, weights=size) ** (1 / power))


def _memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    main()
