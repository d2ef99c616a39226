"""Peak memory of fits and predictions against `memory_limit`, over schemes and sizes.

    python benchmarks/memory.py [--quick] [--only WORD ...] [--limits 200MB 1GB]

Each case runs in a process of its own: libraries are imported and the data made, then the peak of the resident set is
reset, and a fit and a prediction with sd at 20,000 places are run. Printed are the peak above what was there before,
the scheme that answered, seconds, and whether the limit held; a refusal counts as held and is printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

CASES = {  # rows, dimensions, and how
    "exact 1,000": (1_000, 2, {"features": "exact"}),
    "exact 3,000": (3_000, 2, {"features": "exact", "kernel": "matern32"}),
    "auto 3,500": (3_500, 2, {}),
    "auto 20,000": (20_000, 2, {"kernel": "matern32"}),
    "auto 100,000": (100_000, 2, {"kernel": "matern12"}),
    "auto 100,000, smooth": (100_000, 2, {"kernel": "squared-exponential"}),
    "auto 1,000,000, smooth": (1_000_000, 2, {"kernel": "squared-exponential"}),
    "auto 20,000 in 3-D": (20_000, 3, {"kernel": "matern32"}),
    "auto 20,000 in 6-D": (20_000, 6, {"kernel": "matern32"}),
    "orthogonal 100,000": (100_000, 2, {"features": "orthogonal", "kernel": "matern32", "n_frequencies": 1_000}),
    "nystroem 100,000": (100_000, 2, {"features": "nystroem", "kernel": "matern32"}),
    "leverage 20,000": (20_000, 2, {"features": "leverage", "kernel": "matern32"}),
    "poisson 20,000": (20_000, 2, {"kernel": "matern32", "family": "poisson"}),
}
QUICK = ("exact 1,000", "auto 3,500", "auto 100,000, smooth", "nystroem 100,000")
N_PREDICTED = 20_000


def main() -> None:
    """Run the cases, each by itself."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limits", nargs="*", default=["300MB", "1GB"])
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        print(json.dumps(measured(*args.case)))
        return
    print(f"{'case':<26} {'limit':>7} {'fit MB':>8} {'predict MB':>11} {'held':>5} {'s':>6}  scheme")
    for name in QUICK if args.quick else CASES:
        if args.only and not any(word in name for word in args.only):
            continue
        for limit in ["none", *args.limits]:
            command = [sys.executable, __file__, "--case", name, limit]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{name:<26} {limit:>7}  failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            found = json.loads(done.stdout.strip().splitlines()[-1])
            if "refused" in found:
                print(f"{name:<26} {limit:>7} refused after {found['fit']:,.0f} MB: {found['refused']}", flush=True)
                continue
            held = "" if limit == "none" else "yes" if found["held"] else "NO"
            print(
                f"{name:<26} {limit:>7} {found['fit']:>8,.0f} {found['predict']:>11,.0f} {held:>5} "
                f"{found['seconds']:>6.1f}  {found['scheme']}",
                flush=True,
            )


def measured(name: str, limit: str) -> dict[str, object]:
    """Peak megabytes of a fit and of a prediction, above what the process held before."""
    import warnings

    import numpy as np

    from bochner import SpatialRegressor, exceptions
    from bochner.resources import memory_bytes

    warnings.simplefilter("ignore")
    n, dim, parameters = CASES[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, dim))
    eta = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1])
    y = rng.poisson(np.exp(eta)).astype(float) if "family" in parameters else eta + 0.3 * rng.standard_normal(n)
    places = rng.uniform(size=(N_PREDICTED, dim))
    warm_up(SpatialRegressor, rng, dim, parameters)
    bytes_allowed = None if limit == "none" else memory_bytes(limit)
    begin, before = time.perf_counter(), reset_peak()
    try:
        model = SpatialRegressor(**parameters, memory_limit=bytes_allowed).fit(X, y)
    except exceptions.MemoryLimitError as error:
        return {"fit": (peak() - before) / 1e6, "refused": str(error)}
    fit = peak() - before
    before_prediction = reset_peak()
    model.predict(places, return_std=True)
    predict = peak() - before_prediction
    held = bytes_allowed is None or max(fit, predict) <= bytes_allowed
    return {
        "fit": fit / 1e6,
        "predict": predict / 1e6,
        "held": held,
        "seconds": time.perf_counter() - begin,
        "scheme": model.fitted_.model.scheme,
    }


def warm_up(estimator: type, rng: object, dim: int, parameters: dict[str, object]) -> None:
    """Import what a fit imports late, and let allocators and thread pools take what they keep."""
    import numpy as np

    X = np.random.default_rng(1).uniform(size=(60, dim))
    y = np.round(np.exp(X[:, 0]) * 3)
    small = {k: v for k, v in parameters.items() if k != "n_frequencies"}
    estimator(**small).fit(X, y).predict(X, return_std=True)


def reset_peak() -> int:
    """Forget the peak of the resident set; what it is now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """Largest resident set since `reset_peak`, in bytes."""
    return _status("VmHWM")


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    main()
