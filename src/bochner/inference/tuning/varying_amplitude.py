"""A field whose amplitude varies in space: found where held-out rows are off by more in some parts than in others.

Rows held out at random say how large the field's errors are all over, relative to what the kernel lets expect; around
some nodes the amplitude that makes them likely is found. It is taken where it makes other such rows clearly more
likely, and predicts rows in gaps better than one amplitude for all: a field that is known to many digits has fewer once
it is divided by an amplitude.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree, distance

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.features import Amplitude
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.local_folds import AT_RANDOM, held_out_locally
from bochner.inference.fits.modulated_fit import steadied
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Tuned
from bochner.inference.tuning.variance_factor import variance_factor
from bochner.kernels import Kernel
from bochner.neighbours import maximin_order
from bochner.random import generator
from bochner.resources import in_threads
from bochner.validation import crps

Law = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Responses of held-out rows, mean and sd of what is said of them, and what each row counts."""


@dataclass(frozen=True)
class Errors:
    """Errors of held-out rows, and what a kernel lets expect of them.

    Attributes
    ----------
    index : (n,)
        Which rows.
    coords : (n, dim)
    error : (n,)
        Response without its prediction.
    field, noise : (n,)
        Variances of the two parts of it.
    """

    index: IntArray
    coords: FloatArray
    error: FloatArray
    field: FloatArray
    noise: FloatArray

    def of(self, rows: NDArray[np.bool_]) -> Errors:
        """Those of some of the rows."""
        return Errors(self.index[rows], self.coords[rows], self.error[rows], self.field[rows], self.noise[rows])

    def sd(self, amplitude: FloatArray | float = 1.0) -> FloatArray:
        """Of the errors, where the field has an amplitude."""
        return np.asarray(np.sqrt(amplitude**2 * self.field + self.noise))

    def log_density(self, amplitude: FloatArray | float = 1.0) -> FloatArray:
        """Of each error, up to a constant."""
        sd = self.sd(amplitude)
        return np.asarray(-0.5 * (self.error / sd) ** 2 - np.log(sd))


def varying_amplitude(tuned: Tuned, obs: Observations, folds: list[Fold], held: HeldOut, law: Law) -> Amplitude | None:
    """Amplitude of the field over space, relative to the kernel's; None where one for all places serves as well.

    `law` is what is said of the rows that `held` names, held out in `folds` as the wanted places lie.
    """
    if len(obs) < limits.LEAST_MODULATED_ROWS:
        return None
    kernel, noise_variance = tuned.kernel, tuned.noise_variance
    everywhere = errors_everywhere(kernel, noise_variance, obs)
    y, mean, sd, weight = law
    i = held.index
    noise = np.minimum(obs.copy_variance(noise_variance)[i], sd**2)
    inside = Errors(i, obs.rows.coords[i], y - mean, sd**2 - noise, noise)
    best: tuple[float, int, FloatArray] | None = None
    worth = crps(y, mean, sd, sample_weight=weight) * (1 - limits.WORTH_AMPLITUDE)
    likelier = list(in_threads(lambda n_nodes: _clearly_likelier(everywhere, n_nodes), limits.AMPLITUDE_NODES))
    for n_nodes in compress(limits.AMPLITUDE_NODES, likelier):
        there = _unseen_amplitude(everywhere, inside, held.fold, folds, n_nodes)
        modulated = crps(y, mean, inside.sd(there), sample_weight=weight)
        if modulated < worth and (best is None or modulated < best[0]):
            best = modulated, n_nodes, there
    if best is None:
        return None
    found = amplitude_of(everywhere, best[1])
    own = _modulated_mean(found, tuned, obs, folds)
    if crps(y, own, inside.sd(best[2]), sample_weight=weight) >= worth:
        return None
    factor = variance_factor(y, mean, inside.sd(found.at(inside.coords)), weight)
    return replace(found, log_values=found.log_values + 0.5 * np.log(factor))


