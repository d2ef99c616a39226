"""Exponentials that do not overflow."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray

# exp(700) is 1e304: a little room below the largest float for products with it.
LARGEST_EXPONENT = 700.0


def bounded_exp(x: FloatArray) -> FloatArray:
    """exp, held at exp(700) so that nothing overflows."""
    return np.asarray(np.exp(np.minimum(x, LARGEST_EXPONENT)))


def softplus(x: FloatArray) -> FloatArray:
    """log(1 + exp(x)), accurate in both tails."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))
