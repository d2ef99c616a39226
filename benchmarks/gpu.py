"""What a GPU gives: times, agreement with the processor, fraction of the machine's peak, ratio to its cores.

    python benchmarks/gpu.py                      everything, a few minutes on one H200
    python benchmarks/gpu.py --only dense lattice
    python benchmarks/gpu.py --quick              small sizes, half a minute

- dense: 10,000,000 x 2 with 2,048 frequencies, moments in float64 and in the fast mode (float32 waves), beside the
  bare products; coefficients of both compared in units of their posterior sd.
- lattice: a system of 35,721 columns assembled, factorised, its evidence evaluated, beside the bare Cholesky.
- agreement: predictions of every route that runs on a device, against the processor.
- grid, scattered: exact kriging by conjugate gradients of an image and of scattered rows.
- vecchia, cells: likelihood with gradient, and standard deviations of a row engine.
- predict: standard deviations of a dense model.
- learned: an evaluation of the evidence and its gradient in 300 learned frequencies, and a whole fit of them.

Times are of the second of two runs (the first starts CUDA). Without a device nothing is measured, and a line says why;
with `--must` that is a failure. `benchmarks/speed.py` takes its rows from here (`--numbers`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.device import Device, named_device
from bochner.exceptions import BochnerError
from bochner.features import FourierMap, Rows
from bochner.frequencies import Frequencies, rule_named
from bochner.inference import Observations
from bochner.inference.schemes.ascent import Evidence, LearnableWaves, density_of
from bochner.kernels import Matern
from bochner.moments.dense_sums import DenseMoments, dense_moments
from bochner.moments.device_sums import device_moments
from bochner.moments.fourier_sums import fourier_sums
from bochner.neighbours import Vecchia
from bochner.resources import Resources
from bochner.solvers import Primal

PEAK = {"float64": 67e12}  # of an H200 (SXM), as its maker states it, without sparsity


def timed(device: Device, work: Callable[[], Any], repeats: int = 2) -> tuple[float, Any]:
    """Seconds of the last of some runs, and what it gave."""
    seconds, found = 0.0, None
    for _ in range(repeats):
        found = None
        _wait(device)
        start = time.perf_counter()
        found = work()
        _wait(device)
        seconds = time.perf_counter() - start
    return seconds, found


def _wait(device: Device) -> None:
    if device.name.startswith("cuda"):
        device.torch.cuda.synchronize()


def field(n: int, dim: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places in a unit box and a smooth response with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, dim))
    y = np.sin(9 * x[:, 0]) * np.cos(7 * x[:, -1]) + 0.3 * rng.normal(size=n)
    return x, y


def dense(device: Device, n: int = 10_000_000, m: int = 2_048) -> dict[str, Any]:
    """Moments of dense waves, and how far the fast mode is from float64."""
    x, y = field(n, 2)
    omega = np.random.default_rng(1).standard_t(3, size=(m, 2)) / 0.1
    rows, weight = Rows(x, np.ones((n, 1))), np.full(n, 1 / 0.09)
    mass = np.full(m, 1.0 / m)
    out: dict[str, Any] = {"rows": n, "frequencies": m}
    found: dict[str, DenseMoments] = {}
    for name, dtype in (("float64", np.float64), ("fast", np.float32)):
        features = FourierMap(Frequencies(omega, mass), dtype)
        out[f"{name} s"], found[name] = timed(device, lambda f=features: device_moments(device, f, rows, y, weight))
        out[f"{name} bare product s"] = _bare(device, n, 2 * m, in_slices=dtype is np.float32)
    work = n * (2.0 * m) ** 2  # a symmetric product: one multiplication and one addition for half of the entries
    out["float64 fraction of peak"] = work / out["float64 s"] / PEAK["float64"]
    scale = np.sqrt(np.diag(found["float64"].gram))
    out["fast, largest difference of the Gram, of unit diagonal"] = float(
        np.max(np.abs((found["fast"].gram - found["float64"].gram) / np.outer(scale, scale)))
    )
    print(json.dumps(out, indent=1), flush=True)
    exact, fast = (Primal().solve_moments(found[name], 2 * m) for name in ("float64", "fast"))
    sd = np.sqrt(np.diag(exact.factor.solve(np.eye(2 * m + 1))))
    out["fast, largest difference of a coefficient in posterior sd"] = float(
        np.max(np.abs(exact.coef - fast.coef) / sd)
    )
    few = slice(0, n // 50)
    start = time.perf_counter()
    with Resources(device="cpu").in_use():
        host = dense_moments(
            FourierMap(Frequencies(omega, mass)), Rows(x[few], np.ones((n // 50, 1))), y[few], weight[few]
        )
    out["float64 s on all cores, from a fiftieth"] = 50 * (time.perf_counter() - start)
    there = device_moments(
        device, FourierMap(Frequencies(omega, mass)), Rows(x[few], np.ones((n // 50, 1))), y[few], weight[few]
    )
    out["float64, largest relative difference from the processor"] = float(
        np.max(np.abs(host.gram - there.gram)) / np.max(np.abs(host.gram))
    )
    return out


def _bare(device: Device, n: int, p: int, *, in_slices: bool) -> float:
    """Seconds of the same products of random numbers, block by block, without anything else."""
    torch, size = device.torch, min(n, 65_536)
    if in_slices and device.name.startswith("cuda"):
        block = torch.randint(-127, 127, (p, size), dtype=torch.int8, device=device.name)
        return timed(device, lambda: [device.byte_product(block, block) for _ in range(16)])[0] / 16 * 3.25 * n / size
    block = torch.randn((p, size), dtype=torch.float64, device=device.name)
    return timed(device, lambda: [block @ block.T for _ in range(8)])[0] / 8 * n / size


def lattice(device: Device, columns: int = 35_721, n: int = 200_000) -> dict[str, Any]:
    """A lattice system: Fourier sums, assembly, factor and evidence."""
    from bochner.frequencies import lattice_frequencies

    x, y = field(n, 2)
    waves = lattice_frequencies(Matern(nu=0.5, length_scale=0.1), np.ones(2), missing=1e-9, maximum=columns // 2)
    rows, weight = Rows(x, np.ones((n, 1))), np.full(n, 1 / 0.09)
    sums = fourier_sums(waves, rows, y, weight)

    def whole() -> float:
        moments = sums.scaled(waves.mass)
        solution = Primal().solve_moments(moments, 2 * waves.n)
        return -0.5 * (solution.misfit - moments.log_weight) - 0.5 * solution.factor.logdet()

    torch = device.torch
    seconds, value = timed(device, whole)
    p = 2 * waves.n + 1
    bare = torch.randn((p, 256), dtype=torch.float64, device=device.name)
    matrix = bare @ bare.T / 256 + p * torch.eye(p, dtype=torch.float64, device=device.name)
    cholesky, _ = timed(device, lambda: torch.linalg.cholesky_ex(matrix))
    return {
        "columns": p,
        "assembled, factorised, evidence s": seconds,
        "bare Cholesky s": cholesky,
        "fraction of peak": p**3 / 3 / seconds / PEAK["float64"],
        "log evidence, but for constants": value,
    }


def agreement(device: Device) -> dict[str, float]:
    """Largest difference of means and sds between device and processor, relative to their spread and size."""
    x, y = field(20_000, 2)
    at = np.random.default_rng(3).uniform(size=(3_000, 2))
    out = {}
    for name, options in {
        "quasi": {"features": "quasi", "n_frequencies": 500, "dtype": "float64"},
        "lattice": {"features": "lattice", "n_frequencies": 1_500},
        "conjugate gradients": {},
    }.items():
        kernel = Matern(nu=1.5 if name == "quasi" else 0.5, length_scale=0.2)
        got = []
        for where in ("cpu", "cuda"):
            model = SpatialRegressor(kernel, tune=None, noise_variance=0.09, device=where, **options).fit(x, y)
            got.append(model.predict(at, return_std=True))
        (mean, sd), (mean_there, sd_there) = got
        out[f"{name}, mean"] = float(np.max(np.abs(mean - mean_there)) / np.std(mean))
        out[f"{name}, sd"] = float(np.max(np.abs(sd - sd_there) / sd))
    return out


def kriging(device: Device, side: int = 1_000, n: int = 300_000) -> dict[str, Any]:
    """Fit at fixed values by conjugate gradients, of an image with gaps and of scattered rows; device and processor."""
    nodes = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2) / side
    rng = np.random.default_rng(4)
    image = nodes[rng.random(len(nodes)) < 0.75]
    out: dict[str, Any] = {}
    for name, x in (("image", image), ("scattered", rng.uniform(size=(n, 2)))):
        y = np.sin(9 * x[:, 0]) * np.cos(7 * x[:, 1]) + 0.3 * rng.normal(size=len(x))
        for where in ("cuda", "cpu"):
            model = SpatialRegressor(Matern(nu=0.5, length_scale=0.1), tune=None, noise_variance=0.09, device=where)
            out[f"{name}, {len(x):,} rows, {where} s"], _ = timed(device, lambda m=model, a=x, b=y: m.fit(a, b), 1)
            print(json.dumps(out, indent=1), flush=True)
        out[f"{name}, solver"] = str(model.choices_["solver"])
    return out


def neighbours(device: Device) -> dict[str, float]:
    """Vecchia's likelihood with gradient, 6,000 points x 20 neighbours; sd of a row engine at 100,000 places."""
    x, y = field(100_000, 2)
    plan = Vecchia.plan(x, y, n_points=6_000, n_neighbours=20)
    kernel, out = Matern(nu=1.3, length_scale=(0.1, 0.2)), {}
    for where in ("cuda", "cpu"):
        with Resources(device=where).in_use():
            plan.evaluate(kernel, 0.1)
            out[f"likelihood with gradient, {where} ms"] = 1e3 * timed(device, lambda: plan.evaluate(kernel, 0.1), 5)[0]
    at = np.random.default_rng(5).uniform(size=(100_000, 2))
    for where in ("cuda", "cpu"):
        model = SpatialRegressor(Matern(nu=0.5, length_scale=0.1), tune=None, noise_variance=0.09, device=where).fit(
            x, y
        )
        out[f"sd of a row engine, 100,000 places, {where} s"] = timed(device, lambda m=model: m.predict(at, True))[0]
    return out


