"""What the laws are tested on: a new kernel or rule is one line here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.frequencies import MonteCarlo, Orthogonal, QuasiMonteCarlo, Rule, StructuredOrthogonal
from bochner.kernels import (
    Cauchy,
    Empirical,
    Gneiting,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnAxes,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Separable,
    SpectralMixture,
    SquaredExponential,
)

DIMS = (1, 2, 3)
MakeKernel = Callable[[int], Kernel]

# A kernel as a function of the dimension, so that it can have a length scale per axis.
SIMPLE_KERNELS: dict[str, MakeKernel] = {
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

KERNELS: dict[str, MakeKernel] = {
    **SIMPLE_KERNELS,
    "sum": lambda dim: Matern(2.0, 1.5, nu=0.5) + 0.3 * SquaredExponential((0.5, 0.8, 0.6)[:dim]),
    "product": lambda dim: Matern(2.0, 1.5) * Laplacian(3.0, 0.8),
    "product-of-isotropic": lambda dim: SquaredExponential(1.5) * Matern((1.0, 3.0, 2.0)[:dim], nu=0.5),
    "sum-of-products": lambda dim: (SquaredExponential() + Cauchy(2.0)) * Matern(2.0) + RationalQuadratic(0.7, 0.4),
}

# Spectra with peaks, lines and axes of their own. Space and time need two axes: in 1-D the first part is left.
WITH_DENSITY: dict[str, MakeKernel] = {
    "spectral-mixture": lambda dim: SpectralMixture(
        np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])[:, :dim], [0.4, 0.7], [1.2, 0.5]
    ),
    "quasi-periodic": lambda dim: SquaredExponential(2.0, 1.3) * OnAxes(Periodic(0.9, 1.5), -1),
    "separable": lambda dim: Separable(Matern(1.2, 1.7), Matern(0.7)) if dim > 1 else OnAxes(Matern(1.2), 0),
    "separable-time-first": lambda dim: (
        Separable(SquaredExponential(1.1) + Matern(0.6, 0.5, nu=2.5), RationalQuadratic(2.0), time_axes=0)
        if dim > 1
        else OnAxes(SquaredExponential(1.1) + Matern(0.6, 0.5), -1)
    ),
}
WITHOUT_DENSITY: dict[str, MakeKernel] = {
    "periodic": lambda dim: Periodic(0.8, 1.7, 1.3),
    "periodic-per-axis": lambda dim: Periodic((0.5, 1.0, 2.0)[:dim], (1.5, 2.0, 3.0)[:dim]),
    "empirical": lambda dim: Empirical(np.random.default_rng(0).normal(size=(50, dim)), 1.4),
    "seasons": lambda dim: (
        Separable(Matern(0.9, 1.3), Periodic(0.7, 2.0)) if dim > 1 else Matern(0.9) + Periodic(0.7, 2.0)
    ),
    "space-plus-time": lambda dim: (
        OnAxes(SquaredExponential(0.8, 1.2), without=-1) + OnAxes(Matern(1.4), -1) + Separable(Matern(), Matern(2.0))
        if dim > 1
        else Periodic(0.9, 2.0) + Matern(1.4)
    ),
    "lines-times-lines": lambda dim: Periodic(1.2, 2.0) * OnAxes(Periodic(0.9, 1.3, 0.8), 0),
}
# Neither a density nor lines: waves can be drawn, a lattice cannot hold them.
NO_LATTICE: dict[str, MakeKernel] = {
    "gneiting": lambda dim: Gneiting(1.2, 0.8, 1.5, 0.6) if dim > 1 else Matern(1.2, nu=0.5),
    "gneiting-smooth": lambda dim: (
        Gneiting((1.2, 0.7)[: dim - 1], 1.5, interaction=0.9, nu=1.5, alpha=1.0) if dim > 1 else Matern(1.2)
    ),
    "gneiting-separable": lambda dim: Gneiting(0.9, 0.8, interaction=0.0, alpha=0.8) if dim > 1 else Matern(0.9),
    "lines-across-a-density": lambda dim: (
        OnAxes(Matern(1.1), 0) * Empirical(np.random.default_rng(1).normal(size=(30, dim)))
        if dim > 1
        else Matern(1.1) * Empirical([1.0, 2.0])
    ),
}
RICH_KERNELS: dict[str, MakeKernel] = {**WITH_DENSITY, **WITHOUT_DENSITY, **NO_LATTICE}

NOT_SHIFT_INVARIANT: dict[str, MakeKernel] = {
    "linear": lambda dim: Linear(2.0, 1.5),
    "polynomial": lambda dim: Polynomial((1.0, 2.0, 1.5)[:dim], 0.5, degree=3, offset=0.7),
    "sum-with-linear": lambda dim: Matern() + Linear(),
    "product-with-polynomial": lambda dim: Polynomial() * SquaredExponential(2.0),
    "linear-on-an-axis": lambda dim: OnAxes(Linear(), 0) * Matern(),
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
