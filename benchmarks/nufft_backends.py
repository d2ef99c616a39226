"""Back ends of the non-uniform FFT against each other: milliseconds of types 1 and 2.

    python benchmarks/nufft_backends.py              one thread
    python benchmarks/nufft_backends.py --threads 2

Back ends that are not installed are left out. The order in which `bochner.nufft` takes them is read off here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from bochner import nufft
from bochner.nufft.backends import ORDER, obstacle

# places, modes, vectors: conjugate gradients of few rows, of an image, of a line, of a volume; sums over many rows
SIZES = (
    (6_000, (192, 192), 8),
    (10_000, (256, 256), 2),
    (6_000, (300, 300), 21),
    (100_000, (600, 400), 1),
    (1_000_000, (150, 150), 1),
    (5_000, (4_000,), 4),
    (5_000, (48, 48, 48), 4),
)


def fastest(call: Callable[[], object], repeats: int) -> float:
    """Seconds of the quickest of some calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--eps", type=float, default=1e-9)
    args = parser.parse_args()
    names = [name for name in ORDER if not obstacle(name)]
    print(f"ms of type 1 and type 2, eps {args.eps:g}, {args.threads} threads")
    for n, shape, k in SIZES:
        rng = np.random.default_rng(0)
        places = rng.uniform(-np.pi, np.pi, size=(n, len(shape)))
        strengths = rng.normal(size=(k, n)) + 1j * rng.normal(size=(k, n))
        told = []
        for name in names:
            plan = nufft.Plan(places, shape, eps=args.eps, backend=name, n_jobs=args.threads)
            modes = plan.type1(strengths)
            plan.type2(modes)
            one = fastest(lambda: plan.type1(strengths), args.repeats)  # noqa: B023
            two = fastest(lambda: plan.type2(modes), args.repeats)  # noqa: B023
            told.append(f"{name} {1e3 * one:.1f} {1e3 * two:.1f}")
        print(f"{n:>9,} places, {' x '.join(map(str, shape)):>12} modes, {k:>2} vectors: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
