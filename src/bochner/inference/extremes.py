"""Extremes: numbers so large or small that doubles do not hold what a fit makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bochner.exceptions import ConvergenceError, KernelError
from bochner.inference import limits
from bochner.kernels import Kernel, Scale
from bochner.posterior import Posterior


def check_extremes(kernel: Kernel, scale: Scale, *, gaussian: bool) -> None:
    """Refuse a kernel whose ranges or variances are out of all proportion to the data."""
    for parameter, theta in zip(kernel.hyperparameters, kernel.theta, strict=True):
        role = parameter.role
        sides = scale.extent[scale.extent > 0]
        if role.power_of_length and len(sides):
            log_ratio = float(theta) - role.power_of_length * float(np.log(sides.max()))
            if abs(log_ratio) > np.log(limits.EXTREME_LENGTH):
                raise _extreme(kernel, parameter.name, theta, f"coordinates extend over {sides.max():.3g}")
        if role.is_variance and gaussian and scale.variance > 0:
            log_ratio = float(theta) - float(np.log(scale.variance))
            if abs(log_ratio) > np.log(limits.EXTREME_VARIANCE):
                raise _extreme(kernel, parameter.name, theta, f"responses have the variance {scale.variance:.3g}")


@contextmanager
def overflow_told() -> Iterator[None]:
    """Errors of linear algebra that met infinities, as one of ours."""
    try:
        yield
    except ConvergenceError:
        raise
    except (np.linalg.LinAlgError, ZeroDivisionError, FloatingPointError, OverflowError) as error:
        raise _overflow(str(error)) from error
    except ValueError as error:
        if "infs or NaNs" not in str(error):  # of scipy, which checks what it is given
            raise
        raise _overflow(str(error)) from error


def check_finite(posterior: Posterior) -> None:
    """Refuse a fit that ended in something else than numbers."""
    row_coef = posterior.row_coef
    parts = (posterior.trend_coef, posterior.feature_coef, np.zeros(0) if row_coef is None else row_coef)
    if not all(np.isfinite(part).all() for part in parts):
        raise _overflow("its coefficients are no numbers")


def _extreme(kernel: Kernel, name: str, theta: float, data: str) -> KernelError:
    with np.errstate(over="ignore"):
        value = np.exp(theta)
    return KernelError(
        f"{type(kernel).__name__}: {name} is {value:.3g}, and the {data}; no double holds what a fit makes of the two. "
        f"Give a value nearer to the data, or let it be learned."
    )


def _overflow(told: str) -> ConvergenceError:
    return ConvergenceError(
        f"the fit cannot be computed in double precision ({told}); give coordinates, responses, kernel and noise "
        f"variance in units in which they are neither huge nor tiny, or let kernel and noise be learned."
    )
