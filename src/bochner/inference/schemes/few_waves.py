"""The lattice engine's choice: few waves that hold everything, or waves and neighbours together."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray, box_of
from bochner.exceptions import KernelError
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, measure_error
from bochner.inference.schemes.choose import Spec, checked_number
from bochner.kernels import Kernel, total_variance

MOST_WAVES = 2_500  # 5,000 columns: a factor of 200 MB in some seconds
MOST_ROWS = 300_000  # for conjugate gradients on the rows
MANY_ROWS, MANY_COUNTS = 200_000, 20_000  # of Gaussian rows, of others: there each Newton step is a fit
UNSEEN = 1e-4  # of the noise: error of the mean about a hundredth of the sd
FEW = 30  # waves: fewer (the lines of a periodic kernel) are judged as if they were this many
ROOM = 0.15  # of the extent, kept free on every side for places outside the data


def covered_box(coords: FloatArray, predict_at: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Box of the data and of the places to be predicted, with some room around."""
    places = coords if predict_at is None else np.concatenate([coords, predict_at])
    low, high = box_of(places)
    widest = float((high - low).max())
    side = np.where(high > low, high - low, widest if widest > 0 else 1.0)
    return low - ROOM * side, high + ROOM * side


def lattice_features(
    spec: Spec,
    kernel: Kernel,
    noise_variance: float,
    n_rows: int,
    box: tuple[FloatArray, FloatArray],
    unseen: float = UNSEEN,
) -> tuple[FourierMap | None, str, float | None]:
    """Waves that leave out less than the data can tell, if there are few enough of them; else None.

    What the waves leave out is carried as independent variance r. In truth it is shared by the n / m rows of one wave
    length, so r n / m must be at most `unseen` of the noise.
    """
    variance, extent = total_variance(kernel), box[1] - box[0]
    if spec.n_frequencies != "auto":
        m = checked_number(spec.n_frequencies)
        frequencies = lattice_frequencies(kernel, extent, n_frequencies=m, seed=spec.seed)
        return _map(spec, kernel, frequencies, box, f"{m:,} waves of a lattice: as asked")
    noise = max(noise_variance, 1e-9 * variance) / variance
    level = unseen * noise
    try:
        frequencies = lattice_frequencies(kernel, extent, missing=level * min(1.0, FEW / n_rows), maximum=MOST_WAVES)
    except KernelError as problem:
        if n_rows > MOST_ROWS:
            raise
        return None, f"a torus of waves for the far field, neighbours for the near: {problem}", None
    left = np.maximum(1 - np.cumsum(frequencies.mass) / variance, 0.0)
    allowed = level * np.minimum(1.0, np.maximum(np.arange(1, frequencies.n + 1), FEW) / n_rows)
    # the surface of many rows is known far better than any new observation: the noise is the measure
    if n_rows > MANY_ROWS:
        allowed = np.maximum(allowed, min(0.05 * noise, 0.01))
    elif n_rows > MANY_COUNTS and unseen > UNSEEN:
        allowed = np.maximum(allowed, min(0.015 * noise, 0.01))
    enough = np.flatnonzero(left <= allowed)
    if len(enough):
        m = int(enough[0]) + 1
        waves = _first(frequencies, m)
        why = f"{m:,} waves of a lattice: they leave out {left[m - 1]:.0e} of the variance"
        features, why, error = _map(spec, kernel, waves, box, why)
        if error <= 2 * left[m - 1] + 1e-5:  # else the lattice is too coarse for a sharp peak of the spectrum
            return features, why, error
    told = (
        f"{MOST_WAVES:,} waves of a lattice would leave out {left[-1]:.0e} of the variance, more than the data can miss"
    )
    if n_rows <= MOST_ROWS:
        return None, f"a torus of waves for the far field, neighbours for the near: {told}", None
    return _map(spec, kernel, frequencies, box, f"{told}; with more than {MOST_ROWS:,} rows it is carried as noise")


def _first(frequencies: Frequencies, m: int) -> Frequencies:
    lattice = frequencies.lattice
    if lattice is not None:  # lines in the spectrum lie on none
        lattice = Lattice(lattice.spacing, lattice.index[:m])
    return Frequencies(frequencies.omega[:m], frequencies.mass[:m], lattice)


def _map(
    spec: Spec, kernel: Kernel, frequencies: Frequencies, box: tuple[FloatArray, FloatArray], why: str
) -> tuple[FourierMap, str, float]:
    missing = max(total_variance(kernel) - float(frequencies.mass.sum()), 0.0)
    error = measure_error(frequencies, kernel, box[1] - box[0], spec.seed).rms
    return FourierMap(frequencies, np.float64, missing, box), why, error
