"""Fields that are not stationary: a spectrum that varies in space, or pairs of frequencies beyond three dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.choices import Choice
from bochner.exceptions import KernelError, PartError
from bochner.features import FeatureMap, LocalSpectrumMap, NystroemMap, PairedMap, choose_landmarks, local_spectrum
from bochner.frequencies import Frequencies, PairedFrequencies, lattice_frequencies, rule_named, tied
from bochner.inference.adaptive import limits
from bochner.inference.adaptive.ascent import (
    Evidence,
    Point,
    climb,
    held_out_scores,
    maximise,
    parts_of,
    point_at,
    with_missing,
)
from bochner.inference.adaptive.learnable import LearnablePairs, LearnableSpectrum, density_of
from bochner.inference.adaptive.pool import Adapted
from bochner.inference.adaptive.sparse_spectrum import (
    follows_trend,
    judged,
    number_of_learned,
    with_remainder,
)
from bochner.inference.fits.newton import Data
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.kernels import Kernel, Matern, SquaredExponential, spectral_density, total_variance
from bochner.random import generator


def varying_waves(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Features of a field whose length scale and variance vary in space, started from a tuned kernel."""
    n, obs = len(task.obs), task.obs
    if n < limits.MIN_LEARNING_ROWS:
        raise PartError(
            f"features='nonstationary' with {n} rows; it needs {limits.MIN_LEARNING_ROWS} to learn what varies. Use "
            f"features='exact'."
        )
    if follows_trend(obs):
        return _stationary(task, kernel, noise_variance)
    if task.dim > 3:
        return _pairs(task, kernel, noise_variance)
    _check_density(kernel, task.dim)
    search = _VaryingSearch(task)
    kernels = [kernel]
    if task.settings.kernel is None and isinstance(kernel, Matern):
        # only by being rough can a stationary field have short and long waves at once; one that varies need not be. A
        # rougher one is not tried: what its few waves leave out would pass for the noise
        kernels += [kernel.replace(nu=nu) for nu in limits.VARYING_SMOOTHNESS if nu > kernel.nu]
    found = [(candidate, *search.learn(candidate, noise_variance)) for candidate in kernels]
    chosen, _, best = max(found, key=lambda f: f[2].evidence)
    n_rows = min(n, limits.LEARNING_ROWS)
    told = f"length scales {_range(best.features, obs)} times the kernel's, learned from {n_rows:,} rows"
    # two dozen numbers with a prior hardly learn noise, and one part of the rows says little: only a clear loss counts
    verdict = judged(found[0][1], best, told, "a stationary spectrum", sure=-1.0)
    kept, noise = verdict.features, verdict.noise_variance
    if not verdict.learned:
        chosen = kernel
    elif n <= limits.LEARNING_ROWS:
        kept, noise = search.learn_from_all(best)
    assert isinstance(kept, LocalSpectrumMap)
    features = refined(task, chosen, kept)
    m = len(features.omega)
    text = f"{m:,} waves of a lattice with amplitudes that vary in space: {verdict.reason}"
    return Adapted(features, noise, m, (Choice("n_frequencies", m, text=text),), chosen)


@dataclass(frozen=True)
class _VaryingSearch:
    """A task, to learn what varies with one kernel or another."""

    task: Task

    def learn(self, kernel: Kernel, noise_variance: float) -> tuple[Point, Point]:
        """Where a kernel starts, stationary, and where it ends, on rows that leave some out to judge by."""
        task = self.task
        coords, (low, high) = task.obs.rows.coords, task.covered_box
        n_waves = limits.LEARNING_WAVES[coords.shape[1]]
        parts = parts_of(coords, 2 * n_waves, task.settings.seed, work=800 * (2 * n_waves) ** 2 * limits.LEARNING_ROWS)
        known, unknown = (task.data[part] for part in parts)
        waves = lattice_frequencies(
            kernel + stretched(kernel, limits.SHORTEST_STRETCH), high - low, n_frequencies=n_waves
        )
        origin = local_spectrum(kernel, waves, surface_over(task.obs, task.settings.seed), (low, high))
        evidence = self._evidence(origin, known, noise_variance)
        end = maximise(evidence, limits.VARYING_ITERATIONS)
        return point_at(evidence, evidence.start, known, unknown), point_at(evidence, end, known, unknown)

    def learn_from_all(self, point: Point) -> tuple[LocalSpectrumMap, float]:
        """A few more steps from a point, with the rows that were left out."""
        assert isinstance(point.features, LocalSpectrumMap)
        evidence = self._evidence(point.features, self.task.data, point.noise_variance)
        x, noise = evidence.split(maximise(evidence, limits.VARYING_LAST_ITERATIONS))
        return LearnableSpectrum(point.features).at(x), noise

    def _evidence(self, origin: LocalSpectrumMap, data: Data, noise_variance: float) -> Evidence:
        s = self.task.settings
        return Evidence(LearnableSpectrum(origin), data, noise_variance, learn_noise=s.learns_noise, reml=s.reml)


