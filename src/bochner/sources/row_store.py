"""Row store: rows sorted by place in one file, so that those of any small region are read alone.

Space is cut into the cells of a tree (halved along every axis where it is crowded), and the cells follow each other in
Morton order: a cell is a box, and a range of the file. Each part of the rows first becomes a file of its own, sorted by
cell, in any order and from any machine; these are then merged into one Parquet file with a row group per cell, sorted
along the same curve within. Files appear when they are complete, so that sorting may be killed at any moment.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import InputError, MissingExtraError, StoreError
from bochner.outputs import completed
from bochner.sources import limits


@dataclass(frozen=True)
class Cells:
    """Leaves of a tree over a box, in Morton order.

    Attributes
    ----------
    low, side : (dim,)
        Corner and side lengths of the box.
    depth : int
        Halvings of the finest cell.
    first : (k,)
        Morton numbers, at the finest depth, with which the cells begin; rising.
    """

    low: FloatArray
    side: FloatArray
    depth: int
    first: np.ndarray

    @classmethod
    def over(cls, places: FloatArray, box: tuple[FloatArray, FloatArray], most: float) -> Cells:
        """Cells that hold at most so many of some places (a sample), as far as halving goes."""
        low, side = np.asarray(box[0]), np.asarray(box[1] - box[0])
        dim = places.shape[1]
        depth = limits.STORE_DEPTH // dim
        blank = cls(low, side, depth, np.zeros(1, dtype=np.uint64))
        keys = np.sort(blank.keys(places))
        first: list[int] = []
        pending = [(0, 0)]
        while pending:  # depth first, the first octant on top: so they come in Morton order
            start, level = pending.pop()
            width = 1 << (dim * (depth - level))
            inside = np.searchsorted(keys, np.array([start, start + width - 1], dtype=np.uint64), side="left")
            if inside[1] - inside[0] > most and level < depth:
                part = width >> dim
                pending += [(start + part * i, level + 1) for i in reversed(range(1 << dim))]
            else:
                first.append(start)
        return cls(low, side, depth, np.array(first, dtype=np.uint64))

    def __len__(self) -> int:
        return len(self.first)

    def keys(self, places: FloatArray) -> np.ndarray:
        """Morton number of each place at the finest depth; places beyond the box count as on its edge."""
        dim = places.shape[1]
        unit = np.clip((places - self.low) / self.side, 0.0, 1.0)
        index = np.minimum((unit * (1 << self.depth)).astype(np.uint64), np.uint64((1 << self.depth) - 1))
        keys = np.zeros(len(places), dtype=np.uint64)
        for bit in range(self.depth):
            for axis in range(dim):
                keys |= ((index[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * dim + axis)
        return keys

    def of(self, keys: np.ndarray) -> IntArray:
        """Cell of each Morton number."""
        return np.asarray(np.searchsorted(self.first, keys, side="right") - 1, dtype=np.intp)

    @cached_property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Low and high corners of the cells, (k, dim) each."""
        dim = len(self.low)
        after = np.append(self.first[1:], np.uint64(1) << np.uint64(dim * self.depth))
        width = (after - self.first).astype(np.float64)
        size = width ** (1 / dim) / (1 << self.depth)
        corner = np.zeros((len(self), dim))
        for bit in range(self.depth):
            for axis in range(dim):
                on = (self.first >> np.uint64(bit * dim + axis)) & np.uint64(1)
                corner[:, axis] += on.astype(np.float64) * 2.0 ** (bit - self.depth)
        low = self.low + corner * self.side
        return low, low + size[:, None] * self.side