def _modulated_mean(amplitude: Amplitude, tuned: Tuned, obs: Observations, folds: list[Fold]) -> FloatArray:
    """What is predicted of the held-out rows with the amplitude."""
    steady, noise = steadied(obs, amplitude, tuned.noise_variance)
    held = held_out_locally(tuned.kernel, steady, noise, folds)
    return np.asarray(held.mean * amplitude.at(obs.rows.coords[held.index]))


def told_of_amplitude(amplitude: Amplitude, coords: FloatArray) -> Choice:
    """What is told of an amplitude that varies."""
    low, high = (float(part) for part in np.quantile(amplitude.at(coords), (0.05, 0.95)))
    why = "errors of rows held out at random vary so, and rows held out in gaps are predicted better with it"
    text = f"varies in space, from {low:.2f} to {high:.2f} times the kernel's (nine tenths of the rows): {why}"
    return Choice("amplitude", (low, high), text=text)


def errors_everywhere(kernel: Kernel, noise_variance: float, obs: Observations) -> Errors:
    """Errors of rows held out at random, a tenth of all at a time, until there are enough."""
    n = len(obs)
    order = generator(0, "held-out rows").permutation(n)
    parts = np.array_split(order, 10)
    n_parts = max(1, int(np.ceil(10 * min(1.0, limits.MAX_MODULATING_ROWS / n))))
    folds = [(np.setdiff1d(np.arange(n), part), part) for part in parts[:n_parts]]
    held = held_out_locally(kernel, obs, noise_variance, folds, limits.MAX_MODULATING_ROWS // n_parts, AT_RANDOM)
    i = held.index
    return Errors(i, obs.rows.coords[i], obs.y[i] - held.mean, held.variance, obs.copy_variance(noise_variance)[i])


def amplitude_of(errors: Errors, n_nodes: int) -> Amplitude:
    """The amplitude that makes the errors around each node likely; where they say little, near 1."""
    coords = errors.coords
    extent = np.ptp(coords, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    nodes = coords[maximin_order(coords / extent)[:n_nodes]]
    apart = cKDTree(nodes / extent).query(nodes / extent, k=2)[0][:, 1]
    unit = extent * float(np.median(apart))
    near = np.exp(-0.5 * distance.cdist(nodes / unit, coords / unit, "sqeuclidean"))
    tried = np.linspace(-limits.LARGEST_LOG_AMPLITUDE, limits.LARGEST_LOG_AMPLITUDE, limits.N_AMPLITUDES)
    likely = np.stack([errors.log_density(float(np.exp(a))) for a in tried], axis=1)
    value = near @ likely - 0.5 * (tried / limits.LOG_AMPLITUDE_SD) ** 2
    return Amplitude(nodes, tried[np.argmax(value, axis=1)], unit)


def _clearly_likelier(errors: Errors, n_nodes: int) -> bool:
    """Whether an amplitude from one half of the errors makes the other half clearly more likely, both ways."""
    half = np.arange(len(errors.error)) % 2 == 0
    gain = []
    for told, asked in ((half, ~half), (~half, half)):
        part = errors.of(asked)
        gain.append(part.log_density(amplitude_of(errors.of(told), n_nodes).at(part.coords)) - part.log_density())
    each = np.concatenate(gain)
    return bool(each.mean() > limits.CLEARLY_LIKELIER * each.std() / np.sqrt(len(each)))


def _unseen_amplitude(
    everywhere: Errors, inside: Errors, fold: IntArray, folds: list[Fold], n_nodes: int
) -> FloatArray:
    """Amplitude at each row of the gaps, from errors of rows outside of its gaps."""
    there = np.empty(len(fold))

    def fill(k: int) -> None:
        outside = ~np.isin(everywhere.index, folds[k][1])
        here = fold == k
        there[here] = amplitude_of(everywhere.of(outside), n_nodes).at(inside.coords[here])

    list(in_threads(fill, np.unique(fold).tolist()))
    return there
