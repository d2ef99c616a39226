"""The companion of conjugate gradients: the heaviest waves, which see all rows at once, for the sd under noise."""

from __future__ import annotations

import numpy as np

from bochner.exceptions import KernelError
from bochner.features import FourierMap
from bochner.frequencies import lattice_frequencies
from bochner.inference.fits import limits
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.fits.memory import max_columns
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import covered_box
from bochner.kernels import Kernel, axis_units, total_variance
from bochner.neighbours import local_kriging
from bochner.random import generator
from bochner.resources import current


def companion(kernel: Kernel, obs: Observations, noise_variance: float) -> LinearFit | None:
    """Model of the heaviest waves, where they hold all but a small part of what is unknown of the surface."""
    variance = total_variance(kernel)
    typical = noise_variance + float(np.median(obs.error))
    if typical < limits.COMPANION_NOISE * variance or obs.rows.coords.shape[1] > limits.MAX_COMPANION_DIMENSIONS:
        return None
    surface = _surface_variance(kernel, obs, noise_variance)
    box = covered_box(obs.rows.coords, None)
    share = min(limits.COMPANION_UNSEEN * surface, limits.COMPANION_SHARED * typical) / variance
    try:
        waves = lattice_frequencies(
            kernel,
            box[1] - box[0],
            missing=share,
            maximum=max_columns(current().memory_limit, 2 * limits.MAX_COMPANION_WAVES) // 2,
        )
    except KernelError:  # no lattice holds it: the neighbours do alone
        return None
    missing = max(variance - float(waves.mass.sum()), 0.0)
    if (
        missing > limits.COMPANION_TOLERATED * surface
        or missing * max(1.0, len(obs) / waves.n) > limits.COMPANION_SHARED * typical
    ):
        return None
    return LinearEngine(FourierMap(waves, np.float64, missing, box), noise_variance).fit(obs)


def _surface_variance(kernel: Kernel, obs: Observations, noise_variance: float) -> float:
    """Typical variance of the surface at the rows, from their neighbours: somewhat more than it is."""
    coords = obs.rows.coords
    some = generator(0, "surface").choice(len(obs), min(limits.SURFACE_PROBES, len(obs)), replace=False)
    noise = obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(kernel, np.ptp(coords, axis=0))
    near, far = limits.SURFACE_NEIGHBOURS, limits.SURFACE_FAR
    found = local_kriging(kernel, noise, coords, obs.y, coords[some], near, units, far, n_systems=len(obs))
    return float(np.median(found[1]))
