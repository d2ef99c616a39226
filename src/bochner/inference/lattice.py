"""The lattice engine's choice: few waves that hold everything, or waves and neighbours together."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import measure_error
from bochner.frequencies.lattice import lattice_frequencies
from bochner.inference.features import Spec, checked_number
from bochner.kernels import Kernel, total_variance

MOST_WAVES = 3_000  # 6,000 columns: a factor of 290 MB in some seconds
MOST_ROWS = 1_000_000  # for conjugate gradients on the rows
ROOM = 0.15  # of the extent, kept free on every side for places outside the data


def covered_box(coords: FloatArray, predict_at: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Box of the data and of the places to be predicted, with some room around."""
    places = coords if predict_at is None else np.concatenate([coords, predict_at])
    low, high = places.min(axis=0), places.max(axis=0)
    side = np.where(high > low, high - low, max(float((high - low).max()), 1e-300))
    return low - ROOM * side, high + ROOM * side


def lattice_features(
    spec: Spec, kernel: Kernel, noise_variance: float, n_rows: int, box: tuple[FloatArray, FloatArray]
) -> tuple[FourierMap | None, str, float | None]:
    """Waves that leave out less than can be told from noise, if there are few enough of them; else None.

    What the waves leave out is carried as independent variance, so it must be small beside the noise.
    """
    variance, extent = total_variance(kernel), box[1] - box[0]
    if spec.n_frequencies != "auto":
        m = checked_number(spec.n_frequencies)
        frequencies = lattice_frequencies(kernel, extent, n_frequencies=m, seed=spec.seed)
        why = f"{m:,} waves of a lattice: as asked"
    else:
        share = float(np.clip(0.02 * noise_variance / variance, 1e-7, 0.01))
        frequencies = lattice_frequencies(kernel, extent, missing=share, maximum=MOST_WAVES)
        left = 1 - float(frequencies.mass.sum()) / variance
        if left > 1.01 * share and n_rows <= MOST_ROWS:
            return (
                None,
                (
                    f"waves on a torus for the far field, neighbours for the near: {MOST_WAVES:,} waves alone would leave out "
                    f"{left:.1e} of the variance, more than {share:.1e} (a fiftieth of the noise)"
                ),
                None,
            )
        why = f"{frequencies.n:,} waves of a lattice: they leave out {left:.1e} of the variance"
    missing = max(variance - float(frequencies.mass.sum()), 0.0)
    error = measure_error(frequencies, kernel, extent, spec.seed).rms
    return FourierMap(frequencies, np.float64, missing, box), why, error
