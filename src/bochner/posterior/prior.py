"""Prior: a model before it has seen data, to draw surfaces and observations from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from scipy.sparse.linalg import spsolve_triangular

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.families import Family, family_named
from bochner.kernels import Kernel
from bochner.neighbours import maximin_order
from bochner.neighbours.inverse_root import whitening_rows
from bochner.posterior import draw_gaussian, limits


@dataclass(frozen=True)
class Prior:
    """Gaussian field of a kernel, seen through a family.

    Parameters
    ----------
    kernel : Kernel
        In the units of the places that are drawn at.
    family : Family
        Its dispersion, where it has one, is a number.
    intercept : float
        Mean of the linear predictor.
    noise_variance : float
        Of the noise of a Gaussian observation; for other families of an effect of each row, on the link scale.
    """

    kernel: Kernel
    family: Family = field(default_factory=lambda: family_named("gaussian"))
    intercept: float = 0.0
    noise_variance: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise_variance) and self.noise_variance >= 0):
            raise InputError(f"noise_variance is {self.noise_variance}; needed is a number >= 0.")
        if self.family.unknown and not self.family.observes_eta:
            raise InputError(f"family {self.family.name!r} has a {self.family.unknown[0]} to be set; give it a number.")

    def draw(
        self, places: FloatArray, n_draws: int, rng: Generator, size: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Surfaces on the response scale and observations of them, (n_draws, n) each.

        `size` holds trials or exposure (n,). Exact for up to 3,000 distinct places; beyond, each place is drawn given
        its 60 nearest among those before it, coarse to fine.
        """
        eta = self.intercept + draw_field(self.kernel, places, n_draws, rng)
        noisy = eta + np.sqrt(self.noise_variance) * rng.standard_normal(eta.shape)
        if self.family.observes_eta:
            return eta, noisy
        return self.family.mean(eta), self.family.draw(noisy, np.ones(len(places)) if size is None else size, rng)


def draw_field(kernel: Kernel, places: FloatArray, n_draws: int, rng: Generator) -> FloatArray:
    """Draws of a field of mean zero at places (n, dim), (n_draws, n)."""
    distinct, of_row = np.unique(places, axis=0, return_inverse=True)
    n = len(distinct)
    if n <= limits.MAX_EXACT_DRAWS:
        return draw_gaussian(np.zeros(n), kernel(distinct), n_draws, rng)[:, of_row.ravel()]
    if not kernel.stationary:
        raise InputError(
            f"{type(kernel).__name__} is not shift-invariant and there are {n:,} places; needed are at most "
            f"{limits.MAX_EXACT_DRAWS:,}."
        )
    order = maximin_order(distinct, 0)
    noise = np.full(n, limits.PRIOR_JITTER * float(kernel.diag(distinct[:1])[0]))
    root = whitening_rows(kernel, noise, distinct[order], np.arange(n), limits.PRIOR_NEIGHBOURS, np.arange(n))
    draws = np.empty((n_draws, n))
    draws[:, order] = spsolve_triangular(root, rng.standard_normal((n, n_draws)), lower=True).T
    return draws[:, of_row.ravel()]
