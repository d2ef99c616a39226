"""Features that look at the data, and kernels of space and time: what they gain over those that do not.

    python benchmarks/dependent.py PATH [--only leverage learned kin40k nonstationary pm10 temperature] [--seeds 5]

PATH is a folder with sic97, california_housing, heaton_small, uci_kin40k, de_rb_pm10_2005 and
global_daily_temp_jul2011 as parquet files.

- leverage: test error of Monte Carlo and leverage features at equal numbers of frequencies, with the same kernel,
  tuned once, on two simulated fields and three real ones; means over seeds of the frequencies (four times as many
  where rows are few), and the standard error of the gain. The noise variance is the tuned one, or more where the
  evidence of the waves says so: few waves leave something out.
- learned: a field with two narrow spectral peaks; 20 learned frequencies and 500 random ones.
- kin40k: 8 dimensions, not spatial; 300 learned frequencies and 3,000 random ones, the latter with the noise variance
  that suits the test rows best. Takes some minutes.
- nonstationary: simulated fields whose length scale grows 13-fold across the square; CRPS and RMSE of the
  latent field at new places, for every scheme, all with tuned values. The oracle knows the covariance.
- pm10: daily means at 69 stations, log(1 + PM10); every station predicted from the others, without and with altitude.
  A plain fit of the whole year with a kernel of space and time (a field, and what a station keeps for a while), against
  kriging day by day: with one kernel for all days, learned from every fifth of them, and with a kernel of its own for
  each. Every day then has a mean, and with altitude a slope, of its own. Kernels are learned from all stations. The
  kernel of space and time is one of five that were tried with these scores in view; three did better than one kernel
  for all days, two (without what a station keeps, or with a level common to all stations instead) did not.
- temperature: 133,372 rows from all over the Earth, of which some lack a value; chord coordinates and time (4
  dimensions, so no lattice), elevation in the trend. Time of the fit with tuning, and the error at a tenth of the
  stations, which the fit does not see; without a kernel, and with one that was picked with such errors in view.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg, optimize
from sklearn.model_selection import LeaveOneGroupOut

from bochner import SpatialRegressor
from bochner.features import FourierMap, Rows
from bochner.frequencies import MonteCarlo, resample
from bochner.inference import Observations
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.learning.evidence import Exact, Theta
from bochner.inference.learning.other_families import Parts
from bochner.inference.schemes.adaptive_waves import pool_of, pool_scores, pool_size
from bochner.inference.schemes.ascent import noise_of_few_waves
from bochner.kernels import Kernel, Matern, OnAxes, Separable, SquaredExponential, total_variance
from bochner.moments import moments_of
from bochner.random import generator
from bochner.validation import crps, rmse

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # coordinates and values, known and new
NUMBERS = (50, 200)
FEW_ROWS = 2_000


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
    rng, dim = generator(seed, "frequencies"), known.shape[1]
    if kind == "leverage":
        pool = pool_of(kernel, pool_size(m), dim, seed)
        score, _ = pool_scores(pool, obs, noise, m / 2, seed)
        features = FourierMap(resample(pool, score, m, rng).frequencies)
    else:
        features = FourierMap(MonteCarlo().draw(kernel, m, dim, rng))
    noise = noise_of_few_waves(features, obs, noise, total_variance(kernel), reml=True)
    posterior = LinearEngine(features, noise).fit(obs).posterior
    return rmse(truth, posterior.mean(Rows(new - centre, np.ones((len(new), 1)))))


def leverage(path: Path, seeds: int) -> None:
    """Test RMSE at equal numbers of frequencies."""
    smooth, scales = SquaredExponential(1.5), SquaredExponential(8.0, 20.0) + SquaredExponential(0.7, 0.5)
    data: dict[str, tuple[Split, Kernel | None]] = {
        "two scales, simulated": (drawn_field(scales, 0.1, 0), scales),
        "smooth, simulated": (drawn_field(smooth, 0.01, 1), smooth),
        **{name: (real(path, name), None) for name in ("sic97", "california_housing", "heaton_small")},
    }
    print(f"{'data':<24}{'m':>5}{'monte-carlo':>13}{'leverage':>11}{'gain':>8}{'s.e.':>8}")
    for name, (split, kernel) in data.items():
        tuned = SpatialRegressor(kernel, features="monte-carlo", n_frequencies=20 if kernel is None else "auto",
                                 tolerance=0.1).fit(*split[:2])  # fmt: skip
        kernel, noise = tuned.kernel_, tuned.noise_variance_
        runs = range(seeds if len(split[1]) > FEW_ROWS else 4 * seeds)
        for m in NUMBERS:
            one, other = (
                np.array([predicted(kind, m, kernel, noise, split, seed) for seed in runs])
                for kind in ("monte-carlo", "leverage")
            )
            gain, error = 1 - other.mean() / one.mean(), np.std(one - other) / np.sqrt(len(runs)) / one.mean()
            print(f"{name:<24}{m:>5}{one.mean():>13.4f}{other.mean():>11.4f}{gain:>8.1%}{error:>8.1%}", flush=True)


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
    # in float64: with little noise the system is nearly singular
    features = FourierMap(MonteCarlo().draw(model.kernel_, m, 8, generator(0, "frequencies")), np.float64)
    sums = moments_of(features, Rows(known, np.ones((n, 1))), y[~test], np.ones(n))
    for noise in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
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
    kinds = {"exact": "auto", "lattice": "auto", "nystroem": "auto", "monte-carlo": 500, "quasi": 500,
             "orthogonal": 500, "leverage": 500, "learned": "auto", "nonstationary": "auto"}  # fmt: skip
    scores: dict[str, list[tuple[float, float, float]]] = {"oracle": [], **{kind: [] for kind in kinds}}
    for seed in range(seeds):
        (coords, y, new, field), mean, sd = changing_field(seed)
        scores["oracle"].append(scored(field, mean, sd))
        for kind, m in kinds.items():
            model = SpatialRegressor(features=kind, n_frequencies=m).fit(coords, y)
            mean, sd = model.predict(new, return_std=True)
            scores[kind].append(scored(field, mean, sd))
    print(f"{'features':<15}{'CRPS':>9}{'RMSE':>9}{'coverage':>10}   (latent field, {seeds} fields)")
    for kind, values in scores.items():
        middle = np.mean(values, axis=0)
        print(f"{kind:<15}{middle[0]:>9.4f}{middle[1]:>9.4f}{middle[2]:>10.3f}", flush=True)
    others = [kind for kind in kinds if kind != "nonstationary"]
    wins = sum(scores["nonstationary"][i][0] < min(scores[kind][i][0] for kind in others) for i in range(seeds))
    print(f"nonstationary is better than the best of all others in {wins} of {seeds} fields")


# -------------------------------------------------------------------- space and time


def pm10_rows(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns x, y (km), day, altitude (km); log(1 + PM10); stations."""
    table = pd.read_parquet(path / "de_rb_pm10_2005.parquet")
    day = (table["date"] - table["date"].min()).dt.days
    columns = (table["x"] / 1e3, table["y"] / 1e3, day, table["altitude"] / 1e3)
    X = np.column_stack([np.asarray(c, dtype=float) for c in columns])
    return X, np.log1p(np.asarray(table["pm10"], dtype=float)), np.asarray(table["station"])


