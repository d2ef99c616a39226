"""Spectra that the evidence learns: waves of their own, pairs of waves, or a spectrum that varies in space.

Sparse spectrum: frequencies and masses are hyperparameters (Lazaro-Gredilla et al., 2010). A few waves that the data
chose can do the work of hundreds that chance chose. They can also fit noise: so they have a prior, the spectral density
of the tuned kernel; rows are held out in blocks, the ascent ends when these are predicted no better; and where it never
helped, the waves that it started from are kept.

A field that is not stationary has length scales and variances that are surfaces in up to three dimensions, and pairs of
frequencies beyond, learned like single ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.choices import Choice
from bochner.device import device_throughout
from bochner.exceptions import FallbackWarning, KernelError, PartError, TuningWarning, warn
from bochner.features import (
    FeatureMap,
    FourierMap,
    LocalSpectrumMap,
    NystroemMap,
    PairedMap,
    choose_landmarks,
    local_spectrum,
)
from bochner.frequencies import Frequencies, PairedFrequencies, lattice_frequencies, rule_named, tied
from bochner.inference.fits.newton import Data
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task, residual_of
from bochner.inference.schemes.ascent import (
    ASCENT_ITERATIONS,
    Evidence,
    LearnableSpectrum,
    LearnableWaves,
    Point,
    climb,
    density_of,
    held_out_scores,
    maximise,
    omegas_of,
    parts_of,
    with_missing,
)
from bochner.kernels import Kernel, Matern, SquaredExponential, spectral_density, spectral_peaks, total_variance
from bochner.random import generator

MIN_LEARNING_ROWS = 40  # rows; of fewer none can be spared to be held out
LEARNING_ROWS = 1_000  # from which a spectrum that varies is learned, at most


@dataclass(frozen=True)
class Adapted:
    """Features, the noise variance that goes with them, and what was decided on the way."""

    features: FeatureMap
    noise_variance: float
    n_frequencies: int
    choices: tuple[Choice, ...]
    kernel: Kernel | None = None  # where it was changed


@dataclass(frozen=True)
class Verdict:
    """The features that are kept after learning, and why."""

    features: FeatureMap
    noise_variance: float
    reason: str
    learned: bool


# ------------------------------------------------------------------------------------------------- waves, and pairs


def learned_waves(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves that the evidence of the data has moved, started from a tuned kernel."""
    m = number_of_learned(task.settings, len(task.obs), task.dim)
    starts = starts_of(task.settings.seed, kernel, m, task.obs)
    why = _hindrance(task.obs, noise_variance)
    if why is not None:
        return _as_drawn(starts[0][1], noise_variance, why)
    return _climbed(task, kernel, noise_variance, starts)


