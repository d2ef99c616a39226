"""Sparse spectrum: frequencies and masses as hyperparameters, learned by the evidence (Lazaro-Gredilla et al., 2010).

A few waves that the data chose can do the work of hundreds that chance chose. They can also fit noise: so they have a
prior, the spectral density of the tuned kernel; rows are held out in blocks, the ascent ends when these are predicted
no better; and where it never helped, the waves that it started from are kept.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import FallbackWarning, TuningWarning
from bochner.features import FeatureMap
from bochner.frequencies import Frequencies, rule_named
from bochner.inference.adaptive.ascent import Data, Point, climb, parts_of, with_missing
from bochner.inference.adaptive.learnable import LearnableWaves, density_of
from bochner.inference.observed.observations import Observations
from bochner.inference.schemes.choose import Spec, checked_number
from bochner.kernels import Kernel, spectral_peaks, total_variance
from bochner.random import generator

FEWEST_ROWS = 40  # below, none can be spared to be held out
FEWEST, MOST = 10, 300
ROWS_PER_NUMBER = 10  # rows for every number to be learned, when their number is chosen
MOST_PEAKS = 10
PEAK_SHARE = 0.8  # of the variance, given to the peaks of the data's spectrum at first
SURE = 1.0  # standard errors that the gain on held-out rows must exceed: it was chosen among many
PARTED = 0.2  # of the gain on the rows learned from, that rows held out should gain at least


def learned_features(
    spec: Spec,
    kernel: Kernel,
    noise_variance: float,
    data: Data,
    obs: Observations,
    *,
    learn_noise: bool,
    reml: bool,
) -> tuple[FeatureMap, float, str, int]:
    """Learned waves, their noise variance, what was done, and their number."""
    coords = obs.rows.coords
    n, dim = coords.shape
    m = number_of_learned(spec, n, dim)
    starts = starts_of(spec, kernel, m, obs)
    why = _hindrance(obs, noise_variance)
    if why is not None:
        features = LearnableWaves(starts[0][1], np.ones(dim), density_of(kernel, starts[0][1].omega, np.ones(dim)))
        return features.at(features.start), noise_variance, f"{m}: not learned ({why}); as the kernel draws them", m
    parts = parts_of(coords, 2 * m, spec.seed)
    climbs = []
    for name, origin in starts:
        unit = np.median(np.abs(starts[0][1].omega), axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        learnable = LearnableWaves(origin, unit, density_of(kernel, origin.omega, unit))
        done = climb(learnable, data, parts, noise_variance, total_variance(kernel), learn_noise=learn_noise, reml=reml)
        climbs.append((name, done))
    first = climbs[0][1].start
    name, best = max(climbs, key=lambda c: c[1].best.score)
    point = with_missing(best.best, data, parts, total_variance(kernel))
    told = f"{m}: learned from {best.n_rows:,} rows in {best.n_iterations} iterations, from {name}"
    return with_remainder(
        noise_variance, *judged(first, point, told, m, "waves as the kernel draws them", stacklevel=7)
    )


def _hindrance(obs: Observations, noise_variance: float) -> str | None:
    """Why no waves can be learned, if so."""
    if len(obs) < FEWEST_ROWS:
        return f"only {len(obs)} rows"
    if follows_trend(obs):
        return "the response is constant, or follows the trend"
    if noise_variance + float(np.min(obs.error)) > 0:
        return None
    warnings.warn(
        "features='learned' with noise_variance=0: without noise every set of waves fits, so none can be learned. The "
        "kernel's own are kept; leave noise_variance to be learned, or use features='exact'.",
        FallbackWarning,
        stacklevel=8,
    )
    return "no noise, so every set of waves fits"


def judged(
    first: Point, point: Point, told: str, m: int, instead: str, *, sure: float = SURE, stacklevel: int
) -> tuple[FeatureMap, float, str, int]:
    """The learned features, or what they started from where held-out rows are predicted no better by them."""
    gain, error = point.gain_over(first)
    if not gain > sure * error:
        warnings.warn(
            f"learning did not help: held-out rows have a log score of {first.score:.4f} with {instead} and "
            f"{point.score:.4f} with learned ones, a gain of {gain:.4f} with a standard error of {error:.4f}. The "
            f"former are kept; use more rows, or other features.",
            FallbackWarning,
            stacklevel=stacklevel,
        )
        kept = f"{m}: {instead}; learned ones predicted held-out rows no better ({first.score:.4f} before)"
        return first.features, first.noise_variance, kept, m
    learned = point.evidence - first.evidence
    if learned > 0.05 and gain < PARTED * learned:
        advice = f"Use fewer frequencies (n_frequencies < {m})." if m else "Compare it with others by cross_validate()."
        warnings.warn(
            f"learning gained {learned:.3f} a row on the rows learned from, but {'only ' if gain > 0 else ''}"
            f"{gain:.3f} on held-out rows: part of it is noise that was learned. {advice}",
            TuningWarning,
            stacklevel=stacklevel,
        )
    missing = float(getattr(point.features, "missing", 0.0))
    carried = f"; {missing:.3g} of variance carried beside the waves" if missing else ""
    return point.features, point.noise_variance, (
        f"{told}; log score of held-out rows {first.score:.4f} before, {point.score:.4f} after{carried}"
    ), m  # fmt: skip


def with_remainder(
    tuned: float, features: FeatureMap, noise_variance: float, told: str, m: int
) -> tuple[FeatureMap, float, str, int]:
    """The same with the noise of the tuned kernel: what few waves took for more is field, of which they know nothing.

    Observations are predicted as before; but the surface is not known better than its waves know it.
    """
    more = noise_variance - tuned
    if more <= 0:
        return features, noise_variance, told, m
    missing = float(getattr(features, "missing", 0.0)) + more
    carried = replace(features, missing=missing)  # type: ignore[type-var]
    return carried, tuned, f"{told}; {more:.3g} of variance, noise to the waves, is carried as field", m


def number_of_learned(spec: Spec, n_rows: int, dim: int) -> int:
    """Number of waves: as asked, or one for every so many rows and numbers to be learned."""
    if spec.n_frequencies != "auto":
        return checked_number(spec.n_frequencies)
    return int(np.clip(n_rows // (ROWS_PER_NUMBER * (dim + 1)), FEWEST, MOST))


def starts_of(spec: Spec, kernel: Kernel, m: int, obs: Observations) -> list[tuple[str, Frequencies]]:
    """Waves to start from: a draw of the kernel's; peaks of the data's own spectrum, with a draw beside them."""
    dim = obs.rows.coords.shape[1]
    rule = rule_named("quasi" if dim <= 3 else "orthogonal")
    drawn = rule.draw(kernel, m, dim, generator(spec.seed, "frequencies"))
    starts = [("the kernel's own draw", drawn)]
    if dim <= 3 and m >= 2 and len(obs) >= FEWEST_ROWS and not follows_trend(obs):
        n_peaks = min(MOST_PEAKS, max(1, m // 2))
        peaks = spectral_peaks(obs.rows.coords, without_trend(obs), n_peaks)
        variance = total_variance(kernel)
        mass = PEAK_SHARE * variance * peaks.mass / peaks.mass.sum()
        rest = rule.draw(kernel, m - n_peaks, dim, generator(spec.seed, "frequencies")) if m > n_peaks else None
        waves = Frequencies(peaks.omega, mass)
        if rest is not None:
            waves = waves + Frequencies(rest.omega, (1 - PEAK_SHARE) * rest.mass)
        starts.append(("peaks of the data's spectrum", waves))
    return starts


def follows_trend(obs: Observations) -> bool:
    """Whether the trend leaves nothing of the responses."""
    return bool(np.ptp(without_trend(obs)) <= 1e-10 * np.max(np.abs(obs.y)))


def without_trend(obs: Observations) -> FloatArray:
    """Responses less their least-squares trend."""
    if not obs.n_trend:
        return obs.y
    root = np.sqrt(obs.weight)
    coef = np.linalg.lstsq(obs.rows.trend * root[:, None], obs.y * root, rcond=None)[0]
    return np.asarray(obs.y - obs.rows.trend @ coef)
