"""Ascent: features that move along the gradient of the log evidence, watched by rows that were held out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import optimize

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError, InputError, KernelError
from bochner.features import FeatureMap, FourierMap, LocalSpectrumMap, PairedMap
from bochner.frequencies import Frequencies, PairedFrequencies
from bochner.inference.fits.feature_evidence import frequency_gradient, pulled
from bochner.inference.fits.laplace import feature_point
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.fits.newton import Data, find_mode
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, spectral_density
from bochner.posterior import Latent
from bochner.posterior.response import Response
from bochner.random import generator
from bochner.validation import BlockKFold, gap_size

LogDensity = Callable[[FloatArray], tuple[float, FloatArray]]


class Learnable(Protocol):
    """Feature maps as a function of a vector x, with a prior on it."""

    @property
    def start(self) -> FloatArray:
        """Vector to start from."""

    def at(self, x: FloatArray) -> FeatureMap:
        """Feature map of a vector."""

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        """Gradient of the log evidence of a fit in x, and in its log noise variance."""

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Log prior density of a vector, up to a constant, and its gradient."""


@dataclass(frozen=True)
class LearnableWaves:
    """Frequencies, or pairs of them, and masses: x = [omega / unit, log mass relative to the start]."""

    origin: Frequencies | PairedFrequencies
    unit: FloatArray  # size of a step in omega, per axis
    density: LogDensity  # of omega (m, dim)

    @property
    def start(self) -> FloatArray:
        return np.r_[(omegas_of(self.origin) / self.unit).ravel(), np.zeros(self.origin.n)]

    def at(self, x: FloatArray) -> FourierMap | PairedMap:
        omegas, log_mass = self._split(x)
        mass = self.origin.mass * np.exp(log_mass)
        if len(omegas) == 1:
            return FourierMap(Frequencies(omegas[0], mass))
        return PairedMap(PairedFrequencies(omegas[0], omegas[1], mass))

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        features = fit.posterior.features
        if isinstance(features, FourierMap):
            by_omega, by_log_mass, by_noise = frequency_gradient(fit, obs, reml=reml, implicit=implicit)
            return np.r_[(by_omega * self.unit).ravel(), by_log_mass], by_noise
        assert isinstance(features, PairedMap)
        pairs, m = features.pairs, self.origin.n

        def pull(i: slice, phi: FloatArray, g: FloatArray, by_variance: FloatArray) -> FloatArray:
            coords, by_omega = obs.rows.coords[i], []
            for omega in (pairs.first, pairs.second):
                phase = coords @ omega.T
                by_phase = (g[:, m:] * np.cos(phase) - g[:, :m] * np.sin(phase)) * (0.5 * np.sqrt(pairs.mass))
                by_omega.append((by_phase.T @ coords * self.unit).ravel())
            by_log_mass = 0.5 * np.sum(g[:, :m] * phi[:, :m] + g[:, m:] * phi[:, m:], axis=0)
            return np.r_[(*by_omega, by_log_mass)]

        return pulled(pull, fit, obs, reml=reml, implicit=implicit)

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        omegas, log_mass = self._split(x)
        precision = 1 / 2.0**2  # of a log mass about its start
        values, slopes = zip(*(self.density(omega) for omega in omegas), strict=True)
        value = sum(values) - 0.5 * precision * float(np.sum(log_mass**2))
        return value, np.r_[(np.stack(slopes) * self.unit).ravel(), -precision * log_mass]

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = len(x) - self.origin.n
        return x[:n].reshape(omegas_of(self.origin).shape) * self.unit, x[n:]


def omegas_of(waves: Frequencies | PairedFrequencies) -> FloatArray:
    """The frequencies (1, m, dim), or both of each pair (2, m, dim)."""
    return np.stack([waves.omega] if isinstance(waves, Frequencies) else [waves.first, waves.second])