def learned_pairs(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Pairs of frequencies likewise, started from nearly equal ones."""
    drawn = _drawn_for_pairs(task, kernel)
    apart = generator(task.settings.seed, "pairs").standard_normal(drawn.omega.shape)
    apart *= 0.1 * np.median(np.abs(drawn.omega), axis=0)
    near = PairedFrequencies(drawn.omega - apart, drawn.omega + apart, drawn.mass)
    return _climbed(task, kernel, noise_variance, [("nearly equal pairs", near)], PairedMap(tied(drawn)))


def _climbed(
    task: Task,
    kernel: Kernel,
    noise_variance: float,
    starts: Sequence[tuple[str, Frequencies | PairedFrequencies]],
    stationary: FeatureMap | None = None,
) -> Adapted:
    """The best that ascents from some starts reach, or the first start, or what is stationary in its place."""
    settings, variance, m = task.settings, total_variance(kernel), starts[0][1].n
    known, unknown = (task.data[rows] for rows in parts_of(task.obs.rows.coords, 2 * m, settings.seed))
    unit = np.median(np.abs(omegas_of(starts[0][1]).mean(axis=0)), axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    climbs, how = [], {"learn_noise": settings.learns_noise, "reml": settings.reml}
    for name, origin in starts:
        learnable = LearnableWaves(origin, unit, density_of(kernel, omegas_of(origin).mean(axis=0), unit))
        with device_throughout(4.0 * ASCENT_ITERATIONS * len(known) * (2 * m) ** 2):
            climbs.append((name, *climb(learnable, known, unknown, noise_variance, variance, **how)))
    name, _, best = max(climbs, key=lambda c: c[2].score)
    first, instead = climbs[0][1], "waves as the kernel draws them"
    if stationary is not None:
        scores = held_out_scores(stationary, first.noise_variance, known, unknown)
        first, instead = replace(first, features=stationary, scores=scores), "equal pairs as the kernel draws them"
    told = f"learned from {len(known):,} rows in {best.n_iterations} iterations, from {name}"
    verdict = judged(first, with_missing(best, known, unknown, variance), told, instead, n_numbers=m)
    return with_remainder(verdict, noise_variance, m)


def _as_drawn(waves: Frequencies, noise_variance: float, why: str) -> Adapted:
    """Waves of the kernel itself, where nothing can be learned."""
    choice = Choice("n_frequencies", waves.n, f"not learned ({why}); as the kernel draws them")
    return Adapted(FourierMap(waves), noise_variance, waves.n, (choice,))


def _hindrance(obs: Observations, noise_variance: float) -> str | None:
    """Why no waves can be learned, if so."""
    if len(obs) < MIN_LEARNING_ROWS:
        return f"only {len(obs)} rows"
    if follows_trend(obs):
        return "the response is constant, or follows the trend"
    if noise_variance + float(np.min(obs.error)) > 0:
        return None
    warn(
        "features='learned' with noise_variance=0: without noise every set of waves fits, so none can be learned. The "
        "kernel's own are kept; leave noise_variance to be learned, or use features='exact'.",
        FallbackWarning,
    )
    return "no noise, so every set of waves fits"


def follows_trend(obs: Observations) -> bool:
    """Whether the trend leaves nothing of the responses."""
    return bool(np.ptp(residual_of(obs)) <= 1e-10 * np.max(np.abs(obs.y)))


def number_of_learned(settings: Settings, n_rows: int, dim: int) -> int:
    """Number of waves: as asked, or one for every ten rows of each number to be learned, between 10 and 300."""
    if settings.n_frequencies != "auto":
        return int(settings.n_frequencies)
    return int(np.clip(n_rows // (10 * (dim + 1)), 10, 300))


def starts_of(seed: int, kernel: Kernel, m: int, obs: Observations) -> list[tuple[str, Frequencies]]:
    """Waves to start from: a draw of the kernel's; peaks of the data's own spectrum, with a draw beside them."""
    dim = obs.rows.coords.shape[1]
    rule = rule_named("quasi" if dim <= 3 else "orthogonal")
    drawn = rule.draw(kernel, m, dim, generator(seed, "frequencies"))
    if dim > 3 or m < 2 or len(obs) < MIN_LEARNING_ROWS or follows_trend(obs):
        return [("the kernel's own draw", drawn)]
    n_peaks, share = min(10, m // 2), 0.8  # peaks at most, and of the variance that they are given at first
    peaks = spectral_peaks(obs.rows.coords, residual_of(obs), n_peaks)
    rest = rule.draw(kernel, m - n_peaks, dim, generator(seed, "frequencies"))
    waves = Frequencies(peaks.omega, share * total_variance(kernel) * peaks.mass / peaks.mass.sum())
    waves = waves + Frequencies(rest.omega, (1 - share) * rest.mass)
    return [("the kernel's own draw", drawn), ("peaks of the data's spectrum", waves)]


def judged(
    first: Point, point: Point, told: str, instead: str, *, n_numbers: int | None = None, sure: float = 1.0
) -> Verdict:
    """The learned features, or what they started from where held-out rows are predicted no better by them.

    The gain must exceed `sure` standard errors, as it was chosen among many.
    """
    gain, error = point.gain_over(first)
    if not gain > sure * error:
        warn(
            f"learning did not help: held-out rows have a log score of {first.score:.4f} with {instead} and "
            f"{point.score:.4f} with learned ones, a gain of {gain:.4f} with a standard error of {error:.4f}. The "
            f"former are kept; use more rows, or other features.",
            FallbackWarning,
        )
        kept = f"{instead}; learned ones predicted held-out rows no better ({first.score:.4f} before)"
        return Verdict(first.features, first.noise_variance, kept, learned=False)
    learned = point.evidence - first.evidence
    if learned > 0.05 and gain < 0.2 * learned:
        fewer = f"Use fewer frequencies (n_frequencies < {n_numbers})."
        advice = "Compare it with others by cross_validate()." if n_numbers is None else fewer
        warn(
            f"learning gained {learned:.3f} a row on the rows learned from, but {'only ' if gain > 0 else ''}"
            f"{gain:.3f} on held-out rows: part of it is noise that was learned. {advice}",
            TuningWarning,
        )
    missing = _missing(point.features)
    carried = f"; {missing:.3g} of variance carried beside the waves" if missing else ""
    reason = f"{told}; log score of held-out rows {first.score:.4f} before, {point.score:.4f} after{carried}"
    return Verdict(point.features, point.noise_variance, reason, learned=True)


def with_remainder(verdict: Verdict, tuned: float, m: int) -> Adapted:
    """Features with the noise variance of the tuned kernel; noise beyond it is reported as unresolved field variance.

    Observations are predicted as before; but the surface is not known better than its waves know it.
    """
    features, noise, reason = verdict.features, verdict.noise_variance, verdict.reason
    more = noise - tuned
    if more > 0:
        features, noise = replace(features, missing=_missing(features) + more), tuned  # type: ignore[type-var]
        reason = f"{reason}; {more:.3g} of variance, noise to the waves, is carried as field"
    return Adapted(features, noise, m, (Choice("n_frequencies", m, reason),))


def _missing(features: FeatureMap) -> float:
    return float(getattr(features, "missing", 0.0))


def _drawn_for_pairs(task: Task, kernel: Kernel) -> Frequencies:
    m = number_of_learned(task.settings, len(task.obs), 2 * task.dim)
    return rule_named("orthogonal").draw(kernel, m, task.dim, generator(task.settings.seed, "frequencies"))


# --------------------------------------------------------------------------------------- a spectrum that varies


def varying_waves(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Features of a field whose length scale and variance vary in space, started from a tuned kernel."""
    n, obs = len(task.obs), task.obs
    if n < MIN_LEARNING_ROWS:
        raise PartError(
            f"features='nonstationary' with {n} rows; it needs {MIN_LEARNING_ROWS} to learn what varies. Use "
            f"features='exact'."
        )
    if follows_trend(obs):
        return _as_drawn(_drawn_for_pairs(task, kernel), noise_variance, "the response is constant, or its trend")
    if task.dim > 3:
        return learned_pairs(task, kernel, noise_variance)
    try:
        spectral_density(kernel, np.ones((1, task.dim)))
    except KernelError as error:
        needed = "a kernel with a spectral density along every coordinate, e.g. Matern()"
        raise PartError(f"features='nonstationary' needs {needed}. {error}") from error
    kernels = [kernel]
    if task.settings.kernel is None and isinstance(kernel, Matern):
        # only by being rough can a stationary field have short and long waves at once; one that varies need not be. A
        # rougher one is not tried: what its few waves leave out would pass for the noise
        kernels += [kernel.replace(nu=nu) for nu in (1.5, 2.5) if nu > kernel.nu]
    found = [(candidate, *_learn(task, candidate, noise_variance)) for candidate in kernels]
    chosen, _, best = max(found, key=lambda f: f[2].evidence)
    assert isinstance(best.features, LocalSpectrumMap)
    low, high = np.exp(np.quantile(best.features.at(obs.rows.coords).log_length, (0.02, 0.98)))
    told = f"length scales {low:.2g} to {high:.2g} times the kernel's, learned from {min(n, LEARNING_ROWS):,} rows"
    # two dozen numbers with a prior hardly learn noise, and one part of the rows says little: only a clear loss counts
    verdict = judged(found[0][1], best, told, "a stationary spectrum", sure=-1.0)
    kept, noise = verdict.features, verdict.noise_variance
    if not verdict.learned:
        chosen = kernel
    elif n <= LEARNING_ROWS:  # some more steps, with the rows that were left out
        evidence = _evidence(task, best.features, task.data, best.noise_variance)
        x, noise = evidence.split(maximise(evidence, iterations=25))
        kept = evidence.learnable.at(x)
    assert isinstance(kept, LocalSpectrumMap)
    features = refined(task, chosen, kept)
    m = len(features.omega)
    text = f"{m:,} waves of a lattice with amplitudes that vary in space: {verdict.reason}"
    return Adapted(features, noise, m, (Choice("n_frequencies", m, text=text),), chosen)


def _learn(task: Task, kernel: Kernel, noise_variance: float) -> tuple[Point, Point]:
    """Where a kernel starts, stationary, and where it ends, on rows that leave some out to judge by."""
    coords, (low, high), n_waves = task.obs.rows.coords, task.covered_box, 200 if task.dim == 1 else 600
    parts = parts_of(coords, 2 * n_waves, task.settings.seed, LEARNING_ROWS)
    known, unknown = (task.data[rows] for rows in parts)
    shortest = stretched(kernel, 0.4)  # for which waves are chosen before anything is learned
    waves = lattice_frequencies(kernel + shortest, high - low, n_frequencies=n_waves)
    origin = local_spectrum(kernel, waves, surface_over(task.obs, task.settings.seed), (low, high))
    evidence = _evidence(task, origin, known, noise_variance)
    return evidence.at(evidence.start, unknown), evidence.at(maximise(evidence, iterations=40), unknown)


def _evidence(task: Task, origin: LocalSpectrumMap, data: Data, noise_variance: float) -> Evidence:
    s = task.settings
    return Evidence(LearnableSpectrum(origin), data, noise_variance, learn_noise=s.learns_noise, reml=s.reml)


def surface_over(obs: Observations, seed: int, reach: float = 0.4) -> NystroemMap:
    """Smooth basis functions over the places; `reach` is their length scale, in extents."""
    coords = obs.rows.coords
    extent = np.ptp(coords, axis=0)
    lengths = reach * np.where(extent > 0, extent, max(float(extent.max()), 1e-300))
    landmarks = choose_landmarks(coords, (8, 16, 27)[coords.shape[1] - 1], obs.weight, seed)
    return NystroemMap.at(SquaredExponential(tuple(float(length) for length in lengths)), landmarks)


def refined(task: Task, kernel: Kernel, learned: LocalSpectrumMap) -> LocalSpectrumMap:
    """The same field with the waves that it needs, now that its length scales are known."""
    local, (low, high) = learned.at(task.obs.rows.coords), task.covered_box
    first, *others = np.exp(np.quantile(local.log_length, (0.02, 0.2, 0.5, 0.8)))
    mixed = stretched(kernel, float(first))
    for factor in others:
        mixed = mixed + stretched(kernel, float(factor))
    if task.settings.n_frequencies == "auto":
        waves = lattice_frequencies(mixed, high - low, missing=2e-3, maximum=1_500)
    else:
        waves = lattice_frequencies(mixed, high - low, n_frequencies=int(task.settings.n_frequencies))
    whole = local_spectrum(kernel, waves, learned.surface, (low, high))
    return replace(whole, stretch=learned.stretch, swell=learned.swell)


def stretched(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with all that measures lags multiplied, k(lag / factor): its whole spectrum moves."""
    along = np.array([h.role.power_of_length for h in kernel.hyperparameters])
    return kernel.with_theta(kernel.theta + np.log(factor) * along)
