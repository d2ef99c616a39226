"""Preconditioned conjugate gradients, many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.arrays import FloatArray
from bochner.solvers import limits
from bochner.solvers.base import Report

Operator = Callable[[FloatArray], FloatArray]


def conjugate_gradient(
    apply: Operator,
    precondition: Operator,
    b: FloatArray,
    *,
    start: FloatArray | None = None,
    probe: Operator | None = None,
    tolerance: float = 1e-3,
    residual: float = 1e-8,
    max_iterations: int = 300,
    check_every: int = 5,
) -> tuple[FloatArray, Report]:
    """Solve A x = b for a positive definite A known by its products.

    A small residual does not make a good answer where A is nearly singular. So, if `probe` is given (what the solution
    is wanted for, e.g. predictions at some places), iteration goes on until the probed values have settled:
    the change over `check_every` steps is below `tolerance` of their spread. Without it, until the
    preconditioned residual has fallen to `residual`.

    Parameters
    ----------
    apply, precondition : callable
        Products with A and with an approximation of its inverse, on (n, k).
    b : (n, k)
        Right-hand sides, solved side by side.
    start : (n, k), optional
        Where to begin: near the solution fewer steps are needed.

    Returns
    -------
    x : (n, k)
        Solutions.
    report : Report
        Iterations, residual, accuracy of the probed values, and whether they settled.
    """
    x = np.zeros_like(b) if start is None else start.copy()
    r = b.copy() if start is None else b - apply(x)
    z = precondition(r)
    p = z.copy()
    rho = np.sum(r * z, axis=0)
    # the residual is measured by that of zero
    unit = np.sqrt(np.maximum(rho if start is None else np.sum(b * precondition(b), axis=0), 1e-300))
    seen = None if probe is None else probe(x)
    fall, accuracy, converged, iteration = 1.0, np.inf, False, 0
    for iteration in range(1, max_iterations + 1):
        q = apply(p)
        bend = np.sum(p * q, axis=0)
        if np.any(bend < 0) or not np.all(np.isfinite(bend)) or fall > limits.DIVERGED:
            break  # rounding, or errors of the products, have made A indefinite
        step = rho / np.maximum(bend, 1e-300)
        x += step * p
        r -= step * q
        z = precondition(r)
        rho, old = np.sum(r * z, axis=0), rho
        fall = float(np.max(np.sqrt(np.maximum(rho, 0.0)) / unit))
        if fall <= residual:
            converged = True
        elif probe is not None and iteration % check_every == 0:
            now = probe(x)
            assert seen is not None
            accuracy = float(np.max(np.std(now - seen, axis=0) / np.maximum(np.std(now, axis=0), 1e-300)))
            converged, seen = accuracy <= tolerance and fall <= 1e-3, now
        if converged:
            break
        p = z + rho / np.maximum(old, 1e-300) * p
    details = {"iterations": iteration, "residual": fall, "accuracy": accuracy, "converged": converged}
    return x, Report("conjugate gradients", len(b), details)