@dataclass(frozen=True)
class LearnableSpectrum:
    """Length scale and variance as surfaces: x = [coefficients of the one, of the other], standard normal a priori.

    The constants of both, the values of a stationary kernel, are left free.
    """

    origin: LocalSpectrumMap

    @property
    def start(self) -> FloatArray:
        return np.r_[self.origin.stretch, self.origin.swell]

    def at(self, x: FloatArray) -> LocalSpectrumMap:
        k = len(self.origin.stretch)
        return replace(self.origin, stretch=x[:k], swell=x[k:])

    def gradient(
        self, fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None
    ) -> tuple[FloatArray, float]:
        features = fit.posterior.features
        assert isinstance(features, LocalSpectrumMap)
        m = len(features.omega)

        def pull(i: slice, phi: FloatArray, g: FloatArray, by_variance: FloatArray) -> FloatArray:
            coords = obs.rows.coords[i]
            local, (cosines, sines) = features.at(coords), features.waves(coords)
            amplitude = local.amplitude
            by_amplitude = g[:, :m] * cosines + g[:, m:] * sines
            # what the waves do not carry is noise to the rows, so louder waves make for less of it
            missing = np.where(local.nominal > np.sum(amplitude**2, axis=1), by_variance, 0.0)
            by_amplitude -= 2 * missing[:, None] * amplitude
            by_length = np.sum(by_amplitude * local.slope, axis=1)
            by_swell = 0.5 * np.sum(by_amplitude * amplitude, axis=1) + missing * local.nominal
            return np.r_[local.basis.T @ by_length, local.basis.T @ by_swell]

        return pulled(pull, fit, obs, reml=reml, implicit=implicit)

    def log_prior(self, x: FloatArray) -> tuple[float, FloatArray]:
        k = len(self.origin.stretch)
        precision = np.repeat([1 / 1.0**2, 1 / 0.7**2], k)  # of log length scale and of log variance
        precision[[0, k]] = 0.0
        return -0.5 * float(np.sum(precision * x**2)), -precision * x


def density_of(kernel: Kernel, start: FloatArray, unit: FloatArray) -> LogDensity:
    """Prior of frequencies: the kernel's spectral density, or a wide one about the start where it has none."""
    try:
        spectral_density(kernel, start[:1])
    except KernelError:
        return lambda omega: (
            -0.5 * float(np.sum(((omega - start) / unit) ** 2)),
            -(omega - start) / unit**2,
        )

    def log_density(omega: FloatArray) -> FloatArray:
        return np.log(np.maximum(spectral_density(kernel, omega), 1e-300))

    def density(omega: FloatArray) -> tuple[float, FloatArray]:
        slope = np.empty_like(omega)
        for j in range(omega.shape[1]):
            step = np.zeros(omega.shape[1])
            step[j] = 1e-4 * unit[j]
            slope[:, j] = (log_density(omega + step) - log_density(omega - step)) / (2 * step[j])
        return float(np.sum(log_density(omega))), slope

    return density


logger = logging.getLogger("bochner")

GRAM_WORK = 2.5e9  # multiplications of one Gram while something is learned: rows times columns squared, about a second
ASCENT_ITERATIONS = 200  # of one ascent, at most


@dataclass(frozen=True)
class Point:
    """Features and noise at one place of the ascent, and how well they do."""

    features: FeatureMap
    noise_variance: float
    evidence: float  # of the rows learned from, per row
    scores: FloatArray  # log density of each row held out, times its share of the weight
    n_iterations: int = 0  # after which it was reached

    @property
    def score(self) -> float:
        """Mean log density of the rows held out."""
        return float(self.scores.sum())

    def gain_over(self, other: Point) -> tuple[float, float]:
        """Gain in score over another point, and the standard error of that gain."""
        gain = self.scores - other.scores
        return float(gain.sum()), float(np.sqrt(len(gain)) * np.std(gain))


