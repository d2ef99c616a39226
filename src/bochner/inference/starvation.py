"""Variance starvation: do the features know what they do not know?

A finite set of waves is too sure of itself where the data could support more of them. The standard
deviation of kriging with the same kernel is the reference for it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray
from bochner.features import Rows
from bochner.inference.fits.exact import fit_exact
from bochner.inference.fits.linear import fit_linear
from bochner.inference.model import Model
from bochner.inference.observed.observations import Observations
from bochner.kernels import axis_units
from bochner.neighbours import local_kriging
from bochner.posterior import CoefficientPosterior
from bochner.random import generator
from bochner.solvers import LeastSquares

N_PROBES = 200
FEW, MANY = 40, 100  # neighbours
EXACT_ROWS = 1_000  # kriged from all of them


def starvation(model: Model, obs: Observations, seed: int) -> float | None:
    """Median ratio of the features' sd to kriging's, at places within the data's box.

    About 1 when the features suffice; None for the exact kernel, the lattice and the nearest rows, which need no
    check, for learned features, which are judged by held-out rows, and for least squares, which has no prior
    to fall short of.
    """
    posterior, noise_variance = model.posterior, model.noise_variance
    if model.kind in ("exact", "lattice", "learned", "nonstationary") or noise_variance <= 0:
        return None
    if not isinstance(posterior, CoefficientPosterior) or isinstance(posterior.factor, LeastSquares):
        return None
    obs = obs[np.flatnonzero(obs.weight > 0)]
    probes = _probes(model, obs, seed)
    if len(obs) <= EXACT_ROWS:
        return _ratio(
            posterior.variance(probes), fit_exact(model.kernel, obs, noise_variance).posterior.variance(probes)
        )
    coords, noise = obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(model.kernel, np.ptp(coords, axis=0))
    few, many = (
        local_kriging(model.kernel, noise, coords, np.zeros(len(coords)), probes.coords, k, units)[1]
        for k in (FEW, MANY)
    )
    if _ratio(many, few) > 0.95:
        return _ratio(posterior.variance(probes), many)
    # A smooth field listens to rows farther off: both are asked what they would say of fewer rows.
    part = obs[generator(seed, "rows").choice(len(obs), EXACT_ROWS, replace=False)]
    own = fit_linear(posterior.features, part, noise_variance).posterior.variance(probes)
    return _ratio(own, fit_exact(model.kernel, part, noise_variance).posterior.variance(probes))


def _probes(model: Model, obs: Observations, seed: int) -> Rows:
    """Half of them anywhere in the box, half near data, with the trend of the nearest row."""
    coords, rng = obs.rows.coords, generator(seed, "probes")
    low, high = coords.min(axis=0), coords.max(axis=0)
    anywhere = rng.uniform(low, high, size=(N_PROBES // 2, coords.shape[1]))
    near = coords[rng.integers(len(coords), size=N_PROBES // 2)]
    near = near + 0.1 * model.scale.spacing * (high - low) * rng.normal(size=near.shape)
    probes = np.concatenate([anywhere, near])
    return Rows(probes, obs.rows.trend[cKDTree(coords).query(probes)[1]])


def _ratio(variance: FloatArray, reference: FloatArray) -> float:
    return float(np.median(np.sqrt(variance / np.maximum(reference, 1e-12 * np.max(reference)))))
