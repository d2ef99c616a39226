"""Lattice against the exact kernel: mean and sd on 2,000 points with a gap, in 1 to 3 dimensions.

    python benchmarks/agreement.py [--rows 2000]

Prints, for every kernel and length scale, the largest difference of the means in units of the exact sd and the range of
the ratio of the sds. Targets: 0.01, and 0.97 to 1.03.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern, SquaredExponential

KERNELS = {
    "squared exponential": SquaredExponential,
    "Matern 1/2": lambda scale: Matern(scale, nu=0.5),
    "Matern 3/2": lambda scale: Matern(scale, nu=1.5),
    "Matern 5/2": lambda scale: Matern(scale, nu=2.5),
}


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--dims", type=int, nargs="*", default=[1, 2, 3])
    args = parser.parse_args()
    print(f"{'dim':>3} {'kernel':<20} {'scale':>5} {'mean/sd max':>11} {'rms':>8} {'sd ratio':>15} {'s':>6}  engine")
    for dim in args.dims:
        for name, make in KERNELS.items():
            for scale in (0.1, 0.2, 0.5):
                report(dim, name, make(scale), scale, args.rows)


def report(dim: int, name: str, kernel, scale: float, n: int) -> None:  # type: ignore[no-untyped-def]
    """One line of the table."""
    rng = np.random.default_rng(dim)
    X = rng.uniform(size=(4 * n, dim))
    X = X[~np.all(np.abs(X - 0.5) < 0.15, axis=1)][:n]  # a gap in the middle
    T = rng.uniform(size=(400, dim))
    settings = {"tune": None, "noise_variance": 0.01}
    K = kernel(X) + 1e-9 * np.eye(n)
    y = np.linalg.cholesky(K) @ rng.standard_normal(n) + 0.1 * rng.standard_normal(n)
    mean, sd = SpatialRegressor(kernel, features="exact", **settings).fit(X, y).predict(T, return_std=True)
    begin = time.perf_counter()
    model = SpatialRegressor(kernel, features="lattice", **settings).fit(X, y)
    near, spread = model.predict(T, return_std=True)
    seconds = time.perf_counter() - begin
    off = np.abs(near - mean) / sd
    ratio = spread / sd
    engine = "waves" if model.n_frequencies_ else model.choices_["solver"].value
    print(
        f"{dim:>3} {name:<20} {scale:>5} {off.max():>11.4f} {np.sqrt(np.mean(off**2)):>8.4f} "
        f"{ratio.min():>7.3f}-{ratio.max():.3f} {seconds:>6.1f}  {engine} {model.n_frequencies_ or ''}",
        flush=True,
    )


if __name__ == "__main__":
    main()
