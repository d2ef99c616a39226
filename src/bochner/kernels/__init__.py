"""Kernels: what is similar to what.

A kernel is a frozen value with a `length_scale` (one, or one per axis), a `variance` and,
if it is shift-invariant, a spectral density. Kernels add, multiply and scale::

    kernel = Matern(length_scale=50, nu=0.5) + 0.1 * SquaredExponential(length_scale=(5, 20))
    kernel(coords)  # covariance matrix, (n, n)
    kernel.spectral_density(omega)

All but `Polynomial` and `Linear` are shift-invariant and have Fourier features.
"""

from bochner.kernels.algebra import Product, Sum, spectral_density, spectral_terms, total_variance
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.matern import Matern
from bochner.kernels.polynomial import Linear, Polynomial
from bochner.kernels.rational_quadratic import RationalQuadratic
from bochner.kernels.squared_exponential import SquaredExponential
from bochner.kernels.stationary import AxisKernel, IsotropicKernel, SimpleKernel, SpectralKernel

__all__ = [
    "AxisKernel",
    "Cauchy",
    "Hyperparameter",
    "IsotropicKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "SimpleKernel",
    "SpectralKernel",
    "SquaredExponential",
    "Sum",
    "spectral_density",
    "spectral_terms",
    "total_variance",
]
