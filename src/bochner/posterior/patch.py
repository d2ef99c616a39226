"""A patch: places close together, the box around them in the metric of the kernel, and its Chebyshev nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial import KDTree

from bochner.arrays import FloatArray, IntArray
from bochner.features import Rows
from bochner.posterior import limits
from bochner.posterior.chebyshev import interpolation, middles, nodes


@dataclass(frozen=True)
class Patch:
    """Places close together, and the nodes of the box around them.

    Attributes
    ----------
    rows : Rows
        The m places.
    low, side : (dim,)
        The box, along the columns of `frame`.
    frame : (dim, dim)
        What takes places x to x F, along whose axes its sides are.
    counts : tuple of int
        Nodes along each side.
    closest : int
        Which of the places is closest to a row.
    """

    rows: Rows
    low: FloatArray
    side: FloatArray
    frame: FloatArray
    counts: tuple[int, ...]
    closest: int

    @classmethod
    def over(cls, rows: Rows, frame: FloatArray, tree: KDTree) -> Patch:
        """The box around some places; turned in three dimensions, where places on the globe are nearly in a plane.

        The tree holds the training rows, along the axes of `frame`.
        """
        turned = rows.coords @ frame
        closest = int(np.argmin(tree.query(turned)[0]))
        if len(frame) == 3:
            centred = turned - turned.mean(axis=0)
            frame = frame @ linalg.eigh(centred.T @ centred)[1]
            turned = rows.coords @ frame
        low, side = turned.min(axis=0), np.ptp(turned, axis=0)
        share = side / max(side.max(), 1e-300)
        thin = np.ceil(limits.PATCH_NODES * share**limits.THIN_POWER)
        counts = np.where(share > limits.FLAT_SIDE, np.clip(thin, 2, limits.PATCH_NODES), 1)
        return cls(rows, low, side, frame, tuple(int(c) for c in counts), closest)

    @cached_property
    def nodes(self) -> FloatArray:
        """Places of the nodes, (q, dim)."""
        return self._placed([nodes(c) for c in self.counts])

    @cached_property
    def middles(self) -> FloatArray:
        """Middles of the meshes between them, (c, dim): where a kink shows."""
        return self._placed([middles(c) for c in self.counts])

    @cached_property
    def posts(self) -> FloatArray:
        """The middle of the patch and of its faces, (2 dim + 1, dim): where weights of rows are found."""
        at = np.full((2 * len(self.side) + 1, len(self.side)), 0.5)
        at[np.arange(2 * len(self.side)), np.repeat(np.arange(len(self.side)), 2)] = np.tile([0.0, 1.0], len(self.side))
        return (self.low + at * self.side) @ self.back

    @cached_property
    def post_of_middle(self) -> IntArray:
        """The post closest to each middle, (c,)."""
        return np.asarray(KDTree(self._share(self.posts)).query(self._share(self.middles))[1])

    @cached_property
    def back(self) -> FloatArray:
        """What takes x F to x."""
        return np.asarray(linalg.inv(self.frame))

    @cached_property
    def to_middles(self) -> FloatArray:
        """Interpolation from the nodes to the middles, (c, q)."""
        return _middle_matrix(self.counts)

    @cached_property
    def to_places(self) -> FloatArray:
        """Interpolation from the nodes to the places, (m, q)."""
        within = self._share(self.rows.coords)
        return _products([interpolation(within[:, j], count) for j, count in enumerate(self.counts)])

    @property
    def checks(self) -> IntArray:
        """Three places that are kriged from all rows: two somewhere in the midst, and the closest to a row."""
        return np.array([len(self.rows) // 2 + len(self.rows) // 7, len(self.rows) // 5, self.closest])

    @property
    def checked(self) -> FloatArray:
        """Where they lie, (3, dim)."""
        return self.rows.coords[self.checks]

    def holds(self, coords: FloatArray, meshes: float, metrics: Sequence[FloatArray]) -> NDArray[np.bool_]:
        """Which places (n, dim) lie in the box or, in one of the metrics, within some meshes of it.

        A metric may be blind to some directions: then what lies beyond the box in those is within.
        """
        turned, mesh = coords @ self.frame, self.side / (limits.PATCH_NODES - 1)
        beyond = np.maximum(np.maximum(self.low - turned, turned - self.low - self.side), 0.0)
        held = np.zeros(len(coords), dtype=bool)
        for metric in metrics:
            own = self.back @ metric @ self.back.T
            widest = float(np.max(mesh**2 * np.diag(own)))
            if widest <= limits.FLAT_METRIC * np.trace(own) * float(np.max(mesh**2)):
                continue  # all of the patch is one place to it
            blind = limits.FLAT_METRIC * np.trace(own) * np.eye(len(own))
            reach = meshes * np.sqrt(widest * np.diag(linalg.inv(own + blind)))
            held |= (beyond <= reach).all(axis=1)
        return held

    def _share(self, coords: FloatArray) -> FloatArray:
        """Where places (n, dim) lie along each side, from 0 to 1 in the box; in the middle of one that is none."""
        flat = np.array(self.counts) == 1
        return np.where(flat, 0.5, (coords @ self.frame - self.low) / np.where(flat, 1.0, self.side))

    def _placed(self, axes: Sequence[FloatArray]) -> FloatArray:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        return (self.low + grid * self.side) @ self.back


def cells(coords: FloatArray, index: IntArray, size: int) -> list[IntArray]:
    """Places (n, dim), by their numbers, in cells of about so many each."""
    low, extent = coords.min(axis=0), np.ptp(coords, axis=0)
    *_, second, first = (0.0, *np.sort(extent))
    n_cells = max(1.0, len(coords) / size)
    side = np.sqrt(first * second / n_cells) if second * n_cells > first else first / n_cells
    if not side > 0:
        return [index]
    counts = np.maximum(1, np.round(extent / side)).astype(int)
    cell = np.minimum((counts * (coords - low) / np.where(extent > 0, extent, 1.0)).astype(int), counts - 1)
    number = np.ravel_multi_index(tuple(cell.T), tuple(counts))
    order = np.argsort(number, kind="stable")
    return [index[part] for part in np.split(order, np.flatnonzero(np.diff(number[order])) + 1)]


def _products(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows (n, q) of the products of rows (n, q_j) along each side, the last side running fastest."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


@lru_cache
def _middle_matrix(counts: tuple[int, ...]) -> FloatArray:
    return reduce(lambda a, b: np.asarray(np.kron(a, b)), [interpolation(middles(count), count) for count in counts])
