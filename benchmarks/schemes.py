"""Every scheme in one table: error of the kernel and time against the number of frequencies, from 2 to 128 dimensions.

    python benchmarks/schemes.py [--dims 2 3 8 32 128] [--numbers 64 256 1024] [--seeds 5] [--kernel matern]

Places are uniform in a box of such a size that two of them lie about 1.4 length scales apart. The error is that of
phi(x)'phi(z) at 2,000 pairs of places, root mean square over pairs and seeds, relative to the variance. "choose" is the
time to choose the frequencies (for leverage scores and landmarks also to look at 1,000 rows of data), "block" the time
to make the features of 2,000 places; both in milliseconds, medians over seeds. Nystroem has as many columns as the
others: two landmarks for each frequency. Its error, and that of leverage scores, is at places like those of the data.
Learned and non-stationary features approximate no kernel: benchmarks/dependent.py compares their predictions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from bochner.features import FeatureMap, FourierMap, NystroemMap, Rows, choose_landmarks
from bochner.frequencies import RULES, lattice_frequencies, resample
from bochner.inference import Observations
from bochner.inference.schemes.adaptive_waves import pool_of, pool_scores, pool_size
from bochner.kernels import Kernel, Matern, SquaredExponential
from bochner.random import generator

KERNELS: dict[str, Kernel] = {"gaussian": SquaredExponential(), "matern": Matern(nu=1.5), "rough": Matern(nu=0.5)}
N_PAIRS, N_ROWS = 2_000, 1_000
NOISE = 0.1

Scheme = Callable[[Kernel, int, np.ndarray, int], FeatureMap]


def drawn(name: str) -> Scheme:
    """Scheme of a rule that looks at the kernel alone."""
    return lambda kernel, m, rows, seed: FourierMap(
        RULES[name].draw(kernel, m, rows.shape[1], generator(seed, "frequencies"))
    )


def lattice(kernel: Kernel, m: int, rows: np.ndarray, seed: int) -> FeatureMap:
    return FourierMap(lattice_frequencies(kernel, np.ptp(rows, axis=0), n_frequencies=m))


def leverage(kernel: Kernel, m: int, rows: np.ndarray, seed: int) -> FeatureMap:
    n = len(rows)
    obs = Observations(Rows(rows, np.zeros((n, 0))), np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n))
    pool = pool_of(kernel, pool_size(m), rows.shape[1], seed)
    score, _ = pool_scores(pool, obs, NOISE, m / 2, seed)
    return FourierMap(resample(pool, score, m, generator(seed, "frequencies")).frequencies)


def nystroem(kernel: Kernel, m: int, rows: np.ndarray, seed: int) -> FeatureMap:
    return NystroemMap.at(kernel, choose_landmarks(rows, min(2 * m, len(rows)), np.ones(len(rows)), seed))


SCHEMES: dict[str, Scheme] = {
    **{name: drawn(name) for name in RULES},
    "lattice": lattice,
    "leverage": leverage,
    "nystroem": nystroem,
}


def measure(scheme: Scheme, kernel: Kernel, m: int, dim: int, seed: int) -> tuple[float, float, float]:
    """Squared error of the kernel, milliseconds to choose, milliseconds to make the features."""
    side = np.sqrt(12 / dim)
    rng = generator(seed, "places")
    rows, x, z = (side * rng.random((n, dim)) for n in (N_ROWS, N_PAIRS, N_PAIRS))
    begin = time.perf_counter()
    features = scheme(kernel, m, rows, seed)
    chosen = time.perf_counter()
    phi = features.block(x)
    made = time.perf_counter()
    error = np.sum(phi * features.block(z), axis=1) - kernel.at(x - z)
    return float(np.mean(error**2)), 1e3 * (chosen - begin), 1e3 * (made - chosen)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="*", default=[2, 3, 8, 32, 128])
    parser.add_argument("--numbers", type=int, nargs="*", default=[64, 256, 1024])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kernel", choices=KERNELS, default="matern")
    args = parser.parse_args()
    kernel = KERNELS[args.kernel]
    print(f"{kernel}, {args.seeds} seeds; each cell: RMS error, ms to choose, ms for {N_PAIRS:,} places")
    print(f"{'d':>4} {'scheme':<12}" + "".join(f"{f'm = {m}':>30}" for m in args.numbers))
    for dim in args.dims:
        for name, scheme in SCHEMES.items():
            if name == "lattice" and dim > 3:
                continue
            cells = []
            for m in args.numbers:
                runs = np.array([measure(scheme, kernel, m, dim, seed) for seed in range(args.seeds)])
                error = np.sqrt(runs[:, 0].mean())
                cells.append(f"{error:>14.1e} {np.median(runs[:, 1]):>7.1f} {np.median(runs[:, 2]):>7.1f}")
            print(f"{dim:>4} {name:<12}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
