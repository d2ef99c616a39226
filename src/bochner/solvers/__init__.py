"""Solvers: the precision of the coefficients, factored."""

from bochner.solvers.base import Factor, Report
from bochner.solvers.cholesky import CholeskyFactor, cholesky_factor
from bochner.solvers.conjugate_gradient import conjugate_gradient
from bochner.solvers.device_cholesky import DeviceCholesky
from bochner.solvers.least_squares import LeastSquares, least_squares
from bochner.solvers.linear_solver import LinearSolver, LinearSystem, Solution, choose_solver, register_solver
from bochner.solvers.primal import Primal
from bochner.solvers.woodbury import WoodburyFactor, woodbury_factor

__all__ = [
    "CholeskyFactor",
    "DeviceCholesky",
    "Factor",
    "LeastSquares",
    "LinearSolver",
    "LinearSystem",
    "Primal",
    "Report",
    "Solution",
    "WoodburyFactor",
    "cholesky_factor",
    "choose_solver",
    "conjugate_gradient",
    "least_squares",
    "register_solver",
    "woodbury_factor",
]
