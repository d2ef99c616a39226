"""Default settings on Matern fields whose parameters are known, against kriging with the true parameters.

    python benchmarks/fields.py [--rows 90000] [--only 0 1 ...] [--field NU RANGE NUGGET ...] [--seed 0]

Zero-mean fields of variance 1 at uniform places of the unit square, from rough and short to smooth and long, with and
without nugget; 4,000 more places are predicted. The range is r in M(h / r), without sqrt(2 nu). Rough fields are drawn
place by place, each given 60 neighbours; smooth ones as 17 million waves on a torus. The yardstick
kriges each place from its nearest rows with the parameters that made the field: the best of three numbers of rows and
lifts of the diagonal. Prints one line each: RMSE of both and their ratio, coverage of 95 % intervals of new
observations, seconds of fit and prediction, the kernel found.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

CASES = (  # nu, range, nugget
    (0.6, 0.0175, 0.0),
    (0.6, 0.25, 0.2),
    (1.5, 0.0175, 0.0),
    (1.5, 0.06, 0.2),
    (1.5, 0.25, 0.0),
    (1.5, 0.25, 0.2),
    (2.3, 0.0175, 0.0),
    (2.3, 0.06, 0.0),
    (2.3, 0.25, 0.0),
    (2.3, 0.25, 0.2),
)
YARDSTICKS = ((60, 1e-13), (120, 1e-11), (300, 1e-9))  # neighbours and least noise
N_WAVES, PERIOD = 4_096, 2.0  # an axis; of the torus on which smooth fields are drawn


def main() -> None:
    """Score the chosen fields."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern
    from bochner.neighbours import local_kriging
    from bochner.validation import coverage, rmse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=90_000)
    parser.add_argument("--only", type=int, nargs="*", default=range(len(CASES)))
    parser.add_argument("--field", type=float, nargs=3, action="append", help="a field of your own, instead")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    cases = dict(enumerate(args.field)) if args.field else {i: CASES[i] for i in args.only}
    print(f"{'nu':>4} {'range':>7} {'nugget':>6} {'rmse':>9} {'true':>9} {'ratio':>6} {'cover':>6} {'s':>6}  kernel")
    n, n_test = args.rows, 4_000
    for i, (nu, reach, nugget) in cases.items():
        rng = np.random.default_rng(i + 1_000 * args.seed)
        kernel = Matern(reach * np.sqrt(2 * nu), nu=nu)
        places = rng.uniform(size=(n + n_test, 2))
        y = draw(kernel, places, rng) + np.sqrt(nugget) * rng.standard_normal(n + n_test)
        train, test = slice(0, n), slice(n, None)
        begin = time.perf_counter()
        model = SpatialRegressor().fit(places[train], y[train])
        mean = model.predict(places[test])
        lower, upper = model.predict_interval(places[test], include_noise=True).T
        seconds = time.perf_counter() - begin
        known = [
            local_kriging(kernel, max(nugget, floor), places[train], y[train], places[test], k)[0]
            for k, floor in (YARDSTICKS if nugget == 0 else YARDSTICKS[-1:])
        ]
        ours, best = rmse(y[test], mean), min(rmse(y[test], k) for k in known)
        print(
            f"{nu:>4} {reach:>7} {nugget:>6} {ours:>9.2e} {best:>9.2e} {ours / best:>6.3f} "
            f"{coverage(y[test], lower, upper):>6.3f} {seconds:>6.1f}  {model.kernel_} {model.noise_variance_:.2e}",
            flush=True,
        )


def draw(kernel, places, rng):  # type: ignore[no-untyped-def]
    """A field of the kernel at the places (n, 2) of the unit square."""
    from bochner import nufft
    from bochner.frequencies import Lattice, lattice_mass
    from bochner.posterior.prior import draw_field

    if kernel.nu < 1:
        return draw_field(kernel, places, 1, rng)[0]
    half = N_WAVES // 2
    index = np.stack(np.meshgrid(*2 * [np.arange(-half, half)], indexing="ij"), -1).reshape(-1, 2)
    mass = lattice_mass(kernel, Lattice(np.full(2, 1 / PERIOD), index)) / 2
    waves = np.sqrt(mass) * (rng.standard_normal(len(mass)) + 1j * rng.standard_normal(len(mass)))
    return nufft.type2(places * (2 * np.pi / PERIOD), waves.reshape(N_WAVES, N_WAVES), eps=1e-12).real


if __name__ == "__main__":
    main()