class Evidence:
    """Log evidence and prior of learnable features, with gradient in [x, log noise variance]."""

    def __init__(self, learnable: Learnable, data: Data, noise_variance: float, *, learn_noise: bool, reml: bool):
        self.learnable, self.data, self.reml = learnable, data, reml
        self.noise_variance, self.learn_noise = noise_variance, learn_noise and noise_variance > 0
        self.eta: FloatArray | None = None

    @property
    def start(self) -> FloatArray:
        return np.r_[self.learnable.start, [np.log(self.noise_variance)] if self.learn_noise else []]

    def split(self, point: FloatArray) -> tuple[FloatArray, float]:
        """Vector of the features and noise variance of a point."""
        return (point[:-1], float(np.exp(point[-1]))) if self.learn_noise else (point, self.noise_variance)

    def at(self, vector: FloatArray, unknown: Data, n_iterations: int = 0) -> Point:
        """Features of a vector, with their evidence (without the prior) and their scores on rows held out."""
        x, noise = self.split(vector)
        features = self.learnable.at(x)
        value = self._fit(features, noise)[0] / len(self.data)
        return Point(features, noise, value, held_out_scores(features, noise, self.data, unknown), n_iterations)

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        x, noise_variance = self.split(point)
        value, fit, obs, implicit = self._fit(self.learnable.at(x), noise_variance)
        reml = self.reml or implicit is not None
        gradient, by_noise = self.learnable.gradient(fit, obs, reml=reml, implicit=implicit)
        more, slope = self.learnable.log_prior(x)
        return value + more, np.r_[gradient + slope, [by_noise] if self.learn_noise else []]

    def _fit(
        self, features: FeatureMap, noise_variance: float
    ) -> tuple[float, LinearFit, Observations, FloatArray | None]:
        if isinstance(self.data, Observations):
            fit = LinearEngine(features, noise_variance).fit(self.data)
            return fit.log_evidence if self.reml else fit.log_likelihood, fit, self.data, None
        point = feature_point(features, self.data, noise_variance, self.eta)
        self.eta = point.mode.eta
        assert isinstance(point.mode.fit, LinearFit)
        return point.value, point.mode.fit, point.mode.obs, point.b


def climb(
    learnable: Learnable,
    known: Data,
    unknown: Data,
    noise_variance: float,
    variance: float,
    *,
    learn_noise: bool,
    reml: bool,
    iterations: int = ASCENT_ITERATIONS,
) -> tuple[Point, Point]:
    """Where L-BFGS on some rows began, and the point of it that predicts rows held out best.

    These are looked at every five iterations; six looks without improvement end the ascent. `variance` is the size of
    the field, beside which a noise to start from is sought.
    """
    if learn_noise and noise_variance > 0:
        noise_variance = noise_of_few_waves(learnable.at(learnable.start), known, noise_variance, variance, reml=reml)
    evidence = Evidence(learnable, known, noise_variance, learn_noise=learn_noise, reml=reml)
    seen = [evidence.at(evidence.start, unknown)]

    def watch(vector: FloatArray, count: int) -> bool:
        if count % 5 == 0:
            seen.append(evidence.at(vector, unknown, count))
        return len(seen) - 1 - int(np.argmax([point.score for point in seen])) < 6

    seen.append(evidence.at(maximise(evidence, iterations, watch), unknown, iterations))
    first, best = seen[0], max(seen, key=lambda point: point.score)
    told = "features: held-out log score %.4f at the start, %.4f after %d iterations"
    logger.info(told, first.score, best.score, best.n_iterations)
    return first, best


def maximise(evidence: Evidence, iterations: int, watch: Callable[[FloatArray, int], bool] | None = None) -> FloatArray:
    """Vector of the largest evidence, by L-BFGS; `watch` sees every iterate and says whether to go on."""

    def negative(vector: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, gradient = evidence(vector)
        except (ConvergenceError, np.linalg.LinAlgError, InputError):
            value, gradient = np.nan, np.zeros(len(vector))
        if np.isfinite(value) and np.all(np.isfinite(gradient)):
            return -value, -gradient
        return 1e25, np.zeros(len(vector))  # no evidence: a shorter step is tried

    count = 0

    def callback(vector: FloatArray) -> None:
        nonlocal count
        count += 1
        if watch is not None and not watch(vector, count):
            raise StopIteration

    options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-5, "maxls": 30}
    result = optimize.minimize(
        negative, evidence.start, jac=True, method="L-BFGS-B", callback=callback, options=options
    )
    return np.asarray(result.x)


