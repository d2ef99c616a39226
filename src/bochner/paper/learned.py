"""Learned frequencies: the spectrum that the data have.

A stationary kernel is a guess at the spectrum. Treat the frequencies and their masses as parameters instead, and
move them along the gradient of the log evidence, which is closed form: the derivative of a wave is a wave. For a field
whose spectrum is two narrow peaks, learned frequencies find the peaks (A), and twelve of them predict better
than hundreds of random ones (B).

The price is overfitting. On data that are little more than noise the evidence of the rows learned from keeps rising
while rows held out are predicted worse and worse (C). So the library puts a prior on the frequencies, holds rows out,
stops when they are predicted no better, and goes back to the kernel's own waves, saying so, where
learning did not help.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from bochner.arrays import FloatArray
from bochner.families import Gaussian
from bochner.features import FourierMap, Rows
from bochner.frequencies import Frequencies, MonteCarlo, QuasiMonteCarlo
from bochner.inference import Observations, Responses, Settings
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.observed.task import Task
from bochner.inference.schemes.ascent import Evidence, LearnableWaves, held_out_scores
from bochner.inference.schemes.learned_spectra import learned_waves
from bochner.kernels import Matern
from bochner.paper import style
from bochner.paper.exhibit import Cell, Claim, Exhibit, Table
from bochner.random import generator

KERNEL = Matern(0.5, 1.2, nu=2.5)
PEAKS = np.array([[3.0, 1.0], [-1.5, 4.0]])
NOISE_VARIANCE = 0.09
N_ROWS, N_NEW, EXTENT = 300, 200, 10.0
RANDOM, LEARNED = (25, 50, 100, 200, 400), 12


def simulate(seed: int) -> tuple[Observations, Rows, FloatArray]:
    """Data of a field with two narrow peaks in its spectrum, new places, and the field there."""
    rng = generator(seed, "two peaks")
    coords = rng.uniform(-EXTENT / 2, EXTENT / 2, size=(N_ROWS + N_NEW, 2))
    omega = np.repeat(PEAKS, 6, axis=0) + 0.1 * rng.standard_normal((12, 2))
    field = FourierMap(Frequencies(omega, np.full(12, 0.1))).block(coords) @ rng.standard_normal(24)
    return (
        observations(coords[:N_ROWS], field[:N_ROWS], rng),
        Rows(coords[N_ROWS:], np.ones((N_NEW, 1))),
        field[N_ROWS:],
    )


def observations(coords: FloatArray, field: FloatArray, rng: np.random.Generator) -> Observations:
    """A field in noise."""
    n = len(field)
    y = field + rng.normal(0, np.sqrt(NOISE_VARIANCE), size=n)
    return Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


def learn(obs: Observations, seed: int) -> FourierMap:
    """Frequencies learned by the evidence, with all the guards of the library."""
    none, one = np.zeros(len(obs)), np.ones(len(obs))
    responses = Responses(Gaussian(), obs.rows, obs.y, size=one, offset=none, weight=one, error=none)
    task = Task.of(Settings(features="learned", n_frequencies=LEARNED, seed=seed), responses)
    features = learned_waves(task, KERNEL, NOISE_VARIANCE).features
    assert isinstance(features, FourierMap)
    return features


def errors(seed: int) -> FloatArray:
    """RMSE of the field at new places: random frequencies first, learned ones last."""
    obs, new, field = simulate(seed)
    maps = [FourierMap(MonteCarlo().draw(KERNEL, m, 2, generator(seed, "waves"))) for m in RANDOM]
    means = [LinearEngine(f, NOISE_VARIANCE).fit(obs).posterior.mean(new) for f in (*maps, learn(obs, seed))]
    return np.array([np.sqrt(np.mean((mean - field) ** 2)) for mean in means])


def overfit(seed: int, iterations: int = 40) -> FloatArray:
    """Gain in log evidence of the rows learned from, and in log score of others, per row; without any guard."""
    rng = generator(seed, "noise")
    coords = rng.uniform(-2, 2, size=(120, 2))
    obs = observations(coords, 0.2 * np.sin(coords[:, 0]), rng)
    known, unknown = obs[slice(60)], obs[slice(60, None)]
    origin = QuasiMonteCarlo().draw(Matern(0.5, 0.1), 25, 2, generator(seed, "waves"))
    unit = np.median(np.abs(origin.omega), axis=0)
    learnable = LearnableWaves(origin, unit, lambda omega: (0.0, np.zeros_like(omega)))
    evidence = Evidence(learnable, known, NOISE_VARIANCE, learn_noise=True, reml=True)
    trace: list[tuple[float, float]] = []

    def look(point: FloatArray) -> None:
        x, noise = evidence.split(point)
        score = float(held_out_scores(learnable.at(x), noise, known, unknown).sum())
        trace.append((evidence(point)[0] / len(known), score))

    look(evidence.start)
    optimize.minimize(
        lambda p: tuple(-v for v in evidence(p)), evidence.start, jac=True, method="L-BFGS-B", callback=look,
        options={"maxiter": iterations, "maxcor": 20},
    )  # fmt: skip
    path = np.array(trace) - trace[0]
    return np.concatenate([path, np.tile(path[-1], (iterations + 1 - len(path), 1))])


def exhibit(seeds: int) -> Exhibit:
    """Learned frequencies beside random ones, and what they would learn of noise."""
    runs = range(2)
    found = np.array([errors(seed) for seed in runs])
    middle = found.mean(axis=0)
    waves = learn(simulate(0)[0], 0).frequencies
    near = np.min(np.linalg.norm(np.abs(waves.omega)[:, None] - np.abs(PEAKS), axis=2), axis=1) < 0.6
    share = float(waves.mass[near].sum() / waves.mass.sum())
    traces = np.array([overfit(seed) for seed in range(2)])
    end = traces[:, -1].mean(axis=0)
    best = float(traces[:, :, 1].max(axis=1).mean())
    claims = [
        Claim(
            "It is possible to treat ω as unknown parameters and infer their values: an empirical spectral "
            "distribution. It can achieve impressive results.",
            f"{LEARNED} learned frequencies have an RMSE of {middle[-1]:.2f} where {RANDOM[-1]} random ones have "
            f"{middle[-2]:.2f}; {share:.0%} of the variance lies within 0.6 of the two true peaks.",
            bool(middle[-1] < 0.7 * middle[-2] and share > 0.7),
        ),
        Claim(
            "Great care must be taken to avoid overfitting.",
            f"Without guards, 25 frequencies gain {end[0]:+.2f} a row on 60 rows of noise learned from and "
            f"{end[1]:+.2f} on 60 others, {best - end[1]:.2f} below the best point of the way.",
            bool(end[0] > 0.05 and end[1] < best - 0.02),
        ),
    ]
    rows: list[tuple[Cell, ...]] = [
        *(("random", m, float(v)) for m, v in zip(RANDOM, middle, strict=False)),
        ("learned", LEARNED, float(middle[-1])),
    ]
    table = Table(("frequencies", "n_frequencies", "rmse"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(found, waves, traces), (learn, errors, overfit))


@style.styled
def draw(found: FloatArray, waves: Frequencies, traces: FloatArray) -> Any:
    """Where the learned frequencies lie; errors; overfitting without guards."""
    figure, (left, middle, right) = style.panels(3, width=15.5, height=4.6)
    sign = np.where(waves.omega[:, 1:] < 0, -1.0, 1.0)
    random = MonteCarlo().draw(KERNEL, 200, 2, generator(0, "waves")).omega
    random = random * np.where(random[:, 1:] < 0, -1.0, 1.0)
    left.plot(*random.T, ".", color=style.GREY, markersize=4, label="random")
    left.scatter(*(sign * waves.omega).T, s=20 + 900 * waves.mass / waves.mass.sum(), color=style.BLUE, alpha=0.7,
                 label="learned, by mass")  # fmt: skip
    left.plot(*PEAKS.T, "+", color=style.RED, markersize=16, markeredgewidth=2.5, label="true peaks")
    left.set(xlim=(-7, 7), ylim=(-0.5, 7), xlabel="ω₁", ylabel="ω₂")
    left.legend(loc="upper right", fontsize=10.5)
    style.title(left, "frequencies")
    style.band(middle, RANDOM, found[:, :-1], color=style.GREY, marker="o", label="random")
    middle.plot([LEARNED], [found[:, -1].mean()], "D", color=style.BLUE, markersize=10, label=f"{LEARNED} learned")
    middle.set(xscale="log", yscale="log", xlabel="number of frequencies m", ylabel="RMSE of the field")
    style.ticks(middle, (LEARNED, *RANDOM))
    low, high = middle.get_ylim()
    style.ticks(middle, [v for v in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if low < v < high], "y")
    middle.legend()
    style.title(middle, "error at new places")
    steps = np.arange(traces.shape[1])
    right.plot(steps, traces[:, :, 0].mean(axis=0), color=style.BLUE, label="log evidence, rows learned from")
    right.plot(steps, traces[:, :, 1].mean(axis=0), "--", color=style.RED, label="log score, other rows")
    right.set(xlabel="iteration", ylabel="gain per row")
    right.legend(fontsize=11)
    style.title(right, "learning noise, without guards")
    return figure
