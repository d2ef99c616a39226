"""Sparse spectrum: frequencies and masses as hyperparameters, learned by the evidence (Lazaro-Gredilla et al., 2010).

A few waves that the data chose can do the work of hundreds that chance chose. They can also fit noise: so they have a
prior, the spectral density of the tuned kernel; rows are held out in blocks, the ascent ends when these are predicted
no better; and where it never helped, the waves that it started from are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.choices import Choice
from bochner.device import device_throughout
from bochner.exceptions import FallbackWarning, TuningWarning, warn
from bochner.features import FeatureMap
from bochner.frequencies import Frequencies, rule_named
from bochner.inference.adaptive import limits
from bochner.inference.adaptive.ascent import Point, climb, parts_of, with_missing
from bochner.inference.adaptive.learnable import LearnableWaves, density_of
from bochner.inference.adaptive.pool import Adapted
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task, residual_of
from bochner.kernels import Kernel, spectral_peaks, total_variance
from bochner.random import generator


def learned_waves(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Waves that the evidence of the data has moved, started from a tuned kernel."""
    obs, data, settings = task.obs, task.data, task.settings
    m = number_of_learned(settings, len(obs), task.dim)
    starts = starts_of(settings.seed, kernel, m, obs)
    why = _hindrance(obs, noise_variance)
    if why is not None:
        unit = np.ones(task.dim)
        waves = LearnableWaves(starts[0][1], unit, density_of(kernel, starts[0][1].omega, unit))
        choice = Choice("n_frequencies", m, f"not learned ({why}); as the kernel draws them")
        return Adapted(waves.at(waves.start), noise_variance, m, (choice,))
    parts = parts_of(obs.rows.coords, 2 * m, settings.seed)
    variance = total_variance(kernel)
    climbs = []
    for name, origin in starts:
        unit = np.median(np.abs(starts[0][1].omega), axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        learnable = LearnableWaves(origin, unit, density_of(kernel, origin.omega, unit))
        with device_throughout(4.0 * limits.ASCENT_ITERATIONS * len(parts[0]) * (2 * m) ** 2):
            done = climb(
                learnable, data, parts, noise_variance, variance, learn_noise=settings.learns_noise, reml=settings.reml
            )
        climbs.append((name, done))
    name, best = max(climbs, key=lambda c: c[1].best.score)
    point = with_missing(best.best, data, parts, variance)
    told = f"learned from {best.n_rows:,} rows in {best.n_iterations} iterations, from {name}"
    verdict = judged(climbs[0][1].start, point, told, "waves as the kernel draws them", n_numbers=m)
    return with_remainder(verdict, noise_variance, m)


def _hindrance(obs: Observations, noise_variance: float) -> str | None:
    """Why no waves can be learned, if so."""
    if len(obs) < limits.MIN_LEARNING_ROWS:
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


@dataclass(frozen=True)
class Verdict:
    """The features that are kept after learning, and why."""

    features: FeatureMap
    noise_variance: float
    reason: str
    learned: bool


def judged(
    first: Point, point: Point, told: str, instead: str, *, n_numbers: int | None = None, sure: float = limits.SURE
) -> Verdict:
    """The learned features, or what they started from where held-out rows are predicted no better by them."""
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
    if learned > 0.05 and gain < limits.PARTED * learned:
        fewer = f"Use fewer frequencies (n_frequencies < {n_numbers})."
        advice = "Compare it with others by cross_validate()." if n_numbers is None else fewer
        warn(
            f"learning gained {learned:.3f} a row on the rows learned from, but {'only ' if gain > 0 else ''}"
            f"{gain:.3f} on held-out rows: part of it is noise that was learned. {advice}",
            TuningWarning,
        )
    missing = float(getattr(point.features, "missing", 0.0))
    carried = f"; {missing:.3g} of variance carried beside the waves" if missing else ""
    reason = f"{told}; log score of held-out rows {first.score:.4f} before, {point.score:.4f} after{carried}"
    return Verdict(point.features, point.noise_variance, reason, learned=True)


def with_remainder(verdict: Verdict, tuned: float, m: int) -> Adapted:
    """Features with the noise variance of the tuned kernel; noise beyond it is reported as unresolved field variance.

    Observations are predicted as before; but the surface is not known better than its waves know it.
    """
    more = verdict.noise_variance - tuned
    if more <= 0:
        choice = Choice("n_frequencies", m, verdict.reason)
        return Adapted(verdict.features, verdict.noise_variance, m, (choice,))
    missing = float(getattr(verdict.features, "missing", 0.0)) + more
    carried = replace(verdict.features, missing=missing)  # type: ignore[type-var]
    reason = f"{verdict.reason}; {more:.3g} of variance, noise to the waves, is carried as field"
    return Adapted(carried, tuned, m, (Choice("n_frequencies", m, reason),))


def number_of_learned(settings: Settings, n_rows: int, dim: int) -> int:
    """Number of waves: as asked, or one for every so many rows and numbers to be learned."""
    if settings.n_frequencies != "auto":
        return int(settings.n_frequencies)
    return int(
        np.clip(n_rows // (limits.ROWS_PER_NUMBER * (dim + 1)), limits.MIN_LEARNED_WAVES, limits.MAX_LEARNED_WAVES)
    )


def starts_of(seed: int, kernel: Kernel, m: int, obs: Observations) -> list[tuple[str, Frequencies]]:
    """Waves to start from: a draw of the kernel's; peaks of the data's own spectrum, with a draw beside them."""
    dim = obs.rows.coords.shape[1]
    rule = rule_named("quasi" if dim <= 3 else "orthogonal")
    drawn = rule.draw(kernel, m, dim, generator(seed, "frequencies"))
    starts = [("the kernel's own draw", drawn)]
    if dim <= 3 and m >= 2 and len(obs) >= limits.MIN_LEARNING_ROWS and not follows_trend(obs):
        n_peaks = min(limits.MAX_PEAKS, max(1, m // 2))
        peaks = spectral_peaks(obs.rows.coords, residual_of(obs), n_peaks)
        variance = total_variance(kernel)
        mass = limits.PEAK_SHARE * variance * peaks.mass / peaks.mass.sum()
        rest = rule.draw(kernel, m - n_peaks, dim, generator(seed, "frequencies")) if m > n_peaks else None
        waves = Frequencies(peaks.omega, mass)
        if rest is not None:
            waves = waves + Frequencies(rest.omega, (1 - limits.PEAK_SHARE) * rest.mass)
        starts.append(("peaks of the data's spectrum", waves))
    return starts


def follows_trend(obs: Observations) -> bool:
    """Whether the trend leaves nothing of the responses."""
    return bool(np.ptp(residual_of(obs)) <= 1e-10 * np.max(np.abs(obs.y)))
