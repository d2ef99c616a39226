"""Log factorials: the constants of counts, from a table where counts are of ordinary size."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from bochner.arrays import FloatArray

_TABLE_SIZE = 65_536


def log_factorial(count: FloatArray) -> FloatArray:
    """log(count!) of whole numbers >= 0."""
    count = np.asarray(count)
    if count.size and count.max() >= _TABLE_SIZE:
        return np.asarray(special.gammaln(count + 1.0))
    return np.asarray(_table()[count.astype(np.intp)])


def log_choose(n: FloatArray, count: FloatArray) -> FloatArray:
    """Log of the number of ways to choose `count` out of n."""
    return log_factorial(n) - log_factorial(count) - log_factorial(n - count)


@cache
def _table() -> FloatArray:
    table = special.gammaln(np.arange(1.0, _TABLE_SIZE + 1))
    table.setflags(write=False)
    return np.asarray(table)
