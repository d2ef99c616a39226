"""Fields that are not stationary: a spectrum that varies in space, or pairs of frequencies beyond three dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import PartError
from bochner.features import FeatureMap, LocalSpectrumMap, NystroemMap, PairedMap, choose_landmarks, local_spectrum
from bochner.frequencies import PairedFrequencies, lattice_frequencies, rule_named, tied
from bochner.inference.ascent import Climbed, Data, climb, held_out_scores, parts_of, with_missing
from bochner.inference.features import Spec, checked_number
from bochner.inference.lattice import covered_box
from bochner.inference.learnable import LearnablePairs, LearnableSpectrum, density_of
from bochner.inference.observations import Observations
from bochner.inference.sparse_spectrum import FEWEST_ROWS, judged, number_of_learned
from bochner.kernels import Kernel, Matern, SquaredExponential, total_variance
from bochner.random import generator

LANDMARKS = {1: 8, 2: 16, 3: 27}  # of the surfaces of log length scale and log variance
REACH = 0.4  # length scale of these surfaces, in extents
LEARNING_WAVES = {1: 150, 2: 300, 3: 400}
LEARNING_ROWS = 1_000
ITERATIONS = 60
MOST_WAVES = 1_200
MISSING = 2e-3  # of the variance, that the waves of the final fit may leave out
SHORTEST = 0.4  # of the length scale, for which the waves are chosen before anything is learned
SMOOTHNESS = (0.5, 1.5, 2.5)

Result = tuple[FeatureMap, float, str, int, Kernel]


def nonstationary_features(
    spec: Spec,
    kernel: Kernel,
    noise_variance: float,
    data: Data,
    obs: Observations,
    predict_at: FloatArray | None,
    *,
    learn_noise: bool,
    reml: bool,
    any_kernel: bool,
) -> Result:
    """Features of a field that varies, their noise variance, what was done, the number of waves, and the kernel."""
    n, dim = obs.rows.coords.shape
    if n < FEWEST_ROWS:
        raise PartError(
            f"features='nonstationary' with {n} rows; it needs {FEWEST_ROWS} to learn what varies. Use "
            f"features='exact'."
        )
    if dim > 3:
        return *_pairs(spec, kernel, noise_variance, data, obs, learn_noise=learn_noise, reml=reml), kernel
    box = covered_box(obs.rows.coords, predict_at)
    surface = surface_over(obs, spec.seed)
    n_waves = LEARNING_WAVES[dim]
    columns = 2 * n_waves
    parts = parts_of(obs.rows.coords, columns, spec.seed, work=800 * columns**2 * LEARNING_ROWS)
    kernels = [kernel]
    if any_kernel and isinstance(kernel, Matern):
        # nothing but roughness lets a stationary field have long and short waves at once
        kernels += [kernel.replace(nu=nu) for nu in SMOOTHNESS if nu != kernel.nu]
    climbs: list[tuple[Kernel, Climbed]] = []
    for candidate in kernels:
        origin = local_spectrum(candidate, _waves(candidate, box, n_waves), surface, box)
        done = climb(
            LearnableSpectrum(origin), data, parts, noise_variance, total_variance(kernel),
            learn_noise=learn_noise, reml=reml, iterations=ITERATIONS,
        )  # fmt: skip
        climbs.append((candidate, done))
    first = climbs[0][1].start
    chosen, best = max(climbs, key=lambda c: c[1].best.score)
    learned = best.best.features
    assert isinstance(learned, LocalSpectrumMap)
    told = f"length scales {_range(learned, obs)} times the kernel's, learned from {best.n_rows:,} rows"
    # two dozen numbers with a prior hardly learn noise: a gain need not be certain
    features, noise, why, _ = judged(first, best, best.best, told, 0, "a stationary spectrum", sure=0.0, stacklevel=7)
    final = chosen if features is learned else kernel
    assert isinstance(features, LocalSpectrumMap)
    dense = refined(spec, final, features, obs, box)
    known, unknown = (data[part] for part in parts)
    if spec.n_frequencies == "auto":
        both = [float(held_out_scores(f, noise, known, unknown).sum()) for f in (dense, features)]
        dense = dense if both[0] >= both[1] - 0.01 else features
    m = len(dense.omega)
    return dense, noise, f"{m:,} waves of a lattice with amplitudes that vary in space: {why.lstrip('0: ')}", m, final


def surface_over(obs: Observations, seed: int) -> NystroemMap:
    """Smooth basis functions over the places."""
    coords = obs.rows.coords
    extent = np.ptp(coords, axis=0)
    reach = REACH * np.where(extent > 0, extent, max(float(extent.max()), 1e-300))
    landmarks = choose_landmarks(coords, LANDMARKS[coords.shape[1]], obs.weight, seed)
    return NystroemMap.at(SquaredExponential(tuple(float(r) for r in reach)), landmarks)


def refined(
    spec: Spec, kernel: Kernel, learned: LocalSpectrumMap, obs: Observations, box: tuple[FloatArray, FloatArray]
) -> LocalSpectrumMap:
    """The same field with the waves that it needs, now that its length scales are known."""
    local = learned.at(obs.rows.coords)
    lengths = np.quantile(local.log_length, (0.02, 0.2, 0.5, 0.8))
    mixed = stretched(kernel, float(np.exp(lengths[0])))
    for t in lengths[1:]:
        mixed = mixed + stretched(kernel, float(np.exp(t)))
    extent = box[1] - box[0]
    if spec.n_frequencies == "auto":
        frequencies = lattice_frequencies(mixed, extent, missing=MISSING, maximum=MOST_WAVES)
    else:
        frequencies = lattice_frequencies(mixed, extent, n_frequencies=checked_number(spec.n_frequencies))
    whole = local_spectrum(kernel, frequencies, learned.surface, box)
    return replace(whole, stretch=learned.stretch, swell=learned.swell)


def stretched(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with all its length scales multiplied."""
    shift = np.array([np.log(factor) if h.role == "length_scale" else 0.0 for h in kernel.hyperparameters])
    return kernel.with_theta(kernel.theta + shift)


