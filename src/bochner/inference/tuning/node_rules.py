"""Few nodes for many: a Gauss rule of a law on a line, and a sample of weighted points that loses the least."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray, IntArray


def gauss_rule(x: FloatArray, mass: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and masses of the Gauss rule of a discrete law: 2 order - 1 of its moments (Golub & Welsch 1969)."""
    basis, diagonal, beside = [np.sqrt(mass)], [], []
    for _ in range(order):
        v = x * basis[-1]
        diagonal.append(float(v @ basis[-1]))
        for _ in range(2):  # twice is enough against rounding
            v = v - sum((v @ b) * b for b in basis)
        size = float(np.linalg.norm(v))
        if size < 1e-8 * (1 + abs(diagonal[-1])):
            break
        beside.append(size)
        basis.append(v / size)
    k = len(diagonal)
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[: k - 1], 1) + np.diag(beside[: k - 1], -1))
    return values, vectors[0] ** 2


def thinned(mass: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    """At most so many of the nodes, with new masses: the heavy ones as they are, of the others every so many-th.

    What is left out is represented by its neighbours in the order given (Fearnhead & Clifford 2003).
    """
    if len(mass) <= most:
        return np.arange(len(mass)), mass
    heaviest = np.sort(mass)[::-1]
    left = np.r_[1.0, 1.0 - np.cumsum(heaviest)]
    unit = next(left[k] / (most - k) for k in range(most) if heaviest[k] * (most - k) <= left[k])
    light = mass <= unit
    steps = np.floor(np.cumsum(np.where(light, mass, 0.0)) / unit + 0.5)
    kept = ~light | (np.diff(steps, prepend=0.0) > 0)
    new = np.where(light, unit, mass)[kept]
    return np.flatnonzero(kept), np.asarray(new / new.sum())
