"""Covariances between two sets of places, by the compiled loops where NumPy would read tables in a dozen passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import Kernel, covariances
from bochner.neighbours import limits
from bochner.neighbours.compiled import has_compiler, values_alone


def cross_covariance(kernel: Kernel, x: FloatArray, z: FloatArray) -> FloatArray:
    """Covariances (n, m) of places x (n, dim) with places z (m, dim)."""
    ready = values_alone(kernel, x.shape[1]) if _is_compiled(kernel, len(x) * len(z)) else None
    return kernel.covariance(x, z) if ready is None else ready.covariance(x, z)


def cross_covariances(kernels: Sequence[Kernel], x: FloatArray, z: FloatArray, dtype: Any = np.float64) -> FloatArray:
    """The same under several kernels, (k, n, m)."""
    if not any(_is_compiled(kernel, len(x) * len(z)) for kernel in kernels):
        return covariances(kernels, x, z, dtype)
    return np.stack([cross_covariance(kernel, x, z).astype(dtype, copy=False) for kernel in kernels])


def _is_compiled(kernel: Kernel, n_pairs: int) -> bool:
    """Whether loops pay: for kernels that are tables anyway, where the loops have been needed before."""
    if n_pairs < limits.LEAST_PAIRS or "bochner.neighbours.compiled_loops" not in sys.modules or not has_compiler():
        return False
    return any(getattr(leaf, "by_table", False) for leaf in kernel.leaves())
