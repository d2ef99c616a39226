"""Scale: rows from Parquet on one machine and on Dask, and a rough field beyond memory.

Each measurement runs in a process of its own, so that its peak memory is its own::

    python benchmarks/scale.py --quick               2e6 rows, Dask on 2e5, a rough field of 5e5
    python benchmarks/scale.py rows --n 1e7 --n 1e8  time, memory, and the shares of transforms, reading and the rest
    python benchmarks/scale.py dask                  one worker and two, dense moments
    python benchmarks/scale.py rough --n 2e7         a window beside exact kriging of its rows
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GROUP = 1_000_000
EXPONENTIAL, NOISE = 0.01, 0.3
TORUS, TORUS_MODES, SHORT_WAVES = 1.2, 2_048, 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("rows", "dask", "rough", "all"), default="all")
    parser.add_argument("--n", type=float, action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the rows are written, and kept")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print("RESULT " + json.dumps(INSIDE[given.inside](given.folder)))
        return
    home = given.folder or Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        if given.what in ("rows", "all"):
            rows(home, [int(n) for n in given.n or ([2e5, 2e6] if given.quick else [1e7, 1e8])])
        if given.what in ("dask", "all"):
            dask(home, 200_000 if given.quick else 2_000_000)
        if given.what in ("rough", "all"):
            rough(home, int((given.n or [5e5 if given.quick else 2e7])[0]))
    finally:
        if given.folder is None:
            shutil.rmtree(home, ignore_errors=True)


# --------------------------------------------------------------------------------- rows


def rows(home: Path, sizes: list[int]) -> None:
    """Seconds and memory of a fit from Parquet, and what a thousand million rows would take."""
    found = []
    for n in sizes:
        folder = home / f"smooth-{n}"
        written(folder, n, smooth)
        size = sum(p.stat().st_size for p in folder.iterdir())
        result = apart("rows", folder)
        found.append((n, result))
        print(
            f"{n:>12,} rows, {size / 1e9:.2f} GB of Parquet: {result['seconds']:.0f} s in all, peak "
            f"{result['peak'] / 1e9:.2f} GB; passes {result['passes']:.0f} s, of which transforms "
            f"{result['transforms']:.0f} s, waiting for reading {result['waiting']:.0f} s (reading, beside: "
            f"{result['reading']:.0f} s), the rest {result['rest']:.0f} s; tuning and solving {result['fixed']:.0f} s; "
            f"{result['waves']} waves"
        )
    if len(found) > 1:
        (n1, a), (n2, b) = found[0], found[-1]
        slope = (b["passes"] - a["passes"]) / (n2 - n1)
        print(
            f"formula: seconds = {b['fixed']:.0f} + {slope * 1e6:.2f} x millions of rows; of 1e9 rows: "
            f"{b['fixed'] + slope * 1e9:,.0f} s (extrapolated from {n1:,} and {n2:,})"
        )


def inside_rows(folder: Path) -> dict[str, Any]:
    from bochner import SpatialRegressor, nufft
    from bochner.estimators import streaming
    from bochner.kernels import Matern
    from bochner.sources import parquet_source
    from bochner.sources.base import Source

    clock = Clock()
    parquet_source.ParquetPart.read = clock.timed("reading", parquet_source.ParquetPart.read)  # type: ignore[method-assign]
    nufft.Plan.type1 = clock.timed("transforms", nufft.Plan.type1)  # type: ignore[method-assign]
    streaming.drawn = clock.timed("passes", streaming.drawn)
    streaming.Streamed.summed = clock.timed("passes", streaming.Streamed.summed)  # type: ignore[method-assign]
    Source.read = clock.waits(Source.read)  # type: ignore[method-assign]
    begin = time.perf_counter()
    model = SpatialRegressor(Matern(nu=1.5), memory_limit="1.5GB").fit(str(folder), target="z")
    seconds = time.perf_counter() - begin
    t = clock.seconds
    rest = t["passes"] - t["transforms"] - t["waiting"]
    return {
        **{name: t[name] for name in ("passes", "transforms", "reading", "waiting")},
        "seconds": seconds,
        "rest": rest,
        "fixed": seconds - t["passes"],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "waves": model.n_frequencies_,
    }


# --------------------------------------------------------------------------------- Dask


def dask(home: Path, n: int) -> None:
    """Dense moments on one worker and on two."""
    folder = home / f"dense-{n}"
    written(folder, n, smooth, group=n // 16)
    one, two = (apart(f"dask{k}", folder) for k in (1, 2))
    print(
        f"dense moments of {n:,} rows and 512 columns: {one['seconds']:.1f} s on 1 worker, "
        f"{two['seconds']:.1f} s on 2: {one['seconds'] / two['seconds']:.2f} x, at a load of {os.getloadavg()[0]:.1f}"
    )
    # what others do on the machine does not enter processor time
    least = two["busiest"] + two["client"]
    print(
        f"    processor time: {one['busiest']:.1f} s of the one worker; {two['busiest']:.1f} s of the busier of two, "
        f"{two['client']:.1f} s of client and scheduler: {one['busiest'] / least:.2f} x, with a core for each worker"
    )


def inside_dask(workers: int, folder: Path) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    from bochner import SpatialRegressor
    from bochner.estimators import streaming
    from bochner.kernels import Matern

    clock, used = Clock(), {}
    summed = clock.timed("passes", streaming.Streamed.summed)

    def watched(*given: Any) -> Any:
        before, own = client.run(time.process_time), time.process_time()
        found = summed(*given)
        used["client"] = time.process_time() - own
        after = client.run(time.process_time)
        used["busiest"] = max(after[name] - before[name] for name in before)
        return found

    streaming.Streamed.summed = watched  # type: ignore[method-assign]
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        model = SpatialRegressor(
            Matern(nu=1.5, length_scale=0.3),
            noise_variance=0.09,
            tune=None,
            features="orthogonal",
            n_frequencies=256,
            dtype="float64",
        )
        model.fit(str(folder), target="z", dask=client)
    return {"seconds": clock.seconds["passes"], **used}


# -------------------------------------------------------------------------------- rough


def rough(home: Path, n: int) -> None:
    """A rough field from a store of rows, and exact kriging of the rows of a window."""
    folder = home / f"rough-{n}"
    written(folder, n, rough_field)
    result = apart("rough", folder)
    print(
        f"exponential field, range a hundredth of the extent, {n:,} rows: fit {result['seconds']:.0f} s, peak "
        f"{result['peak'] / 1e9:.2f} GB; window of {result['window']:,} rows: RMSE {result['rmse']:.4f}, exact kriging "
        f"{result['exact']:.4f} ({100 * (result['rmse'] / result['exact'] - 1):+.1f} %), coverage of 95 % intervals "
        f"{result['coverage']:.3f} (exact {result['exact_coverage']:.3f}); {result['told']}"
    )


def inside_rough(folder: Path) -> dict[str, Any]:
    import pandas as pd

    from bochner import SpatialRegressor
    from bochner.kernels import Matern
    from bochner.sources import open_source

    begin = time.perf_counter()
    model = SpatialRegressor(Matern(nu=0.5), memory_limit="1.5GB")
    model.fit(str(folder), target="z", store=str(folder.parent / "store"))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    source = open_source(str(folder))
    n = source.n_rows or 1
    half = 0.5 * np.sqrt(6_000 / n)  # of a window with 6,000 rows; the places are in its middle
    low, high = 0.5 - half, 0.5 + half
    kept = []
    for reading in source.read(("x", "y", "z")):
        c = reading.columns
        inside = (c["x"] > low) & (c["x"] < high) & (c["y"] > low) & (c["y"] < high)
        kept.append(np.column_stack([c[k][inside] for k in ("x", "y", "z")]))
    window = np.concatenate(kept)
    places = np.random.default_rng(9).uniform(0.5 - half / 2, 0.5 + half / 2, size=(1_000, 2))
    truth = rough_field(places)
    exact = SpatialRegressor(model.kernel_, noise_variance=model.noise_variance_, tune=None, features="exact").fit(
        window[:, :2], window[:, 2]
    )
    scores = {}
    for name, one, at in (("", model, pd.DataFrame(places, columns=["x", "y"])), ("exact_", exact, places)):
        mean, sd = one.predict(at, return_std=True)
        scores[f"{name}rmse"] = float(np.sqrt(np.mean((mean - truth) ** 2)))
        scores[f"{name}coverage"] = float(np.mean(np.abs(mean - truth) < 1.96 * sd))
    return {
        "seconds": seconds,
        "peak": peak,
        "window": len(window),
        "rmse": scores["rmse"],
        "coverage": scores["coverage"],
        "exact": scores["exact_rmse"],
        "exact_coverage": scores["exact_coverage"],
        "told": str(model.choices_["store"]).partition(": ")[2],
    }


# --------------------------------------------------------------------------------- data


def written(folder: Path, n: int, field: Callable[[np.ndarray], np.ndarray], group: int = GROUP) -> None:
    """Rows in a folder of Parquet files; kept if they are there."""
    import pyarrow as pa
    from pyarrow import parquet

    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for number, start in enumerate(range(0, n, group)):
        rng = np.random.default_rng([n, number])
        size = min(group, n - start)
        places = rng.uniform(size=(size, 2))
        z = field(places) + NOISE * rng.standard_normal(size)
        table = pa.table({"x": places[:, 0], "y": places[:, 1], "z": z})
        parquet.write_table(table, partial / f"{number:05d}.parquet", compression="none", use_dictionary=False)
    os.rename(partial, folder)


def smooth(places: np.ndarray) -> np.ndarray:
    """A surface that a few hundred waves hold."""
    x, y = places.T
    return np.sin(9 * x) * np.cos(7 * y) + 0.5 * np.sin(15 * (x + y))


def rough_field(places: np.ndarray) -> np.ndarray:
    """An exponential field of variance 1 and range a hundredth of the extent: a series on a torus a fifth wider.

    Its 4 million waves leave out 2 % of the variance, those shorter than a thousandth of the extent, on which the
    scatter from row to row depends: these are drawn at random.
    """
    from bochner import nufft
    from bochner.frequencies import RULES
    from bochner.kernels import Matern

    kernel, rng = Matern(nu=0.5, length_scale=EXPONENTIAL), np.random.default_rng(1)
    index = np.arange(-(TORUS_MODES // 2), TORUS_MODES - TORUS_MODES // 2) / TORUS
    xi = np.stack(np.meshgrid(index, index, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = kernel.spectral_density(2 * np.pi * xi) * (2 * np.pi / TORUS) ** 2
    mass *= min(1.0, 0.981 / mass.sum())
    coef = (rng.standard_normal(len(mass)) - 1j * rng.standard_normal(len(mass))) * np.sqrt(mass)
    long = nufft.type2(2 * np.pi * places / TORUS, coef.reshape(TORUS_MODES, TORUS_MODES), eps=1e-6).real
    omega = RULES["monte-carlo"].draw(kernel, 60_000, 2, rng).omega
    short = omega[np.abs(omega).max(axis=1) > 2 * np.pi * index[-1]][:SHORT_WAVES]
    phase = rng.uniform(size=len(short))
    out = np.empty(len(places))
    for i in range(0, len(places), 4_000):
        turns = places[i : i + 4_000] @ (short.T / (2 * np.pi)) + phase
        turns -= np.rint(turns)
        waves = np.cos((2 * np.pi * turns).astype(np.float32))
        out[i : i + 4_000] = waves.sum(axis=1) * np.sqrt(2 * (1 - mass.sum()) / len(short))
    return long + out


# -------------------------------------------------------------------------------- clock


class Clock:
    """Seconds by name."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("reading", "transforms", "passes", "waiting"), 0.0)
        self.lock = threading.Lock()

    def add(self, name: str, seconds: float) -> None:
        with self.lock:
            self.seconds[name] += seconds

    def timed(self, name: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.add(name, time.perf_counter() - begin)

        return call

    def waits(self, read: Any) -> Any:
        def iterate(*args: Any, **options: Any) -> Any:
            parts = read(*args, **options)
            while True:
                begin = time.perf_counter()
                reading = next(parts, None)
                self.add("waiting", time.perf_counter() - begin)
                if reading is None:
                    return
                yield reading

        return iterate


def apart(what: str, folder: Path) -> dict[str, Any]:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--inside", what, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        raise SystemExit(done.stderr[-2_000:])
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    return found


INSIDE: dict[str, Callable[[Path], dict[str, Any]]] = {
    "rows": inside_rows,
    "dask1": lambda folder: inside_dask(1, folder),
    "dask2": lambda folder: inside_dask(2, folder),
    "rough": inside_rough,
}


if __name__ == "__main__":
    main()
