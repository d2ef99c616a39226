"""Variance starvation: do the features know what they do not know?

A finite set of waves is too sure of itself where the data could support more of them. The standard
deviation of kriging with the same kernel is the reference for it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.inference import limits
from bochner.inference.fits.base import GaussianFit
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, Scale, axis_units
from bochner.neighbours import local_kriging
from bochner.random import generator


def starvation(fit: GaussianFit, kernel: Kernel, obs: Observations, scale: Scale, seed: int) -> float | None:
    """Median ratio of the features' sd to kriging's, at places within the data's box; about 1 when they suffice.

    None without noise, and for least squares, which has no prior to fall short of.
    """
    posterior, noise_variance = fit.posterior, fit.noise_variance
    if noise_variance <= 0 or not np.isfinite(fit.log_evidence):
        return None
    obs = obs.with_weight()
    probes = _probes(obs, scale, seed)
    if len(obs) <= limits.MAX_KRIGED_ROWS:
        kriging = ExactEngine(kernel, noise_variance).fit(obs).posterior
        return _ratio(posterior.variance(probes), kriging.variance(probes))
    coords, noise = obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(kernel, np.ptp(coords, axis=0))
    few, many = (
        local_kriging(kernel, noise, coords, np.zeros(len(coords)), probes.coords, k, units)[1]
        for k in (limits.FEW_NEIGHBOURS, limits.MANY_NEIGHBOURS)
    )
    if _ratio(many, few) > limits.NEIGHBOURS_SUFFICE:
        return _ratio(posterior.variance(probes), many)
    # A smooth field listens to rows farther off: both are asked what they would say of fewer rows.
    part = obs[generator(seed, "rows").choice(len(obs), limits.MAX_KRIGED_ROWS, replace=False)]
    own = fit.engine.fit(part).posterior.variance(probes)
    return _ratio(own, ExactEngine(kernel, noise_variance).fit(part).posterior.variance(probes))


def _probes(obs: Observations, scale: Scale, seed: int) -> Rows:
    """Half of them anywhere in the box, half near data, with the trend of the nearest row."""
    coords, rng = obs.rows.coords, generator(seed, "probes")
    low, high = coords.min(axis=0), coords.max(axis=0)
    anywhere = rng.uniform(low, high, size=(limits.STARVATION_PROBES // 2, coords.shape[1]))
    near = coords[rng.integers(len(coords), size=limits.STARVATION_PROBES // 2)]
    near = near + 0.1 * scale.spacing * (high - low) * rng.normal(size=near.shape)
    probes = np.concatenate([anywhere, near])
    return Rows(probes, obs.rows.trend[cKDTree(coords).query(probes)[1]])


def _ratio(variance: FloatArray, reference: FloatArray) -> float:
    return float(np.median(np.sqrt(variance / np.maximum(reference, 1e-12 * np.max(reference)))))
