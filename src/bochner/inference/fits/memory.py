"""Memory of a fit: how much each scheme takes, and how much of it a limit allows.

The figures are those of `benchmarks/memory.py`, above what the process held before the fit.
"""

from __future__ import annotations

from math import isqrt, prod

from bochner.arrays import FloatArray
from bochner.exceptions import MemoryLimitError
from bochner.features import find_grid, torus_counts
from bochner.features.limits import MAX_WAVE_DIMENSIONS
from bochner.resources import as_size


def exact_bytes(n_rows: int) -> float:
    """Of the exact kernel: five matrices of doubles are alive, its own, the factor, and what makes them."""
    return 5 * 8.0 * n_rows**2


def column_bytes(n_columns: int) -> float:
    """Of a linear model: four matrices of doubles, its Gram, the scaled precision, the factor."""
    return 4 * 8.0 * n_columns**2


def iterative_bytes(n_rows: int, dim: int) -> float:
    """Of conjugate gradients: the inverse root of all rows, the series on the torus and the remainder near them."""
    beside, per_row = {1: (2e7, 2_500), 2: (2e7, 4_500), 3: (2e8, 36_000)}[min(dim, 3)]
    return beside + per_row * n_rows


def kriging_bytes(coords: FloatArray) -> float:
    """Of conjugate gradients on these rows: less where they lie on a regular grid, whose products are plain FFTs."""
    n, dim = coords.shape
    grid = find_grid(coords) if dim <= MAX_WAVE_DIMENSIONS else None
    if grid is None:
        return iterative_bytes(n, dim)
    return grid_bytes(n, prod(torus_counts(grid)))


def grid_bytes(n_rows: int, n_nodes: int) -> float:
    """Of conjugate gradients on rows of a regular grid: their inverse root, and some arrays of the torus around it."""
    return 5e7 + 900.0 * n_rows + 40.0 * n_nodes


def nearest_bytes(n_rows: int) -> float:
    """Of kriging from the nearest rows: the inverse root of all rows, and trees over them."""
    return 1_300.0 * n_rows


def rows_bytes(n_rows: int, dim: int) -> float:
    """Of the rows themselves: places in the frame of the model, responses, and the order from coarse to fine."""
    return n_rows * (210 + 24.0 * dim)


def max_columns(memory_limit: int | None, wanted: int) -> int:
    """Columns, up to those wanted, whose fit stays within three quarters of a limit: others are alive beside it."""
    if memory_limit is None:
        return wanted
    return max(1, min(wanted, isqrt(int(0.75 * memory_limit / column_bytes(1)))))


def check_columns(memory_limit: int | None, n_waves: int) -> None:
    """Refuse as many waves as were asked for, if they do not stay within a limit."""
    most = max_columns(memory_limit, 2 * n_waves) // 2
    if memory_limit is not None and most < n_waves:
        raise MemoryLimitError(
            f"{n_waves:,} waves need about {as_size(column_bytes(2 * n_waves) / 0.75)}, more than memory_limit="
            f"{as_size(memory_limit)}; take up to {most:,} (n_frequencies), or raise the limit."
        )


def check_rows(memory_limit: int | None, n_rows: int, dim: int) -> None:
    """Refuse rows that do not stay within a limit, whatever the scheme."""
    needed = rows_bytes(n_rows, dim)
    if memory_limit is not None and needed > memory_limit:
        raise MemoryLimitError(
            f"a fit of {n_rows:,} rows takes about {as_size(needed)} for the rows alone, more than memory_limit="
            f"{as_size(memory_limit)}; give fewer rows, or raise the limit."
        )