@dataclass(frozen=True)
class StoreWriter:
    """Rows on their way into a store: `begin`, `put` every part, `close`. A plain value, which may travel to workers.

    Attributes
    ----------
    folder : str
        Its own.
    cells : Cells
    names : tuple of str
        Columns beside the places.
    mark : str
        What tells these rows from others: with it, sorting that was killed is gone on with.
    """

    folder: str
    cells: Cells
    names: tuple[str, ...]
    mark: str = ""

    def begin(self, *, resume: bool = False) -> int | None:
        """Make the folder, or go on with it: the number of parts that are there, None where the store is complete."""
        _parquet()
        folder = Path(self.folder)
        index, sorting = folder / INDEX, folder / SORTING
        if resume and index.exists() and json.loads(index.read_text()).get("mark") == self._mark:
            return None
        if resume and sorting.exists() and sorting.read_text() == self._mark:
            return next(i for i in itertools.count() if not self._part(i).exists())
        if folder.exists() and any(folder.iterdir()) and not (index.exists() or sorting.exists()):
            raise InputError(f"the store {folder} is a folder with other files; give one of its own.")
        shutil.rmtree(folder, ignore_errors=True)
        (folder / PARTS).mkdir(parents=True)
        sorting.write_text(self._mark)
        return 0

    def put(self, number: int, places: FloatArray, columns: Sequence[FloatArray]) -> None:
        """The rows of a part, as a file: how many each cell has, then they themselves, cell by cell."""
        cell = self.cells.of(self.cells.keys(places))
        table = np.column_stack([places, *columns])[np.argsort(cell, kind="stable")]
        with completed(self._part(number)) as partial, open(partial, "wb") as file:
            file.write(np.bincount(cell, minlength=len(self.cells)).astype(np.int64).tobytes())
            file.write(np.ascontiguousarray(table).tobytes())

    def close(self) -> RowStore:
        """Merge the parts, and write the file and its index."""
        import pyarrow as pa

        folder, dim = Path(self.folder), len(self.cells.low)
        names = [*(f"x{i}" for i in range(dim)), *self.names]
        schema = pa.schema([(name, pa.float64()) for name in names])
        parts = sorted(part for part in (folder / PARTS).iterdir() if part.name.isdigit())  # others were not completed
        counts = np.sum([np.fromfile(part, np.int64, len(self.cells)) for part in parts], axis=0)
        begin = [8 * len(self.cells)] * len(parts)
        with (
            completed(folder / ROWS) as partial,
            _parquet().ParquetWriter(partial, schema, compression="none", use_dictionary=False) as file,
        ):
            for first, last in _runs(counts, limits.SORTED_ROWS):
                found = [self._run(part, begin, i, first, last, len(names)) for i, part in enumerate(parts)]
                rows = np.concatenate(found)
                rows = rows[np.argsort(self.cells.keys(rows[:, :dim]), kind="stable")]  # cells are ranges of keys
                for one in np.split(rows, np.cumsum(counts[first:last])[:-1]):
                    file.write_table(pa.table(dict(zip(names, one.T, strict=True)), schema), row_group_size=1 << 30)
        index = {
            "low": self.cells.low.tolist(),
            "side": self.cells.side.tolist(),
            "depth": self.cells.depth,
            "first": [int(k) for k in self.cells.first],
            "counts": counts.tolist(),
            "names": list(self.names),
            "mark": self._mark,
        }
        with completed(folder / INDEX) as partial:
            partial.write_text(json.dumps(index))
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        (folder / SORTING).unlink(missing_ok=True)
        return self.store()

    def store(self) -> RowStore:
        """The store of a folder that is complete."""
        forget()
        return RowStore(str(Path(self.folder).resolve()))

    def _run(self, part: Path, begin: list[int], i: int, first: int, last: int, width: int) -> FloatArray:
        """Rows of some cells in a part, which come one after the other; `begin` is moved on."""
        with open(part, "rb") as file:
            file.seek(8 * first)
            n = int(np.frombuffer(file.read(8 * (last - first)), np.int64).sum())
            file.seek(begin[i])
            rows = np.frombuffer(file.read(8 * n * width)).reshape(n, width)
        begin[i] += rows.nbytes
        return rows

    def _part(self, number: int) -> Path:
        return Path(self.folder) / PARTS / f"{number:09d}"

    @property
    def _mark(self) -> str:
        told = (self.mark, self.names, self.cells.depth, self.cells.low.tolist(), self.cells.side.tolist())
        return hashlib.sha256(repr(told).encode() + self.cells.first.tobytes()).hexdigest()


def _runs(counts: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Cells one after the other that hold at most so many rows together, or one cell."""
    first, rows = 0, 0
    for i, n in enumerate(counts):
        if i > first and rows + n > most:
            yield first, i
            first, rows = i, 0
        rows += int(n)
    yield first, len(counts)


INDEX, ROWS, PARTS, SORTING = "index.json", "rows.parquet", "parts", "sorting"


@dataclass(frozen=True)
class RowStore:
    """Rows in a folder, sorted by place. A plain value: the folder is looked at when rows are asked for."""

    folder: str

    @property
    def cells(self) -> Cells:
        """Cells of the rows."""
        return _index(self.folder)[0]

    @property
    def counts(self) -> IntArray:
        """Rows of each cell."""
        return _index(self.folder)[1]

    def read(self, cells: Sequence[int]) -> FloatArray:
        """Rows of some cells, (n, dim + columns): places first."""
        counts = self.counts
        groups = [int(c) for c in cells if counts[c]]
        n_columns = len(self.cells.low) + len(_index(self.folder)[2])
        if not groups:
            return np.zeros((0, n_columns))
        with _parquet().ParquetFile(Path(self.folder) / ROWS) as file:
            table = file.read_row_groups(groups, use_threads=False)
        return np.column_stack([column.to_numpy() for column in table.columns])

    def around(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Rows within a box."""
        first, last = self.cells.boxes
        near = np.flatnonzero(np.all((first <= high) & (last >= low), axis=1))
        rows = self.read([int(c) for c in near])
        places = rows[:, : len(low)]
        return rows[np.all((places >= low) & (places <= high), axis=1)]


@lru_cache(maxsize=8)
def _index(folder: str) -> tuple[Cells, IntArray, list[str]]:
    path = Path(folder) / INDEX
    if not path.exists():
        raise StoreError(
            f"the model answers from the rows in {folder}, which is not there; put the folder back, or fit again."
        )
    index: dict[str, Any] = json.loads(path.read_text())
    cells = Cells(
        np.array(index["low"]), np.array(index["side"]), index["depth"], np.array(index["first"], dtype=np.uint64)
    )
    return cells, np.array(index["counts"], dtype=np.intp), index["names"]


def forget() -> None:
    """Read the indexes of stores anew: a folder has been moved, or written again."""
    _index.cache_clear()


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("a store of rows needs pyarrow; pip install 'bochner[table]'") from error
    return parquet
