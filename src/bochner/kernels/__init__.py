"""Kernels: what is similar to what.

A kernel is a frozen value with a `length_scale` (one, or one per axis), a `variance` and,
if it is shift-invariant, a spectral measure. Kernels add, multiply and scale::

    kernel = Matern(length_scale=50, nu=0.5) + 0.1 * SquaredExponential(length_scale=(5, 20))
    kernel(coords)  # covariance matrix, (n, n)
    kernel.spectral_density(omega)

All but `Polynomial` and `Linear` are shift-invariant and have Fourier features. `OnAxes` lets a kernel see some of
the coordinates only, `Separable` multiplies one in space with one in time::

    kernel = Separable(Matern(length_scale=50), Matern(length_scale=7, nu=0.5))  # the last coordinate is time
"""

from bochner.kernels.axes import Axes
from bochner.kernels.base import Hyperparameter, Kernel, Product, Sum
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.empirical import Empirical
from bochner.kernels.gneiting import Gneiting
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.matern import Matern
from bochner.kernels.measure import Piece, pieces_of, spectral_density, spectral_terms, total_variance
from bochner.kernels.metric import axis_groups, axis_units, measured, reaches
from bochner.kernels.names import NAMED_KERNELS, kernel_named, register_kernel
from bochner.kernels.on_axes import OnAxes
from bochner.kernels.periodic import Periodic
from bochner.kernels.periodogram import Peaks, spectral_lines, spectral_peaks
from bochner.kernels.polynomial import Linear, Polynomial
from bochner.kernels.rational_quadratic import RationalQuadratic
from bochner.kernels.roles import Role, Scale, Start, register_role
from bochner.kernels.separable import Separable
from bochner.kernels.slopes import MatrixSlopes, Slopes
from bochner.kernels.spectral import SpectralKernel
from bochner.kernels.spectral_mixture import SpectralMixture
from bochner.kernels.squared_exponential import SquaredExponential
from bochner.kernels.stationary import AxisKernel, IsotropicKernel, SimpleKernel, covariances, variances_of_sums
from bochner.kernels.turning import along, own_axes
from bochner.kernels.waves import Waves

__all__ = [
    "NAMED_KERNELS",
    "Axes",
    "AxisKernel",
    "Cauchy",
    "Empirical",
    "Gneiting",
    "Hyperparameter",
    "IsotropicKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MatrixSlopes",
    "OnAxes",
    "Peaks",
    "Periodic",
    "Piece",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Role",
    "Scale",
    "Separable",
    "SimpleKernel",
    "Slopes",
    "SpectralKernel",
    "SpectralMixture",
    "SquaredExponential",
    "Start",
    "Sum",
    "Waves",
    "along",
    "axis_groups",
    "axis_units",
    "covariances",
    "kernel_named",
    "measured",
    "own_axes",
    "pieces_of",
    "reaches",
    "register_kernel",
    "register_role",
    "spectral_density",
    "spectral_lines",
    "spectral_peaks",
    "spectral_terms",
    "total_variance",
    "variances_of_sums",
]
