"""Neighbours: what the nearest observations say.

What waves cannot see is local, and local things are cheap. Here are orders from coarse to fine, the
Vecchia likelihood (each point given its nearest predecessors) and kriging from the nearest observations::

    vecchia = Vecchia.plan(coords, y, trend)
    value, gradient = vecchia.evaluate(kernel, noise_variance)
    mean, variance = local_kriging(kernel, noise_variance, coords, residual, targets)
"""

from bochner.neighbours.cells import CellKriging
from bochner.neighbours.close_pairs import close_pairs
from bochner.neighbours.cross_covariance import cross_covariance, cross_covariances
from bochner.neighbours.inverse_root import inverse_root, whitening_rows
from bochner.neighbours.left_out import left_out
from bochner.neighbours.nearest_kriging import Covariance, KnownRows, least_noise, local_kriging, nearest_sd
from bochner.neighbours.ordering import SharedOrder, maximin_order, predecessors, random_order
from bochner.neighbours.sectors import empty_sectors
from bochner.neighbours.simulation import conditional_draws
from bochner.neighbours.vecchia import Vecchia

__all__ = [
    "CellKriging",
    "Covariance",
    "KnownRows",
    "SharedOrder",
    "Vecchia",
    "close_pairs",
    "conditional_draws",
    "cross_covariance",
    "cross_covariances",
    "empty_sectors",
    "inverse_root",
    "least_noise",
    "left_out",
    "local_kriging",
    "maximin_order",
    "nearest_sd",
    "predecessors",
    "random_order",
    "whitening_rows",
]