def _waves(kernel: Kernel, box: tuple[FloatArray, FloatArray], n: int):  # type: ignore[no-untyped-def]
    return lattice_frequencies(kernel + stretched(kernel, SHORTEST), box[1] - box[0], n_frequencies=n)


def _range(learned: LocalSpectrumMap, obs: Observations) -> str:
    low, high = np.exp(np.quantile(learned.at(obs.rows.coords).log_length, (0.02, 0.98)))
    return f"{low:.2g} to {high:.2g}"


def _pairs(
    spec: Spec, kernel: Kernel, noise_variance: float, data: Data, obs: Observations, *, learn_noise: bool, reml: bool
) -> tuple[FeatureMap, float, str, int]:
    """Learned pairs of frequencies, started from nearly equal ones."""
    coords = obs.rows.coords
    m = number_of_learned(spec, len(coords), 2 * coords.shape[1])
    waves = rule_named("orthogonal").draw(kernel, m, coords.shape[1], generator(spec.seed, "frequencies"))
    unit = np.median(np.abs(waves.omega), axis=0)
    apart = 0.1 * unit * generator(spec.seed, "pairs").standard_normal(waves.omega.shape)
    origin = PairedFrequencies(waves.omega - apart, waves.omega + apart, waves.mass)
    parts = parts_of(coords, 2 * m, spec.seed)
    learnable = LearnablePairs(origin, unit, density_of(kernel, waves.omega, unit))
    done = climb(learnable, data, parts, noise_variance, total_variance(kernel), learn_noise=learn_noise, reml=reml)
    known, unknown = (data[part] for part in parts)
    equal = PairedMap(tied(waves))
    first = replace(done.start, features=equal, scores=held_out_scores(equal, noise_variance, known, unknown))
    point = with_missing(done.best, data, parts, total_variance(kernel))
    told = f"{m} pairs of frequencies, learned from {done.n_rows:,} rows in {done.n_iterations} iterations"
    return judged(first, done, point, told, m, "equal pairs as the kernel draws them", stacklevel=8)