def noise_of_few_waves(
    features: FeatureMap, data: Data, noise_variance: float, variance: float, *, reml: bool, seed: int = 0
) -> float:
    """Noise variance, the given one or more, that makes the data most likely with these features.

    Few waves leave out what the kernel would explain, and that is noise to them.
    """
    candidates = [noise_variance, *(share * variance for share in (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0))]
    rows = _some(np.arange(len(data)), features.n_columns, generator(seed, "rows to learn the noise from"))
    data = data[rows]

    def value(noise: float) -> float:
        try:
            mode = find_mode(data, LinearEngine(features, noise))
            return mode.log_evidence if reml or mode.linearised is not None else mode.log_likelihood
        except (ConvergenceError, np.linalg.LinAlgError, InputError):
            return -np.inf

    return max((c for c in candidates if c >= noise_variance), key=value)


def held_out_scores(features: FeatureMap, noise_variance: float, known: Data, unknown: Data) -> FloatArray:
    """Log density of observations that the features were not fitted to, times their share of the weight; they sum to
    the mean log score. Minus infinity where there is no fit.
    """
    share = unknown.weight / unknown.weight.sum()
    try:
        posterior = find_mode(known, LinearEngine(features, noise_variance)).posterior
    except (ConvergenceError, np.linalg.LinAlgError, InputError):
        return np.full(len(unknown), -np.inf)
    mean, variance = posterior.mean(unknown.rows), posterior.variance(unknown.rows)
    if isinstance(unknown, Observations):
        total = np.maximum(variance + unknown.copy_variance(noise_variance), 1e-300)
        return np.asarray(-0.5 * share * (np.log(2 * np.pi * total) + (unknown.y - mean) ** 2 / total))
    eta = Latent((mean + unknown.offset)[None], (variance + noise_variance + unknown.error)[None], np.ones(1))
    law = Response(unknown.family, eta, unknown.size, new=True)
    return np.asarray(share * law.log_density(unknown.y))


def parts_of(
    coords: FloatArray, n_columns: int, seed: int, most: int | None = None, most_held: int = 2_000
) -> tuple[IntArray, IntArray]:
    """Rows to learn from and rows to hold out, in blocks as wide as the gaps between them; random beyond 3 dimensions.

    Of very many rows a part is learned from: as many as are given, or as the work allows.
    """
    n, dim = coords.shape
    rng = generator(seed, "rows to learn from")
    order = rng.permutation(n)
    known, unknown = np.sort(order[n // 5 :]), np.sort(order[: n // 5])
    if dim <= 3:
        with suppress(InputError):  # too few blocks
            splitter = BlockKFold(5, block_size=gap_size(coords, seed), random_state=seed)
            known, unknown = (np.asarray(part) for part in next(iter(splitter.split(coords))))
    return _some(known, n_columns, rng, most), _some(unknown, n_columns, rng, most_held)


def with_missing(point: Point, known: Data, unknown: Data, variance: float) -> Point:
    """The same features, carrying as much independent variance as predicts the held-out rows best."""
    best = point
    for share in (0.01, 0.03, 0.1, 0.3):
        features = replace(point.features, missing=share * variance)  # type: ignore[type-var]
        scores = held_out_scores(features, point.noise_variance, known, unknown)
        if scores.sum() > best.score + 1e-3:
            best = replace(point, features=features, scores=scores)
    return best


def _some(rows: IntArray, n_columns: int, rng: np.random.Generator, most: int | None = None) -> IntArray:
    """A random part of many rows: so many, or as their Gram may cost, but 500 at least."""
    most = max(500, int(GRAM_WORK / n_columns**2)) if most is None else most
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
