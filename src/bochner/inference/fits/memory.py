"""Memory of a fit: how much each scheme takes, and how much of it a limit allows.

The figures are those of `benchmarks/memory.py`, above what the process held before the fit.
"""

from __future__ import annotations

from math import isqrt, prod

from bochner.arrays import FloatArray
from bochner.exceptions import MemoryLimitError
from bochner.features import find_grid, torus_counts
from bochner.features.limits import MAX_WAVE_DIMENSIONS
from bochner.inference.fits import limits
from bochner.resources import as_size


def exact_bytes(n_rows: int) -> float:
    """Of the exact kernel: its matrix, the factor, and what makes them."""
    return limits.EXACT_MATRICES * 8.0 * n_rows**2


def column_bytes(n_columns: int) -> float:
    """Of a linear model: its Gram, the scaled precision, the factor."""
    return limits.COLUMN_MATRICES * 8.0 * n_columns**2


def iterative_bytes(n_rows: int, dim: int) -> float:
    """Of conjugate gradients: the inverse root of all rows, the series on the torus and the remainder near them."""
    return limits.CG_BYTES[min(dim, 3)] + limits.CG_BYTES_PER_ROW[min(dim, 3)] * n_rows


def kriging_bytes(coords: FloatArray) -> float:
    """Of conjugate gradients on these rows: less where they lie on a regular grid, whose products are plain FFTs."""
    n, dim = coords.shape
    grid = find_grid(coords) if dim <= MAX_WAVE_DIMENSIONS else None
    if grid is None:
        return iterative_bytes(n, dim)
    return grid_bytes(n, prod(torus_counts(grid)))


def grid_bytes(n_rows: int, n_nodes: int) -> float:
    """Of conjugate gradients on rows of a regular grid: their inverse root, and some arrays of the torus around it."""
    return limits.GRID_BYTES + limits.GRID_BYTES_PER_ROW * n_rows + limits.GRID_BYTES_PER_NODE * n_nodes


def nearest_bytes(n_rows: int) -> float:
    """Of kriging from the nearest rows: the inverse root of all rows, and trees over them."""
    return limits.NEAREST_BYTES_PER_ROW * n_rows


def rows_bytes(n_rows: int, dim: int) -> float:
    """Of the rows themselves: places in the frame of the model, responses, and the order from coarse to fine."""
    return n_rows * (limits.BYTES_PER_ROW + 24.0 * dim)


def max_columns(memory_limit: int | None, wanted: int) -> int:
    """Columns, up to those wanted, whose fit stays within a limit."""
    if memory_limit is None:
        return wanted
    return max(1, min(wanted, isqrt(int(limits.SPARE_MEMORY * memory_limit / (8 * limits.COLUMN_MATRICES)))))


def check_columns(memory_limit: int | None, n_waves: int) -> None:
    """Refuse as many waves as were asked for, if they do not stay within a limit."""
    needed = column_bytes(2 * n_waves) / limits.SPARE_MEMORY
    if memory_limit is not None and needed > memory_limit:
        most = max_columns(memory_limit, 2 * n_waves) // 2
        raise MemoryLimitError(
            f"{n_waves:,} waves need about {as_size(needed)}, more than memory_limit={as_size(memory_limit)}; take up "
            f"to {most:,} (n_frequencies), or raise the limit."
        )


def check_rows(memory_limit: int | None, n_rows: int, dim: int) -> None:
    """Refuse rows that do not stay within a limit, whatever the scheme."""
    needed = rows_bytes(n_rows, dim)
    if memory_limit is not None and needed > memory_limit:
        raise MemoryLimitError(
            f"a fit of {n_rows:,} rows takes about {as_size(needed)} for the rows alone, more than memory_limit="
            f"{as_size(memory_limit)}; give fewer rows, or raise the limit."
        )
