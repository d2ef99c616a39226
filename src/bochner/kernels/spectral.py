"""The contract of a kernel that is made of waves: its spectral measure, drawn from, as a density or as lines.

By Bochner's theorem k(tau) = E cos(omega'tau) times the variance. A spectral kernel turns uniform numbers
into frequencies omega of that law. The law has a density, or it consists of lines (atoms).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bochner.arrays import FloatArray, as_coords
from bochner.exceptions import KernelError
from bochner.kernels.base import Hyperparameter, Kernel
from bochner.kernels.waves import Atoms


class SpectralKernel(Kernel):
    """Shift-invariant kernel with a spectral measure: what a frequency rule needs of it."""

    has_waves: ClassVar[bool] = True
    variance: float

    @property
    def smooth(self) -> bool:
        """Whether the frequencies move smoothly with `theta`; lines that gain or lose mass jump."""
        return True

    def n_uniforms(self, dim: int) -> int:
        """Uniform numbers that one frequency takes."""
        return dim

    def frequencies(self, uniforms: FloatArray, dim: int) -> FloatArray:
        """Frequencies (n, dim) that follow the spectral measure, from uniform numbers (n, n_uniforms(dim)).

        A wave and its negative are the same: the law of the frequencies may cover half the space.
        """
        raise NotImplementedError

    def has_density(self, dim: int) -> bool:
        """Whether the spectral measure has a density on all of R^dim."""
        return True

    def spectral_density(self, omega: ArrayLike) -> FloatArray:
        r"""Spectral density at angular frequencies, shape (m, dim) -> (m,).

        Normalised so that :math:`k(\tau) = \int S(\omega) \cos(\omega'\tau)\, d\omega`.
        """
        w = as_coords(omega, name="omega")
        self.check_dim(w.shape[1])
        return self.density(w)

    def density(self, omega: FloatArray) -> FloatArray:
        """`spectral_density`, for a kernel that has one: (m, dim) -> (m,). Trusts its input."""
        raise KernelError(
            f"the spectrum of {type(self).__name__} consists of lines, so it has no density; ask for its `atoms`, draw "
            f"frequencies by a rule, or multiply it by a kernel that has one."
        )

    def atoms(self, dim: int) -> Atoms | None:
        """Lines of the spectral measure and their masses, if it consists of lines; else None."""
        return None

    def seen(self, dim: int) -> tuple[tuple[int, ...], SpectralKernel]:
        """Axes on which the frequencies are not zero, and the kernel on these axes."""
        return tuple(range(dim)), self


class ListedKernel(SpectralKernel):
    """Spectral kernel whose learnable parameters are named in a list, each a positive number or a tuple of them."""

    learned: ClassVar[tuple[tuple[str, str], ...]]  # (name, role)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        found = []
        for name, role in self.learned:
            value = getattr(self, name)
            if isinstance(value, tuple):
                found += [Hyperparameter.named(f"{name}[{j}]", role, j) for j in range(len(value))]
            else:
                found.append(Hyperparameter.named(name, role))
        return tuple(found)

    @property
    def theta(self) -> FloatArray:
        values = [np.atleast_1d(getattr(self, name)) for name, _ in self.learned]
        return np.log(np.concatenate(values).astype(float))

    def with_theta(self, theta: FloatArray) -> Self:
        values = iter(float(v) for v in np.exp(theta))
        changes: dict[str, Any] = {}
        for name, _ in self.learned:
            old = getattr(self, name)
            changes[name] = tuple(next(values) for _ in old) if isinstance(old, tuple) else next(values)
        return self.replace(**changes)

    def scaled(self, factor: float) -> Kernel:
        return self.replace(variance=self.variance * factor)
