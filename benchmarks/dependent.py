"""Features that look at the data: what they gain over features that do not.

    python benchmarks/dependent.py PATH [--only leverage learned kin40k nonstationary] [--seeds 5]

PATH is a folder with sic97.parquet, california_housing.parquet, heaton_small.parquet and uci_kin40k.parquet.

- leverage: test error of Monte Carlo and leverage features at equal numbers of frequencies, with the same kernel,
  tuned once, on two simulated fields and three real ones; means over seeds of the frequencies. The noise variance is
  the tuned one, or more where the evidence of the waves says so: few waves leave something out.
- learned: a field with two narrow spectral peaks; 20 learned frequencies and 500 random ones.
- kin40k: 8 dimensions, not spatial; 300 learned frequencies and 3,000 random ones, the latter with the noise variance
  that suits the test rows best. Takes some minutes.
- nonstationary: simulated fields whose length scale grows 13-fold across the square; CRPS and RMSE of the
  latent field at new places, for every scheme, all with tuned values. The oracle knows the covariance.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import linalg

from bochner import SpatialRegressor
from bochner.features import FourierMap, Rows
from bochner.frequencies import MonteCarlo
from bochner.inference import Observations, Spec
from bochner.inference.ascent import noise_of_few_waves
from bochner.inference.leverage import leverage_features
from bochner.inference.linear import fit_linear
from bochner.kernels import Kernel, Matern, SquaredExponential, total_variance
from bochner.moments import moments_of
from bochner.random import generator
from bochner.validation import crps, rmse

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # coordinates and values, known and new
NUMBERS = (50, 200)


# ------------------------------------------------------------------------- leverage


def drawn_field(kernel: Kernel, noise: float, seed: int) -> Split:
    """A field on a square of side 10: 1,200 observations, 500 places with the latent value."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(0, 10, size=(1_700, 2))
    field = linalg.cholesky(kernel(coords) + 1e-8 * np.eye(1_700), lower=True) @ rng.standard_normal(1_700)
    y = field[:1_200] + np.sqrt(noise) * rng.standard_normal(1_200)
    return coords[:1_200], y, coords[1_200:], field[1_200:]


def real(path: Path, name: str) -> Split:
    """Rows of a file, with its own split or a fifth of them held out."""
    table = pd.read_parquet(path / f"{name}.parquet")
    columns = {
        "sic97": (["x", "y"], "rainfall"),
        "california_housing": (["lon", "lat"], "median_house_value"),
        "heaton_small": (["lon", "lat"], "temp"),
    }[name]
    coords = np.column_stack([np.asarray(table[c], dtype=float) for c in columns[0]])
    y = np.asarray(table[columns[1]], dtype=float)
    y = np.log(y) if name == "california_housing" else y
    if "split" in table:
        test = np.asarray(table["split"]) == "test"
    else:
        test = np.random.default_rng(0).random(len(y)) < 0.2
    return coords[~test], y[~test], coords[test], y[test]


