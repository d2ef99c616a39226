"""Joint draws at many places, each given its nearest observations and already drawn places."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.sparse.linalg import spsolve_triangular

from bochner.arrays import FloatArray
from bochner.kernels import measured
from bochner.neighbours.inverse_root import whitening_rows
from bochner.neighbours.nearest_kriging import Covariance
from bochner.neighbours.ordering import maximin_order


def conditional_draws(
    kernel: Covariance,
    noise: FloatArray,
    coords: FloatArray,
    targets: FloatArray,
    n_draws: int,
    rng: Generator,
    n_neighbours: int = 60,
    scales: FloatArray | None = None,
) -> FloatArray:
    """Draws of the kriging error at targets, (n_draws, m): their posterior about its mean.

    Targets come in a coarse-to-fine order, each given its nearest among observations and earlier targets (Vecchia's
    approximation of the posterior). The posterior precision is then W'W with a sparse triangular W.
    """
    m = len(targets)
    order = maximin_order(measured(targets, scales), 0)
    n = len(coords)
    places = np.concatenate([coords, targets[order]])
    noises = np.concatenate([np.broadcast_to(noise, (n,)), np.zeros(m)])
    ends = np.arange(n, n + m)
    root = whitening_rows(kernel, noises, places, np.arange(n + m), n_neighbours, ends, measured(places, scales))
    lower = sparse.csr_array(root[:, n:])
    z = rng.standard_normal((m, n_draws))
    errors = np.empty((n_draws, m))
    errors[:, order] = spsolve_triangular(lower, z, lower=True).T
    return errors
