"""Waves of a lattice: as few as hold all that the data can tell, if they are few enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, measure_error
from bochner.inference.fits.memory import check_columns, max_columns
from bochner.inference.observed.settings import Settings
from bochner.inference.schemes import limits
from bochner.kernels import Kernel, total_variance

Box = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class LatticeWaves:
    """Features, or None where the waves needed are too many; the choice, and the measured error of the kernel.

    `left` is the variance that the waves leave out where they had to do without being enough.
    """

    features: FourierMap | None
    choice: Choice
    error: float | None = None
    left: float | None = None


def lattice_waves(
    settings: Settings,
    kernel: Kernel,
    noise_variance: float,
    n_rows: int,
    box: Box,
    *,
    unseen: float = limits.UNSEEN,
    last: str | None = None,
    information: float | None = None,
    on_grid: bool = False,
) -> LatticeWaves:
    """Waves that leave out less than the data can tell, if there are few enough of them.

    What the waves leave out is carried as independent variance r. In truth it is shared by the n / m rows of one wave
    length, so r n / m must be at most `unseen` of the noise. Where the rows' `information` is known (other families),
    waves may go that they say next to nothing about. `last` says why the waves must do, whatever they leave out, where
    nothing else can follow. Rows `on_grid` have the whole kernel for the price of FFTs, so the waves must do as well.
    """
    variance, extent = total_variance(kernel), box[1] - box[0]
    if settings.n_frequencies != "auto":
        m = int(settings.n_frequencies)
        check_columns(settings.resources.memory_limit, m)
        frequencies = lattice_frequencies(kernel, extent, n_frequencies=m, seed=settings.seed)
        choice = Choice("n_frequencies", m, given=True, text=f"{m:,} waves of a lattice: as asked")
        return _taken(settings, kernel, frequencies, box, choice)
    noise = max(noise_variance, 1e-9 * variance) / variance
    level = unseen * noise
    least = level * min(1.0, limits.FEW_WAVES / n_rows)
    most = max_columns(settings.resources.memory_limit, 2 * limits.MAX_LATTICE_WAVES) // 2
    try:
        frequencies = lattice_frequencies(kernel, extent, missing=least, maximum=most)
    except KernelError as problem:
        if last is not None:
            raise
        return LatticeWaves(None, _torus(str(problem)))
    left = np.maximum(1 - np.cumsum(frequencies.mass) / variance, 0.0)
    allowed = _allowed(frequencies.mass / variance, n_rows, level, noise, unseen, surface=on_grid and last is None)
    sufficient = left <= allowed
    if information is not None:
        sufficient |= _untold(frequencies.mass, variance, information) <= limits.UNTOLD_SHARE
    enough = np.flatnonzero(sufficient)
    if len(enough):
        m = int(enough[0]) + 1
        text = f"{m:,} waves of a lattice: they leave out {left[m - 1]:.0e} of the variance"
        taken = _taken(settings, kernel, _first(frequencies, m), box, Choice("n_frequencies", m, text=text))
        # a lattice may be too coarse for a sharp peak of the spectrum
        if taken.error is not None and taken.error <= 2 * left[m - 1] + 1e-5:
            return taken
    told = f"{most:,} waves of a lattice would leave out {left[-1]:.0e} of the variance, more than the data can miss"
    if last is None:
        return LatticeWaves(None, _torus(told))
    lost = variance * float(left[-1])
    text = f"{told}; {last} it is carried as noise of sd {np.sqrt(lost):.2g}"
    taken = _taken(settings, kernel, frequencies, box, Choice("n_frequencies", frequencies.n, text=text))
    return replace(taken, left=lost)


def _allowed(mass: FloatArray, n_rows: int, level: float, noise: float, unseen: float, *, surface: bool) -> FloatArray:
    """Variance, relative to the kernel's, that the first 1, 2, ... waves may leave out.

    `surface`: all of the kernel can be had otherwise, so it is also a small part of what stays unknown of the surface.
    """
    allowed = level * np.minimum(1.0, np.maximum(np.arange(1, len(mass) + 1), limits.FEW_WAVES) / n_rows)
    unknown = limits.UNSEEN_SURFACE * np.sum(mass / (1 + mass * n_rows / (2 * noise))) if surface else np.inf
    # the surface of many rows is known far better than any new observation: the noise is the measure
    if n_rows > limits.MANY_ROWS:
        return np.maximum(allowed, min(limits.MANY_ROWS_NOISE * noise, limits.MANY_ROWS_VARIANCE, unknown))
    if n_rows > limits.MANY_COUNTS and unseen > limits.UNSEEN:
        return np.maximum(allowed, min(limits.MANY_COUNTS_NOISE * noise, limits.MANY_ROWS_VARIANCE))
    return np.asarray(allowed)


def _untold(mass: FloatArray, variance: float, information: float) -> FloatArray:
    """Variance that rows could explain beyond the first 1, 2, ... waves, of what stays unexplained.

    The two columns of a wave of mass a are known with precision a information / 2 each, beside that of their prior.
    """
    known = mass * information / 2
    explained, beyond = mass * known / (1 + known), max(variance - float(mass.sum()), 0.0)
    after = np.append(np.cumsum(explained[::-1])[::-1][1:], 0.0) + beyond * known[-1] / (1 + known[-1])
    return np.asarray(after / max(variance - float(explained.sum()), 1e-300))


def _torus(why: str) -> Choice:
    return Choice("n_frequencies", None, text=f"a torus of waves for the far field, neighbours for the near: {why}")


def _first(frequencies: Frequencies, m: int) -> Frequencies:
    lattice = frequencies.lattice
    if lattice is not None:  # lines in the spectrum lie on none
        lattice = Lattice(lattice.spacing, lattice.index[:m])
    return Frequencies(frequencies.omega[:m], frequencies.mass[:m], lattice)


def _taken(settings: Settings, kernel: Kernel, frequencies: Frequencies, box: Box, choice: Choice) -> LatticeWaves:
    missing = max(total_variance(kernel) - float(frequencies.mass.sum()), 0.0)
    error = measure_error(frequencies, kernel, box[1] - box[0], settings.seed).rms
    return LatticeWaves(FourierMap(frequencies, np.float64, missing, box), choice, error)