def predicted(kind: str, m: int, kernel: Kernel, noise: float, split: Split, seed: int) -> float:
    """Test RMSE of m waves with a noise variance, the tuned one or more, that their own evidence chooses."""
    known, y, new, truth = split
    n, centre = len(y), known.mean(axis=0)
    obs = Observations(Rows(known - centre, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    if kind == "leverage":
        features = leverage_features(Spec(kind, m, seed=seed), kernel, noise, obs)[0]
    else:
        features = FourierMap(MonteCarlo().draw(kernel, m, known.shape[1], generator(seed, "frequencies")))
    noise = noise_of_few_waves(features, obs, noise, total_variance(kernel), reml=True)
    posterior = fit_linear(features, obs, noise).posterior
    return rmse(truth, posterior.mean(Rows(new - centre, np.ones((len(new), 1)))))


def leverage(path: Path, seeds: int) -> None:
    """Test RMSE at equal numbers of frequencies."""
    smooth, scales = SquaredExponential(1.5), SquaredExponential(8.0, 20.0) + SquaredExponential(0.7, 0.5)
    data: dict[str, tuple[Split, Kernel | None]] = {
        "two scales, simulated": (drawn_field(scales, 0.1, 0), scales),
        "smooth, simulated": (drawn_field(smooth, 0.01, 1), smooth),
        **{name: (real(path, name), None) for name in ("sic97", "california_housing", "heaton_small")},
    }
    print(f"{'data':<24}{'m':>5}{'monte-carlo':>13}{'leverage':>11}{'gain':>8}")
    for name, (split, kernel) in data.items():
        tuned = SpatialRegressor(kernel, features="monte-carlo", n_frequencies=20 if kernel is None else "auto",
                                 tolerance=0.1).fit(*split[:2])  # fmt: skip
        kernel, noise = tuned.kernel_, tuned.noise_variance_
        for m in NUMBERS:
            error = {
                kind: np.mean([predicted(kind, m, kernel, noise, split, seed) for seed in range(seeds)])
                for kind in ("monte-carlo", "leverage")
            }
            gain = 1 - error["leverage"] / error["monte-carlo"]
            print(f"{name:<24}{m:>5}{error['monte-carlo']:>13.4f}{error['leverage']:>11.4f}{gain:>8.1%}", flush=True)


# -------------------------------------------------------------------------- learned


def two_peaks(seed: int) -> Split:
    """A field whose spectrum is two narrow peaks, in noise: 600 observations, 500 places with the latent value."""
    rng = np.random.default_rng(seed)
    coords, field = rng.uniform(0, 10, size=(1_100, 2)), np.zeros(1_100)
    for peak in ([3.0, 1.0], [-1.5, 4.0]):
        for omega in np.array(peak) + 0.1 * rng.standard_normal((8, 2)):
            a, b = rng.standard_normal(2)
            field += np.sqrt(1 / 8) * (a * np.cos(coords @ omega) + b * np.sin(coords @ omega))
    return coords[:600], field[:600] + 0.3 * rng.standard_normal(600), coords[600:], field[600:]


def learned(path: Path, seeds: int) -> None:
    """Two narrow peaks."""
    print(f"{'seed':<6}{'500 random':>12}{'500 quasi':>12}{'20 learned':>12}   (RMSE of the latent field)")
    for seed in range(seeds):
        split = two_peaks(seed)
        errors = []
        for kind, m in (("monte-carlo", 500), ("quasi", 500), ("learned", 20)):
            model = SpatialRegressor(Matern(nu=2.5), features=kind, n_frequencies=m, random_state=seed).fit(*split[:2])
            errors.append(rmse(split[3], model.predict(split[2])))
        print(f"{seed:<6}" + "".join(f"{e:>12.4f}" for e in errors), flush=True)


def kin40k(path: Path, seeds: int) -> None:
    """300 learned frequencies and 3,000 random ones."""
    table = pd.read_parquet(path / "uci_kin40k.parquet")
    coords = np.column_stack([np.asarray(table[f"x{j}"], dtype=float) for j in range(8)])
    y, test = np.asarray(table["y"], dtype=float), np.asarray(table["test_fold"]) == 0
    begin = time.perf_counter()
    model = SpatialRegressor(Matern((1.0,) * 8, nu=2.5), features="learned", n_frequencies=300).fit(
        coords[~test], y[~test]
    )
    error = rmse(y[test], model.predict(coords[test]))
    print(f"300 learned: test RMSE {error:.4f}, {time.perf_counter() - begin:.0f} s with tuning")
    print(f"  {model.choices_['n_frequencies']}", flush=True)
    begin, m, n = time.perf_counter(), 3_000, int((~test).sum())
    known = coords[~test] - coords[~test].mean(axis=0)
    new = coords[test] - coords[~test].mean(axis=0)
    features = FourierMap(MonteCarlo().draw(model.kernel_, m, 8, generator(0, "frequencies")), np.float32)
    sums = moments_of(features, Rows(known, np.ones((n, 1))), y[~test], np.ones(n))
    for noise in (1e-5, 1e-4, 1e-3, 1e-2):
        system = sums.gram / noise
        system[np.arange(2 * m), np.arange(2 * m)] += 1
        coef = linalg.cho_solve(linalg.cho_factor(system, overwrite_a=True), sums.projection / noise)
        error = rmse(y[test], features.forward(new, coef[:-1]) + coef[-1])
        print(f"3,000 random, noise {noise:g}: test RMSE {error:.4f}, {time.perf_counter() - begin:.0f} s", flush=True)


# -------------------------------------------------------------------- non-stationary


def changing_field(seed: int, n: int = 500, n_new: int = 500) -> tuple[Split, np.ndarray, np.ndarray]:
    """A field on the unit square whose length scale grows from 0.03 to 0.4 (Paciorek and Schervish); its kriging."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n + n_new, 2))
    length = 0.03 * (0.4 / 0.03) ** coords[:, 0]
    squares = (length[:, None] ** 2 + length**2) / 2
    distance = np.sqrt(np.sum((coords[:, None] - coords) ** 2, axis=-1) / squares)
    cov = np.outer(length, length) / squares * Matern(nu=1.5).correlation(distance)
    field = linalg.cholesky(cov + 1e-8 * np.eye(n + n_new), lower=True) @ rng.standard_normal(n + n_new)
    y = field[:n] + np.sqrt(0.05) * rng.standard_normal(n)
    half = linalg.cho_solve(linalg.cho_factor(cov[:n, :n] + 0.05 * np.eye(n)), cov[:n, n:])
    sd = np.sqrt(np.maximum(1 - np.sum(half * cov[:n, n:], axis=0), 1e-12))
    return (coords[:n], y, coords[n:], field[n:]), half.T @ y, sd


def scored(field: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> tuple[float, float, float]:
    """CRPS, RMSE and coverage of 95 % intervals."""
    return crps(field, mean, sd), rmse(field, mean), float(np.mean(abs(field - mean) < 1.96 * sd))


def nonstationary(path: Path, seeds: int) -> None:
    """CRPS and RMSE of the latent field."""
    kinds = {"exact": "auto", "lattice": "auto", "quasi": 500, "leverage": 500, "learned": "auto",
             "nonstationary": "auto"}  # fmt: skip
    scores: dict[str, list[tuple[float, float, float]]] = {"oracle": [], **{kind: [] for kind in kinds}}
    for seed in range(seeds):
        (coords, y, new, field), mean, sd = changing_field(seed)
        scores["oracle"].append(
            (crps(field, mean, sd), rmse(field, mean), float(np.mean(abs(field - mean) < 1.96 * sd)))
        )
        for kind, m in kinds.items():
            model = SpatialRegressor(features=kind, n_frequencies=m).fit(coords, y)
            mean, sd = model.predict(new, return_std=True)
            scores[kind].append(scored(field, mean, sd))
    print(f"{'features':<15}{'CRPS':>9}{'RMSE':>9}{'coverage':>10}   (latent field, {seeds} fields)")
    for kind, values in scores.items():
        middle = np.mean(values, axis=0)
        print(f"{kind:<15}{middle[0]:>9.4f}{middle[1]:>9.4f}{middle[2]:>10.3f}", flush=True)
    wins = sum(a[0] < b[0] for a, b in zip(scores["nonstationary"], scores["exact"], strict=True))
    print(f"nonstationary is better than exact in {wins} of {seeds} fields")


PARTS = {"leverage": leverage, "learned": learned, "nonstationary": nonstationary, "kin40k": kin40k}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.only:
        print(f"\n{name}")
        PARTS[name](args.path, args.seeds)


if __name__ == "__main__":
    main()
