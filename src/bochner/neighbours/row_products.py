"""Products with a sparse matrix, whose rows threads share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from bochner.arrays import FloatArray
from bochner.neighbours import limits
from bochner.neighbours.compiled import has_compiler, remainder_loops
from bochner.resources import in_threads


def row_products(matrix: sparse.csr_array) -> Callable[[FloatArray], FloatArray]:
    """Columns (n, q) to the matrix times them, (m, q)."""
    if matrix.nnz < limits.SHARED_ENTRIES or not has_compiler():
        return lambda columns: np.asarray(matrix @ columns)
    pointer, index, data = matrix.indptr, matrix.indices, matrix.data
    step = max(1, int(limits.SHARED_ENTRIES * len(pointer) / matrix.nnz))
    runs = [slice(start, min(start + step, len(pointer) - 1)) for start in range(0, len(pointer) - 1, step)]

    def times(columns: FloatArray) -> FloatArray:
        out, given = np.empty((len(pointer) - 1, columns.shape[1])), np.ascontiguousarray(columns)
        loop = remainder_loops().row_products
        list(in_threads(lambda run: loop(pointer[run.start : run.stop + 1], index, data, given, out[run]), runs))
        return out

    return times
