"""A million binomial rows: time, memory and accuracy of a fit with a tuned kernel.

    python benchmarks/families.py [N_ROWS] [--family binomial|poisson|bernoulli]

A Matern 3/2 field on the unit square is drawn from 4,000 random waves; every row has 1 to 20 trials. The kernel and
the iid effect are learned. Printed: seconds of the fit and of prediction with sd, peak memory beyond the rows, what
was learned beside the truth, error and coverage of the latent surface at 2,000 new places.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from bochner import SpatialRegressor, nufft
from bochner.families import family_named
from bochner.kernels import Matern
from bochner.random import generator

TRUTH = Matern(nu=1.5, length_scale=0.1, variance=1.0)
INTERCEPT, EFFECT, IID = -1.0, 0.5, 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--family", default="binomial", choices=("binomial", "poisson", "bernoulli"))
    arguments = parser.parse_args()
    rng = np.random.default_rng(7)
    n, family = arguments.n_rows, family_named(arguments.family)
    places = rng.uniform(size=(n + 2_000, 2))
    covariate = rng.normal(size=n + 2_000)
    eta = INTERCEPT + EFFECT * covariate + field_at(places)
    size = sizes(family.name, n, rng)
    own = np.sqrt(IID) * rng.standard_normal(n) if family.size_name else 0.0
    y = family.draw(eta[:n] + own, size, rng)
    X = np.column_stack([places, covariate])
    before = peak()
    begin = time.perf_counter()
    given = {family.size_name: size} if family.size_name else {}
    model = SpatialRegressor(Matern(nu=1.5), family=family, coords=[0, 1], covariates=[2], verbose=1)
    model.fit(X[:n], y, **given)
    fitted = time.perf_counter()
    mean, sd = model.predict_latent(X[n:])
    done = time.perf_counter()
    print(model.summary())
    print(f"\nrows {n:,}: fit {fitted - begin:.1f} s, 2,000 predictions with sd {done - fitted:.1f} s")
    print(f"peak memory beyond the rows: {(peak() - before) / 1e9:.2f} GB")
    print(f"truth: {TRUTH}, intercept {INTERCEPT}, effect {EFFECT}, iid effect {IID if given else 0.0}")
    error = mean - eta[n:]
    inside = np.mean(np.abs(error) < 1.96 * sd)
    print(f"latent surface: RMSE {np.sqrt(np.mean(error**2)):.4f}, mean sd {sd.mean():.4f}, coverage {inside:.3f}")


def field_at(places: np.ndarray) -> np.ndarray:
    """Field drawn from many random waves of the true kernel."""
    rng = generator(3, "field")
    df = 2 * TRUTH.nu
    omega = rng.standard_normal((4_000, 2)) * np.sqrt(df / rng.chisquare(df, size=(4_000, 1))) / TRUTH.length_scale
    phase = rng.uniform(0, 2 * np.pi, 4_000)
    strengths = np.sqrt(2 * TRUTH.variance / 4_000) * np.exp(1j * phase)
    return nufft.type3(omega, strengths, places, eps=1e-8, sign=1).real


def sizes(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Trials or exposure of each row."""
    if name == "binomial":
        return rng.integers(1, 21, n).astype(float)
    return rng.uniform(0.5, 5.0, n) if name == "poisson" else np.ones(n)


def peak() -> float:
    """Largest memory held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


if __name__ == "__main__":
    main()
