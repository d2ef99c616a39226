"""What the laws are tested on: a new kernel or rule is one line here."""

from __future__ import annotations

from collections.abc import Callable

from bochner.frequencies import MonteCarlo, Orthogonal, QuasiMonteCarlo, Rule, StructuredOrthogonal
from bochner.kernels import (
    Cauchy,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
)

DIMS = (1, 2, 3)

# A kernel as a function of the dimension, so that it can have a length scale per axis.
SIMPLE_KERNELS: dict[str, Callable[[int], Kernel]] = {
    "squared-exponential": lambda dim: SquaredExponential(),
    "squared-exponential-per-axis": lambda dim: SquaredExponential((0.7, 2.0, 1.3)[:dim], 1.7),
    "matern-1/2": lambda dim: Matern(1.2, nu=0.5),
    "matern-3/2": lambda dim: Matern(0.8, 2.0),
    "matern-5/2-per-axis": lambda dim: Matern((1.5, 0.6, 1.0)[:dim], nu=2.5),
    "matern-0.8": lambda dim: Matern(nu=0.8, learn_nu=True),
    "laplacian": lambda dim: Laplacian(1.4, 0.5),
    "laplacian-per-axis": lambda dim: Laplacian((1.0, 2.0, 3.0)[:dim]),
    "cauchy": lambda dim: Cauchy((1.5, 0.8, 1.1)[:dim], 1.3),
    "rational-quadratic": lambda dim: RationalQuadratic(0.9, 1.5, alpha=0.7),
    "rational-quadratic-per-axis": lambda dim: RationalQuadratic((1.0, 2.0, 0.5)[:dim], alpha=30.0),
}

KERNELS: dict[str, Callable[[int], Kernel]] = {
    **SIMPLE_KERNELS,
    "sum": lambda dim: Matern(2.0, 1.5, nu=0.5) + 0.3 * SquaredExponential((0.5, 0.8, 0.6)[:dim]),
    "product": lambda dim: Matern(2.0, 1.5) * Laplacian(3.0, 0.8),
    "product-of-isotropic": lambda dim: SquaredExponential(1.5) * Matern((1.0, 3.0, 2.0)[:dim], nu=0.5),
    "sum-of-products": lambda dim: (SquaredExponential() + Cauchy(2.0)) * Matern(2.0) + RationalQuadratic(0.7, 0.4),
}

NOT_SHIFT_INVARIANT: dict[str, Callable[[int], Kernel]] = {
    "linear": lambda dim: Linear(2.0, 1.5),
    "polynomial": lambda dim: Polynomial((1.0, 2.0, 1.5)[:dim], 0.5, degree=3, offset=0.7),
    "sum-with-linear": lambda dim: Matern() + Linear(),
    "product-with-polynomial": lambda dim: Polynomial() * SquaredExponential(2.0),
}

RULES: dict[str, Rule] = {
    "monte-carlo": MonteCarlo(),
    "quasi": QuasiMonteCarlo(),
    "quasi-radial": QuasiMonteCarlo("radial"),
    "quasi-sobol": QuasiMonteCarlo("sobol"),
    "quasi-halton": QuasiMonteCarlo("halton"),
    "orthogonal": Orthogonal(),
    "structured": StructuredOrthogonal(),
}