def day_by_day(
    X: np.ndarray, y: np.ndarray, station: np.ndarray, altitude: bool, common: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd at every station from the others of the same day."""
    columns = [0, 1, 3] if altitude else [0, 1]
    days = [np.flatnonzero(X[:, 2] == day) for day in np.unique(X[:, 2])]
    settings: dict[str, Any] = {"kernel": Matern(800.0, 0.2, nu=0.5)}
    if common:
        kernel, noise = one_kernel(X[:, columns], y, days[5::5], settings["kernel"])
        settings = {"kernel": kernel, "noise_variance": noise, "tune": None}
    mean, sd = np.empty(len(y)), np.empty(len(y))
    for i in days:
        model = SpatialRegressor(**settings, coords=[0, 1], covariates=[2] if altitude else None)
        held = model.fit(X[i][:, columns], y[i]).cross_validate(LeaveOneGroupOut(), groups=station[i])
        mean[i[held.index]], sd[i[held.index]] = held.prediction.mean, held.prediction.sd
    return mean, sd


def one_kernel(X: np.ndarray, y: np.ndarray, days: list[np.ndarray], start: Kernel) -> tuple[Kernel, float]:
    """Kernel and noise variance that make some days, each with a trend of its own, most likely."""
    parts = []
    for i in days:
        zero, trend = np.zeros(len(i)), np.column_stack([np.ones(len(i)), X[i, 2:]])
        parts.append(Observations(Rows(X[i, :2], trend), y[i], zero + 1, zero, zero))

    flat = np.full(parts[0].n_trend, -1)
    evidence = Parts([Exact(obs, flat) for obs in parts])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = evidence.at(Theta(start.with_theta(x[:-1]), float(np.exp(x[-1]))))
        return -point.value, -point.gradient

    best = optimize.minimize(loss, np.r_[start.theta, np.log(0.03)], jac=True, method="L-BFGS-B").x
    return start.with_theta(best[:-1]), float(np.exp(best[-1]))


def whole_year(X: np.ndarray, y: np.ndarray, station: np.ndarray, altitude: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd at every station from all days of the others."""
    field = Separable(Matern(800.0, 0.3, nu=0.5), Matern(3.0, nu=0.5))
    own = Separable(Matern(20.0, 0.05, nu=0.5), Matern(10.0, nu=0.5))
    model = SpatialRegressor(field + own, coords=[0, 1, 2], covariates=[3] if altitude else None)
    held = model.fit(X if altitude else X[:, :3], y).cross_validate(LeaveOneGroupOut(), groups=station)
    back = np.argsort(held.index)
    return held.prediction.mean[back], held.prediction.sd[back]


def pm10(path: Path, seeds: int) -> None:
    """Leave one station out."""
    X, y, station = pm10_rows(path)
    print(f"{'model':<42}{'RMSE':>8}{'CRPS':>8}{'coverage':>10}{'seconds':>9}", flush=True)
    for altitude in (False, True):
        models = {
            "day by day, one kernel": lambda a=altitude: day_by_day(X, y, station, a, common=True),
            "day by day, a kernel each": lambda a=altitude: day_by_day(X, y, station, a, common=False),
            "space and time": lambda a=altitude: whole_year(X, y, station, a),
        }
        for name, predicted in models.items():
            begin = time.perf_counter()
            score, error, covered = scored(y, *predicted())
            seconds = time.perf_counter() - begin
            name += ", altitude" * altitude
            print(f"{name:<42}{error:>8.4f}{score:>8.4f}{covered:>10.3f}{seconds:>9.0f}", flush=True)


def temperature(path: Path, seeds: int) -> None:
    """133,372 rows in 4 dimensions."""
    table = pd.read_parquet(path / "global_daily_temp_jul2011.parquet")
    n_rows = len(table)
    table = table.dropna()
    lon, lat = np.radians(table["lon"]), np.radians(table["lat"])
    day = (table["date"] - table["date"].min()).dt.days
    chord = (np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat))
    columns = (*(6_371 * c for c in chord), day, table["elevation"] / 1e3)
    X = np.column_stack([np.asarray(c, dtype=float) for c in columns])
    y, station = np.asarray(table["temp_c"], dtype=float), np.asarray(table["station"])
    kernels = {
        "no kernel given": None,
        "what stays, and weather": OnAxes(Matern(1_000.0, 80.0), (0, 1, 2))
        + Separable(Matern(1_000.0, 20.0), Matern(3.0, nu=0.5)),
    }

    def fit(kernel: Kernel | None, part: np.ndarray) -> tuple[SpatialRegressor, str]:
        begin, cpu = time.perf_counter(), time.process_time()
        model = SpatialRegressor(kernel, covariates=[4]).fit(X[part], y[part])
        return model, f"{time.perf_counter() - begin:.0f} s ({time.process_time() - cpu:.0f} s of one core's work)"

    names = np.unique(station)
    test = np.isin(station, np.random.default_rng(0).choice(names, len(names) // 10, replace=False))
    print(f"{n_rows:,} rows, {len(y):,} with all values; {test.sum():,} rows of {len(names) // 10:,} stations left "
          f"out, standard deviation {np.std(y[test]):.2f}")  # fmt: skip
    for what, kernel in kernels.items():
        model, seconds = fit(kernel, np.ones(len(y), dtype=bool))
        print(f"{what}: fit of all rows with tuning in {seconds}\n  {model.kernel_}")
        print(f"  {model.choices_['features']}\n  {model.choices_['solver']}", flush=True)
        model, seconds = fit(kernel, ~test)
        score, error, covered = scored(y[test], *model.predict(X[test], return_std=True, include_noise=True))
        print(f"  stations left out: RMSE {error:.3f}, CRPS {score:.3f}, coverage {covered:.3f}", flush=True)


PARTS = {
    "leverage": leverage,
    "learned": learned,
    "nonstationary": nonstationary,
    "kin40k": kin40k,
    "pm10": pm10,
    "temperature": temperature,
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    if args.path is None:
        print("no directory of data was given: nothing to compare")
        return
    warnings.simplefilter("ignore")
    for name in args.only:
        print(f"\n{name}")
        PARTS[name](args.path, args.seeds)


if __name__ == "__main__":
    main()
