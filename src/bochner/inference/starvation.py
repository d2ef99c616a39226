"""Variance starvation: do the features know what they do not know?

A finite set of waves is too sure of itself where the data could support more of them. The standard
deviation of kriging from the nearest neighbours with the same kernel is a fair reference for it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bochner.features import Rows
from bochner.inference.model import Model
from bochner.inference.observations import Observations
from bochner.neighbours import local_kriging
from bochner.random import generator

N_PROBES = 200
N_NEIGHBOURS = 40


def starvation(model: Model, obs: Observations, seed: int) -> float | None:
    """Median ratio of the features' sd to nearest-neighbour kriging's, at places within the data's box.

    About 1 when the features suffice; None for the exact kernel and the lattice, which need no check.
    """
    if model.kind in ("exact", "lattice") or model.noise_variance <= 0:
        return None
    coords = obs.rows.coords[obs.weight > 0]
    rng = generator(seed, "probes")
    # half of the probes anywhere in the box, half near data
    low, high = coords.min(axis=0), coords.max(axis=0)
    anywhere = rng.uniform(low, high, size=(N_PROBES // 2, coords.shape[1]))
    near = coords[rng.integers(len(coords), size=N_PROBES // 2)]
    probes = np.concatenate([anywhere, near + 0.1 * model.scale.spacing * (high - low) * rng.normal(size=near.shape)])
    noise = obs.copy_variance(model.noise_variance)[obs.weight > 0] / obs.weight[obs.weight > 0]
    _, reference = local_kriging(model.kernel, noise, coords, np.zeros(len(coords)), probes, n_neighbours=N_NEIGHBOURS)
    nearest = cKDTree(coords).query(probes)[1]
    own = model.posterior.variance(Rows(probes, obs.rows.trend[obs.weight > 0][nearest]))
    return float(np.median(np.sqrt(own / np.maximum(reference, 1e-12 * np.max(reference)))))