def surface_over(obs: Observations, seed: int) -> NystroemMap:
    """Smooth basis functions over the places."""
    coords = obs.rows.coords
    extent = np.ptp(coords, axis=0)
    reach = limits.SURFACE_REACH * np.where(extent > 0, extent, max(float(extent.max()), 1e-300))
    landmarks = choose_landmarks(coords, limits.SURFACE_LANDMARKS[coords.shape[1]], obs.weight, seed)
    return NystroemMap.at(SquaredExponential(tuple(float(r) for r in reach)), landmarks)


def refined(task: Task, kernel: Kernel, learned: LocalSpectrumMap) -> LocalSpectrumMap:
    """The same field with the waves that it needs, now that its length scales are known."""
    local = learned.at(task.obs.rows.coords)
    lengths = np.quantile(local.log_length, (0.02, 0.2, 0.5, 0.8))
    mixed = stretched(kernel, float(np.exp(lengths[0])))
    for t in lengths[1:]:
        mixed = mixed + stretched(kernel, float(np.exp(t)))
    whole = local_spectrum(kernel, _waves(task, mixed), learned.surface, task.covered_box)
    return replace(whole, stretch=learned.stretch, swell=learned.swell)


def stretched(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with all that measures lags multiplied, k(lag / factor): its whole spectrum moves."""
    along = np.array([h.role.power_of_length for h in kernel.hyperparameters])
    return kernel.with_theta(kernel.theta + np.log(factor) * along)


def _waves(task: Task, kernel: Kernel) -> Frequencies:
    low, high = task.covered_box
    if task.settings.n_frequencies == "auto":
        return lattice_frequencies(kernel, high - low, missing=limits.VARYING_UNSEEN, maximum=limits.MAX_VARYING_WAVES)
    return lattice_frequencies(kernel, high - low, n_frequencies=int(task.settings.n_frequencies))


def _check_density(kernel: Kernel, dim: int) -> None:
    try:
        spectral_density(kernel, np.ones((1, dim)))
    except KernelError as error:
        raise PartError(
            f"features='nonstationary' needs a kernel with a spectral density along every coordinate, e.g. Matern(). "
            f"{error}"
        ) from error


def _stationary(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Features of the kernel itself, where there is nothing to learn from."""
    why = "a stationary spectrum, none learned: the response is constant, or follows the trend"
    if task.dim > 3:
        waves = _drawn(task, kernel)
        choice = Choice("n_frequencies", waves.n, text=f"{waves.n} equal pairs; {why}")
        return Adapted(PairedMap(tied(waves)), noise_variance, waves.n, (choice,))
    _check_density(kernel, task.dim)
    waves = _waves(task, kernel)
    features = local_spectrum(kernel, waves, surface_over(task.obs, task.settings.seed), task.covered_box)
    choice = Choice("n_frequencies", waves.n, text=f"{waves.n:,} waves of a lattice; {why}")
    return Adapted(features, noise_variance, waves.n, (choice,))


def _drawn(task: Task, kernel: Kernel) -> Frequencies:
    m = number_of_learned(task.settings, len(task.obs), 2 * task.dim)
    return rule_named("orthogonal").draw(kernel, m, task.dim, generator(task.settings.seed, "frequencies"))


def _range(learned: FeatureMap, obs: Observations) -> str:
    assert isinstance(learned, LocalSpectrumMap)
    low, high = np.exp(np.quantile(learned.at(obs.rows.coords).log_length, (0.02, 0.98)))
    return f"{low:.2g} to {high:.2g}"


def _pairs(task: Task, kernel: Kernel, noise_variance: float) -> Adapted:
    """Learned pairs of frequencies, started from nearly equal ones."""
    settings, data, variance = task.settings, task.data, total_variance(kernel)
    waves = _drawn(task, kernel)
    m = waves.n
    unit = np.median(np.abs(waves.omega), axis=0)
    apart = 0.1 * unit * generator(settings.seed, "pairs").standard_normal(waves.omega.shape)
    origin = PairedFrequencies(waves.omega - apart, waves.omega + apart, waves.mass)
    parts = parts_of(task.obs.rows.coords, 2 * m, settings.seed)
    learnable = LearnablePairs(origin, unit, density_of(kernel, waves.omega, unit))
    done = climb(
        learnable, data, parts, noise_variance, variance, learn_noise=settings.learns_noise, reml=settings.reml
    )
    known, unknown = (data[part] for part in parts)
    equal = PairedMap(tied(waves))
    first = replace(done.start, features=equal, scores=held_out_scores(equal, noise_variance, known, unknown))
    point = with_missing(done.best, data, parts, variance)
    told = f"pairs of frequencies, learned from {done.n_rows:,} rows in {done.n_iterations} iterations"
    verdict = judged(first, point, told, "equal pairs as the kernel draws them", n_numbers=m)
    return with_remainder(verdict, noise_variance, m)
