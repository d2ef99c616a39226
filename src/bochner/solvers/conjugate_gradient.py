"""Preconditioned conjugate gradients, many right-hand sides at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bochner.solvers import limits
from bochner.solvers.base import Report

Operator = Callable[[Any], Any]  # of arrays, or of tensors


def conjugate_gradient(
    apply: Operator,
    precondition: Operator,
    b: Any,
    *,
    start: Any = None,
    probe: Operator | None = None,
    tolerance: float = 1e-3,
    residual: float = 1e-8,
    error: Any = None,
    max_iterations: int = 300,
    check_every: int = 5,
) -> tuple[Any, Report]:
    """Solve A x = b for a positive definite A known by its products; of arrays, or of tensors on a device.

    A small residual does not make a good answer where A is nearly singular. So, if `probe` is given (what the solution
    is wanted for, e.g. predictions at some places), iteration goes on until the probed values have settled:
    the change over `check_every` steps is below `tolerance` of their size. Without it, until the
    preconditioned residual has fallen to `residual`. Where every step takes away most of the error, what is left of it
    is known from the last ones (Strakos & Tichy 2002), and `error` of it is enough.

    Parameters
    ----------
    apply, precondition : callable
        Products with A and with an approximation of its inverse, on (n, k).
    b : (n, k)
        Right-hand sides, solved side by side.
    start : (n, k), optional
        Where to begin: near the solution fewer steps are needed.
    error : (k,), optional
        Errors of the solutions, in the norm of A, that are small enough.

    Returns
    -------
    x : (n, k)
        Solutions.
    report : Report
        Iterations, residual, accuracy of the probed values, whether they settled, and whether the error is bounded.
    """
    x = 0.0 * b if start is None else start + 0.0
    r = b + 0.0 if start is None else b - apply(x)
    z = precondition(r)
    p = z + 0.0
    rho = (r * z).sum(0)
    # the residual is measured by that of zero
    unit = _root(rho if start is None else (b * precondition(b)).sum(0))
    seen = None if probe is None or start is None else probe(x)  # of zero nothing has settled
    fall, accuracy, converged, iteration = 1.0, math.inf, False, 0
    bounded, taken = False, list[Any]()  # of the squared errors, by each step
    for iteration in range(1, max_iterations + 1):
        q = apply(p)
        bend = (p * q).sum(0)
        if bool((bend < 0).any()) or not math.isfinite(float(bend.sum())) or fall > limits.DIVERGED:
            break  # rounding, or errors of the products, have made A indefinite
        step = rho / bend.clip(min=1e-300)
        taken = [*taken[-2:], step * rho]
        x += step * p
        r -= step * q
        z = precondition(r)
        rho, old = (r * z).sum(0), rho
        fall = float((rho.clip(min=0.0) ** 0.5 / unit).max())
        left = None if error is None else _left(taken)
        bounded = left is not None and bool((left <= error).all())
        if fall <= residual or bounded:
            converged = True
        elif probe is not None and iteration % check_every == 0:
            now = probe(x)
            accuracy = 1.0 if seen is None else _change(now, seen)
            converged, seen = accuracy <= tolerance and fall <= 1e-3, now
        if converged:
            break
        p = z + rho / old.clip(min=1e-300) * p
    details = {"iterations": iteration, "residual": fall, "accuracy": accuracy, "converged": converged}
    if bounded:
        details |= {"accuracy": math.inf, "bounded": True}
    return x, Report("conjugate gradients", len(b), details)


def _left(taken: list[Any]) -> Any:
    """Errors that are left after steps that took away so much of their squares; None where they fall too slowly."""
    if len(taken) < 3:
        return None
    before, last, now = (each.clip(min=1e-300) for each in taken)
    first, ratio = last / before, now / last
    ratio = ratio + (first - ratio) * (first > ratio)  # the larger one
    if float(ratio.max()) > limits.FAST_FALL:
        return None
    return (now * ratio / (1 - ratio)) ** 0.5


def _root(squares: Any) -> Any:
    return squares.clip(min=1e-300) ** 0.5


def _change(now: Any, before: Any) -> float:
    """Largest change of a column, relative to its size."""
    return float((((now - before) ** 2).mean(0) / (now**2).mean(0).clip(min=1e-300)).max() ** 0.5)
