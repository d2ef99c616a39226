"""The companion of conjugate gradients: the heaviest waves, which see all rows at once, for the sd under noise."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.features import FourierMap
from bochner.frequencies import lattice_frequencies
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import local_kriging
from bochner.random import generator

MOST_WAVES, MOST_DIMENSIONS = 2_500, 3
LEAST_SHARE = 1e-3  # of noise in the variance, below which neighbours tell all
UNSEEN, TOLERATED = 0.01, 0.05  # of the variance of the surface: what the waves should, and may, leave out
SHARED = 0.08  # of the noise: what they leave out, counted as often as rows of one wave length share it
ROOM = 0.15  # of the extent, on every side


def companion(
    kernel: Kernel, obs: Observations, noise_variance: float, box: tuple[FloatArray, FloatArray]
) -> LinearFit | None:
    """Model of the heaviest waves, where they hold all but a small part of what is unknown of the surface."""
    variance = total_variance(kernel)
    typical = noise_variance + float(np.median(obs.error))
    if typical < LEAST_SHARE * variance or len(box[0]) > MOST_DIMENSIONS:
        return None
    surface = _surface_variance(kernel, obs, noise_variance)
    room = ROOM * (box[1] - box[0])
    wider = (box[0] - room, box[1] + room)
    share = min(UNSEEN * surface, SHARED * typical) / variance
    try:
        waves = lattice_frequencies(kernel, wider[1] - wider[0], missing=share, maximum=MOST_WAVES)
    except KernelError:  # no lattice holds it: the neighbours do alone
        return None
    missing = max(variance - float(waves.mass.sum()), 0.0)
    if missing > TOLERATED * surface or missing * max(1.0, len(obs) / waves.n) > SHARED * typical:
        return None
    return LinearEngine(FourierMap(waves, np.float64, missing, wider), noise_variance).fit(obs)


def _surface_variance(kernel: Kernel, obs: Observations, noise_variance: float) -> float:
    """Typical variance of the surface at the rows, from their neighbours: somewhat more than it is."""
    coords = obs.rows.coords
    some = generator(0, "surface").choice(len(obs), min(200, len(obs)), replace=False)
    noise = obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(kernel, np.ptp(coords, axis=0))
    return float(np.median(local_kriging(kernel, noise, coords, obs.y, coords[some], 40, units, 20)[1]))
