"""Blocks: cross-validation that holds out whole squares (intervals, cubes) of the map at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray, as_coords, as_finite
from bochner.exceptions import InputError
from bochner.random import generator, seed_of
from bochner.validation import limits
from bochner.validation.coordinates import coords_of, labels_of
from bochner.validation.splitters import BoolArray, SpatialSplitter, SplitSummary, as_n_splits


def gap_size(coords: ArrayLike, seed: int = 0) -> float:
    """Side of a block as wide as the gaps that a map of the rows' box must bridge, in units of the coordinates.

    Twice the distance to the nearest row that 95 % of the places in the box stay below, at most a quarter of the
    longest side.
    """
    places = as_coords(coords)
    low, high = places.min(axis=0), places.max(axis=0)
    probes = generator(seed, "gaps").uniform(low, high, size=(5_000, places.shape[1]))
    reach = cKDTree(places).query(probes)[0]
    return float(min(2 * np.quantile(reach, 0.95), 0.25 * float((high - low).max())))


def blocks_of(coords: ArrayLike, block_size: ArrayLike, origin: ArrayLike | None = None) -> IntArray:
    """Label of the block that every row lies in.

    Parameters
    ----------
    coords : array-like of shape (n, dim)
        Places.
    block_size : float or array-like of shape (dim,)
        Side of the blocks, in units of the coordinates; one number makes squares or cubes.
    origin : array-like of shape (dim,), optional
        A corner of the grid of blocks. Default: the grid is centred on the extent of the rows, so that its
        margins are even.

    Returns
    -------
    ndarray of int, shape (n,)
        From 0 to the number of blocks that hold rows, less one, in lexicographic order of the blocks.
    """
    places = as_coords(coords)
    if not places.size:
        raise InputError(f"coords has shape {places.shape}; needed is at least one row and one coordinate.")
    side = _sizes(block_size, places.shape[1], "block_size")
    if origin is not None:
        return labels_of(np.floor((places - _per_axis(origin, places.shape[1], "origin")) / side))
    return labels_of(BlockGrid.over(places, side).cells(places))


@dataclass(frozen=True)
class BlockGrid:
    """Blocks over a box, centred on it so that margins are even: the block of any place, whatever rows there are.

    Attributes
    ----------
    start, side : (dim,)
        Corner of the first block, and sides of each.
    n_cells : (dim,)
        Blocks along each axis.
    """

    start: FloatArray
    side: FloatArray
    n_cells: FloatArray

    @classmethod
    def over(cls, places: FloatArray, side: FloatArray) -> BlockGrid:
        """Blocks over the extent of some places."""
        low, extent = places.min(axis=0), np.ptp(places, axis=0)
        # The slack keeps an extent of exactly n sides at n blocks; the clip in `cells` its last row in the last block.
        n_cells = np.maximum(np.ceil(extent / side - 1e-9), 1)
        return cls(low - (n_cells * side - extent) / 2, side, n_cells)

    def cells(self, places: FloatArray) -> FloatArray:
        """Whole numbers of the block along each axis, (n, dim)."""
        return np.asarray(np.clip(np.floor((places - self.start) / self.side), 0, self.n_cells - 1))

    def numbers(self, places: FloatArray) -> IntArray:
        """One number for the block of each place, rising in lexicographic order."""
        found = np.zeros(len(places), dtype=np.int64)
        for cell, n in zip(self.cells(places).T, self.n_cells, strict=True):
            found = found * int(n) + cell.astype(np.int64)
        return found


@dataclass(frozen=True)
class DealtBlocks:
    """Fold of every place, as dealt by a sample of the rows: blocks without a row of the sample go by their number.

    Attributes
    ----------
    grid : BlockGrid
    blocks, folds : (k,)
        Numbers of blocks with rows, rising, and their folds.
    n_splits : int
    """

    grid: BlockGrid
    blocks: IntArray
    folds: IntArray
    n_splits: int

    def fold(self, places: FloatArray) -> IntArray:
        """Fold of each place, (n,)."""
        number = self.grid.numbers(places)
        at = np.minimum(np.searchsorted(self.blocks, number), len(self.blocks) - 1)
        return np.where(self.blocks[at] == number, self.folds[at], number % self.n_splits)


@dataclass(frozen=True)
class BlockSummary(SplitSummary):
    """What a block splitter does with a table.

    Attributes
    ----------
    n_train, n_test, distance
        As in `SplitSummary`.
    block_size : tuple of float
        Side of the blocks along every axis, in units of the coordinates.
    n_blocks : int
        Blocks that hold rows.
    """

    block_size: tuple[float, ...]
    n_blocks: int

    def __str__(self) -> str:
        side = " x ".join(f"{one:.4g}" for one in self.block_size)
        return f"{self.n_blocks} blocks of {side} in {super().__str__()}"


@dataclass(frozen=True, eq=False)
class BlockKFold(SpatialSplitter):
    """K-fold cross-validation over blocks of the map.

    Neighbouring rows resemble each other, so a random split tests on rows whose neighbours it has
    trained on and flatters the model. Here whole blocks (intervals, squares, cubes) are held out
    together; every block, and so every place, belongs to exactly one fold.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    block_size : float or sequence of float, optional
        Side of the blocks, in units of the coordinates (degrees, metres), one for all axes or one per axis.
        Best about the distance over which predictions must reach. Default: a side that makes about six
        blocks per fold; `describe` tells it.
    shape : int or sequence of int, optional
        Instead of `block_size`: the number of blocks along every axis.
    shuffle : bool, default=True
        Deal blocks to folds in random order, instead of largest first.
    random_state : int, RandomState, Generator or None
        Seed of the shuffle. None is 0: the same folds every time.
    balance : bool, default=True
        Even out the number of rows per fold, to within the largest block. If False, even out the number of blocks.
    coords : name, index, or sequence of them, optional
        The columns of X that are coordinates. Default: all, or the points of a GeoDataFrame.
    buffer : float, optional
        Rows at this distance of a test row or nearer are left out of training, in units of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> summary = BlockKFold(5, block_size=0.2).describe(X)
    >>> summary.n_blocks, summary.n_test
    (25, (202, 199, 203, 200, 196))
    """

    n_splits: int = 5
    _: KW_ONLY
    block_size: Any = None
    shape: Any = None
    shuffle: bool = True
    random_state: int | RandomState | Generator | None = None
    balance: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        as_n_splits(self.n_splits, least=2)
        if self.block_size is not None and self.shape is not None:
            raise InputError(f"block_size={self.block_size} and shape={self.shape} were both given; keep one of them.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def describe(self, X: Any) -> BlockSummary:
        """Size and number of blocks, sizes of the folds and their distances."""
        summary = super().describe(X)
        places = coords_of(X, self.coords)
        side = self._side(places)
        n_blocks = int(blocks_of(places, side).max()) + 1
        parts = {part.name: getattr(summary, part.name) for part in fields(summary)}
        return BlockSummary(**parts, block_size=tuple(side.tolist()), n_blocks=n_blocks)

    def dealt(self, sample: FloatArray) -> DealtBlocks:
        """Folds of all places, from a sample of the rows that reaches as far as all of them do."""
        side = self._side(sample)
        grid = BlockGrid.over(sample, side)
        blocks, n_rows = np.unique(grid.numbers(sample), return_counts=True)
        if len(blocks) < self.n_splits:
            raise InputError(self._too_few(sample, side, len(blocks)))
        return DealtBlocks(grid, blocks, self._deal(n_rows), self.n_splits)

    def _test_masks(self, coords: FloatArray) -> Iterator[BoolArray]:
        side = self._side(coords)
        blocks = blocks_of(coords, side)
        n_rows = np.bincount(blocks)
        if len(n_rows) < self.n_splits:
            raise InputError(self._too_few(coords, side, len(n_rows)))
        fold = self._deal(n_rows)[blocks]
        return (fold == k for k in range(self.n_splits))

    def _side(self, coords: FloatArray) -> FloatArray:
        """Side of the blocks along every axis."""
        dim, extent = coords.shape[1], np.ptp(coords, axis=0)
        if not extent.any():
            raise InputError(f"All {len(coords)} rows lie at one place; needed are at least {self.n_splits} places.")
        if self.block_size is not None:
            return _sizes(self.block_size, dim, "block_size")
        if self.shape is None:
            return np.full(dim, _automatic_side(coords, self.n_splits))
        n_cells = _sizes(self.shape, dim, "shape")
        if (n_cells != np.floor(n_cells)).any():
            raise InputError(f"shape is {self.shape}; needed are whole numbers of blocks.")
        return np.where(extent > 0, extent, 1.0) / n_cells

    def _deal(self, n_rows: IntArray) -> IntArray:
        """Fold of every block."""
        order = np.argsort(-n_rows, kind="stable") if self.balance else np.arange(len(n_rows))
        if self.shuffle:
            rng = generator(seed_of(self.random_state), "block folds")
            # When balancing, the larger half is dealt at random, so that another seed gives other
            # folds; the smaller half then comes largest first, and evens them out.
            rng.shuffle(order[: (len(order) + 1) // 2] if self.balance else order)
        return _deal_evenly(order, n_rows if self.balance else np.ones_like(n_rows), self.n_splits)

    def _too_few(self, coords: FloatArray, side: FloatArray, n_blocks: int) -> str:
        extent = np.ptp(coords, axis=0)
        found = f"blocks of side {side.tolist()} over an extent of {extent.tolist()} make {n_blocks} block(s) with rows"
        if n_blocks == 1 and (side >= extent).all():
            found = f"blocks of side {side.tolist()} are larger than the extent of the rows, {extent.tolist()}"
        automatic = _automatic_side(coords, self.n_splits)
        return f"The {found}; needed are at least n_splits={self.n_splits} blocks: try block_size={automatic:.4g}."


@dataclass(frozen=True, eq=False)
class BufferedBlockKFold(BlockKFold):
    """K-fold cross-validation over blocks with an untrained buffer around them.

    `BlockKFold` with a `buffer` that must be given; all else is as there. Without a buffer, a test row at
    the edge of its block still has a training row next to it.
    """

    buffer: float = field(kw_only=True)


def _deal_evenly(order: IntArray, load: IntArray, n_folds: int) -> IntArray:
    """Fold of every block, dealt to the fold that is lightest at its turn."""
    fold = np.empty(len(load), dtype=np.intp)
    piles = [(0, k) for k in range(n_folds)]
    for block in order:
        total, k = piles[0]
        fold[block] = k
        heapq.heapreplace(piles, (total + int(load[block]), k))
    return fold


def _automatic_side(coords: FloatArray, n_folds: int) -> float:
    """Side of squares that make several times more blocks with rows than folds."""
    n_places = int(labels_of(coords).max()) + 1
    if n_places < n_folds:
        raise InputError(f"The rows lie at {n_places} place(s); needed are at least as many as folds, {n_folds}.")
    # Few places: two to a block, so that blocks remain blocks.
    wanted = min(limits.BLOCKS_PER_FOLD * n_folds, max(n_folds, n_places // 2))
    side = _side_for(np.ptp(coords, axis=0), wanted)
    # Clustered rows leave most blocks empty: shrink until enough of them hold rows.
    nearest = limits.CLOSEST * np.ptp(coords, axis=0).max()
    while (n_blocks := int(blocks_of(coords, side).max()) + 1) < wanted and side > nearest:
        side *= 0.8
    if n_blocks < n_folds:
        raise InputError(
            f"The rows lie at {n_blocks} place(s) that are more than {nearest:.3g} apart; needed are at least as many "
            f"as folds, {n_folds}."
        )
    return side


def _side_for(extent: FloatArray, n_blocks: int) -> float:
    """Side of the squares of which a box of this extent holds n_blocks."""
    longest = np.sort(extent[extent > 0])[::-1]
    for k in range(len(longest), 0, -1):
        side = float(np.exp((np.log(longest[:k]).sum() - np.log(n_blocks)) / k))
        # An axis shorter than the side holds one block and does not count.
        if side <= longest[k - 1]:
            break
    return side


def _sizes(values: ArrayLike, dim: int, name: str) -> FloatArray:
    sizes = _per_axis(values, dim, name)
    if (sizes <= 0).any():
        raise InputError(f"{name} is {values!r}; needed are numbers > 0.")
    return sizes


def _per_axis(values: ArrayLike, dim: int, name: str) -> FloatArray:
    array = as_finite(values, name)
    if array.shape not in ((), (dim,)):
        raise InputError(f"{name} has shape {array.shape}; needed is one number, or one for each of {dim} axes.")
    return np.broadcast_to(array, (dim,)).copy()
