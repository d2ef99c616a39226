"""Solvers: the precision of the coefficients, factored."""

from bochner.solvers.base import Factor, Report
from bochner.solvers.cholesky import CholeskyFactor, cholesky_factor
from bochner.solvers.conjugate_gradient import conjugate_gradient
from bochner.solvers.least_squares import LeastSquares, least_squares
from bochner.solvers.woodbury import WoodburyFactor, woodbury_factor

__all__ = [
    "CholeskyFactor",
    "Factor",
    "LeastSquares",
    "Report",
    "WoodburyFactor",
    "cholesky_factor",
    "conjugate_gradient",
    "least_squares",
    "woodbury_factor",
]