def predict(device: Device, m: int = 2_000, n: int = 200_000) -> dict[str, float]:
    """Mean and sd of a dense model of 2 m columns at n places."""
    x, y = field(20_000, 2)
    at = np.random.default_rng(6).uniform(size=(n, 2))
    out = {}
    for where, share in (("cuda", 1), ("cpu", 20)):
        model = SpatialRegressor(
            Matern(nu=1.5, length_scale=0.2),
            features="quasi",
            n_frequencies=m,
            tune=None,
            noise_variance=0.09,
            device=where,
        ).fit(x, y)
        seconds, _ = timed(device, lambda mm=model, s=share: mm.predict(at[: n // s], return_std=True))
        out[f"{n:,} places, {2 * m:,} columns, {where} s" + (" (from a twentieth)" if share > 1 else "")] = (
            share * seconds
        )
    return out


def learned(device: Device, n: int = 20_000, dim: int = 6, m: int = 300) -> dict[str, Any]:
    """Frequencies learned by the evidence: one evaluation with gradient at 7,000 rows, and a fit of n rows."""
    x, y = field(n, dim)
    kernel, rng = Matern(nu=1.5, length_scale=0.5), np.random.default_rng(7)
    origin = rule_named("orthogonal").draw(kernel, m, dim, rng)
    waves = LearnableWaves(origin, np.ones(dim), density_of(kernel, origin.omega, np.ones(dim)))
    obs = Observations(Rows(x[:7_000], np.ones((7_000, 1))), y[:7_000], np.ones(7_000), *np.zeros((2, 7_000)))
    evidence = Evidence(waves, obs, 0.09, learn_noise=True, reml=True)
    out: dict[str, Any] = {}
    slopes, means = {}, {}
    for where in ("cuda", "cpu"):
        with Resources(device=where).in_use():
            seconds, (_, slopes[where]) = timed(device, lambda: evidence(evidence.start), 5)
            out[f"evidence with gradient, 7,000 rows, {2 * m} columns, {where} ms"] = 1e3 * seconds
        model = SpatialRegressor(kernel, features="learned", n_frequencies=m, device=where)
        out[f"fit of {n:,} x {dim}, {where} s"] = timed(device, lambda mm=model: mm.fit(x, y), 1)[0]
        means[where] = model.predict(x[:2_000])
        print(json.dumps(out, indent=1), flush=True)
    for name, found in (("gradient", slopes), ("mean of the fit", means)):
        apart = np.max(np.abs(found["cuda"] - found["cpu"])) / np.std(found["cpu"])
        out[f"{name}, largest difference, of its spread"] = float(apart)
    return out


PARTS = {
    "dense": dense,
    "lattice": lattice,
    "agreement": agreement,
    "kriging": kriging,
    "neighbours": neighbours,
    "predict": predict,
    "learned": learned,
}


QUICK: dict[str, dict[str, int]] = {
    "dense": {"n": 1_000_000, "m": 1_024},
    "lattice": {"columns": 9_801},
    "kriging": {"side": 400, "n": 100_000},
    "neighbours": {},
    "predict": {"m": 500, "n": 50_000},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--numbers", type=Path, help="where to write rows of the table of benchmarks/speed.py")
    parser.add_argument("--must", action="store_true", help="exit with 2, not with 0, where there is no device")
    given = parser.parse_args()
    try:
        device = named_device("cuda")
    except BochnerError as error:
        print(f"nothing is measured: {error}", file=sys.stderr)
        sys.exit(2 if given.must else 0)
    print(f"{device.label}, PyTorch {device.torch.__version__}", flush=True)
    rows = []
    for name in given.only:
        if given.quick and name not in QUICK:
            continue
        with Resources(device="cuda").in_use():
            found = PARTS[name](device, **(QUICK[name] if given.quick else {}))
        print(f"## {name}", json.dumps(found, indent=1), sep="\n", flush=True)
        rows += as_rows(name, found)
    if given.numbers:
        given.numbers.write_text(json.dumps(rows), encoding="utf-8")


def as_rows(part: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of the device beside those of bare products there, or of the processor."""
    rows = []
    if part == "dense":
        size = f"{found['rows']:,} x 2, {2 * found['frequencies']:,} columns"
        for name, told in (("float64", "float64"), ("fast", "float32")):
            bare = found[f"{name} bare product s"]
            rows.append(_row(f"moments on a GPU, {told}", size, found[f"{name} s"], "bare products there", bare))
        cores = found["float64 s on all cores, from a fiftieth"]
        rows.append(_row("moments on a GPU, float64", size, found["float64 s"], CORES, cores))
    if part == "lattice":
        seconds, bare = found["assembled, factorised, evidence s"], found["bare Cholesky s"]
        case, size = "lattice on a GPU: assembled, factored, evidence", f"{found['columns']:,} columns"
        rows.append(_row(case, size, seconds, "bare Cholesky there", bare))
    for name, seconds in found.items():
        case, here, unit = name.partition(", cuda ")
        if here:
            other = next(value for key, value in found.items() if key.startswith(f"{case}, cpu "))
            scale = 1e-3 if unit.startswith("ms") else 1.0
            told, _, size = ("mean and sd of dense waves", "", case) if part == "predict" else case.partition(", ")
            told = f"learned frequencies: {told}" if part == "learned" else KRIGED.get(told, told)
            rows.append(_row(f"{told} on a GPU", size, scale * seconds, CORES, scale * other))
    return rows


CORES = "the processor's threads"
KRIGED = {"image": "exact kriging of an image", "scattered": "exact kriging of scattered rows"}


def _row(case: str, size: str, ours: float, other: str, theirs: float) -> dict[str, Any]:
    beside = "processor" if other == CORES else "limit"
    return {"case": case, "size": size, "ours": ours, "other": other, "theirs": theirs, "beside": beside}


if __name__ == "__main__":
    main()
