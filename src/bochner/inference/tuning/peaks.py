"""Starts from the spectrum of the data: wave lengths that no climb would find.

The likelihood of a period or of a peak in the spectrum has an optimum for every wave that fits the data by chance.
The empirical spectrum says near which of them to begin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.scale import residual_of
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import bounds
from bochner.kernels import Kernel, OnAxes, Periodic, Scale, Separable, SpectralMixture, spectral_lines


def informed_starts(kernel: Kernel, scale: Scale, obs: Observations, noise: float) -> list[tuple[Kernel, float]]:
    """Kernels like the one given, with periods and peaks where the data have them; none if it has neither."""
    every = max(1, len(obs) // limits.MAX_PEAK_ROWS)
    coords, y = obs.rows.coords[::every], residual_of(obs)[::every]
    if len(y) < 10:
        return []
    field = max(scale.variance - noise, 0.1 * scale.variance)
    found = []
    for variant in _variants(kernel, coords, y):
        for start in _ranged(variant, scale):
            total = float(start.diag(np.zeros((1, coords.shape[1])))[0])
            found.append((start.scaled(field / total) if start.stationary else start, noise))
    return found


def _variants(kernel: Kernel, coords: FloatArray, y: FloatArray) -> Iterator[Kernel]:
    """The kernel with one of its parts informed by the data, and with all of them."""
    match kernel:
        case SpectralMixture() if coords.shape[1] <= 3:
            yield SpectralMixture.from_data(coords, y, kernel.n_components)
        case Periodic():
            yield from (kernel.replace(period=period) for period in _periods(kernel, coords, y))
        case OnAxes():
            axes = list(kernel.seen_axes(coords.shape[1]))
            yield from (kernel.replace(kernel=k) for k in _variants(kernel.kernel, coords[:, axes], y))
        case Separable():
            product = kernel.product
            for k in _variants(product, coords, y):
                yield kernel.replace(space=k.k1.kernel, time=k.k2.kernel)  # type: ignore[attr-defined]
        case _:
            yield from _of_parts(kernel, coords, y)


def _of_parts(kernel: Kernel, coords: FloatArray, y: FloatArray) -> Iterator[Kernel]:
    names = [f.name for f in dataclasses.fields(kernel) if isinstance(getattr(kernel, f.name), Kernel)]  # type: ignore[arg-type]
    informed = {name: list(_variants(getattr(kernel, name), coords, y)) for name in names}
    for name, variants in informed.items():
        yield from (kernel.replace(**{name: variant}) for variant in variants)
    best = {name: variants[0] for name, variants in informed.items() if variants}
    if len(best) > 1:
        # two parts that look for the same peak should not both take the highest
        yield kernel.replace(**best)
        yield kernel.replace(**{name: informed[name][i % len(informed[name])] for i, name in enumerate(best)})


def _periods(kernel: Periodic, coords: FloatArray, y: FloatArray) -> list[float | tuple[float, ...]]:
    """Lengths of the highest waves along each axis, and twice the best, which may be an overtone."""
    along = []
    for axis in range(coords.shape[1]):
        if len(np.unique(coords[:, axis])) < 10:
            return []
        lines = spectral_lines(coords[:, [axis]], y, limits.N_PERIODS, limits.N_PERIODS)[0][:, 0]
        along.append([2 * np.pi / abs(w) for w in (*lines, lines[0] / 2)])
    if isinstance(kernel.period, tuple):
        return [tuple(choice) for choice in zip(*along, strict=True)]
    return [period for choices in along for period in choices]


def _ranged(kernel: Kernel, scale: Scale) -> Iterator[Kernel]:
    """The kernel with its ranges, if it has any, at some shares of the extent."""
    intervals = bounds(kernel, scale)[:-1]
    ranges = [i for i, h in enumerate(kernel.hyperparameters) if h.role.is_range]
    for reach in limits.PEAK_REACHES if ranges else (1.0,):
        theta = kernel.theta
        for i in ranges:
            theta[i] = np.log(reach * float(kernel.hyperparameters[i].sides(scale).max()))
        yield kernel.with_theta(np.clip(theta, *np.array(intervals).T))
