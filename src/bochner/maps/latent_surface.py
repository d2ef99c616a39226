"""LatentSurface: the linear predictor as a smooth function of the place, for maps with inputs of every pixel.

Its mean is linear in the inputs z, its variance quadratic, and the coefficients are smooth:

    mean(x, z) = m(x) + b'(z - z0),    variance(x, z) = v(x) + c(x)'(z - z0) + (z - z0)'C(z - z0),

with b and C the same everywhere. m, v and c are interpolated, and the bands follow pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.maps.law import law_at, law_of
from bochner.maps.pixels import Pixels
from bochner.posterior import Latent
from bochner.posterior.response import Response

N_TRIED = 100  # places at which the form of the surface is checked
SPREAD = np.array([[-2.0], [0.0], [2.0]])  # inputs at which errors are judged, in steps from their middle


@dataclass
class LatentSurface:
    """The linear predictor of every component of a model, as a function of place and inputs.

    Parameters
    ----------
    pixels, options, tolerance
        As of `BandSurface`.
    fixed : mapping of str to float
        Columns that are the same everywhere.
    varying : sequence of str
        The q columns that differ from pixel to pixel.
    middle, step : array of shape (q,)
        Their typical value and spread.
    """

    pixels: Pixels
    fixed: Mapping[str, float]
    varying: Sequence[str]
    middle: FloatArray
    step: FloatArray
    options: dict[str, Any]
    tolerance: float
    slope: FloatArray = field(init=False)  # b, (components, q)
    bend: FloatArray = field(init=False)  # C, (components, q, q)

    def learn(self, coords: FloatArray) -> None:
        """Find b and C at one place, (1, 2)."""
        q = len(self.step)
        unit = np.diag(self.step)
        pairs = [(i, j) for i in range(q) for j in range(i, q)]
        design = np.array([np.zeros(q), *unit, *(unit[i] + unit[j] for i, j in pairs)])
        moments = self.moments_at(np.repeat(coords, len(design), axis=0), self.middle + design)
        mean, variance = moments.means, moments.variances
        self.slope = (mean[:, 1 : q + 1] - mean[:, :1]) / self.step
        self.bend = np.zeros((len(mean), q, q))
        for n, (i, j) in enumerate(pairs, start=q + 1):
            second = variance[:, n] - variance[:, 1 + i] - variance[:, 1 + j] + variance[:, 0]
            self.bend[:, i, j] = self.bend[:, j, i] = second / (2 * self.step[i] * self.step[j])

    @property
    def n_values(self) -> int:
        components, q = self.slope.shape
        return components * (2 + q)

    def moments_at(self, coords: FloatArray, inputs: FloatArray) -> Latent:
        """Linear predictor at places (n, 2) with inputs (n, q), from the model itself."""
        return self.law_at(coords, inputs).eta

    def law_at(self, coords: FloatArray, inputs: FloatArray) -> Response:
        """Law of the response there."""
        others = {**self.fixed, **dict(zip(self.varying, inputs.T, strict=True))}
        return law_at(self.pixels.model, self.pixels.table(coords, others), **self.options)

    def values(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """m, v and c of every component, (n, components (2 + q))."""
        coords = self.pixels.coords(rows, cols)
        out = np.full((len(coords), self.n_values), np.nan)
        valid = np.isfinite(coords).all(axis=1)
        if valid.any():
            out[valid] = self._coefficients(coords[valid])
        return out

    def errors(self, guess: FloatArray, true: FloatArray) -> FloatArray:
        """Largest error of mean and sd of the linear predictor, of any component at spread-out inputs."""
        worst = np.zeros(len(true))
        for shift in SPREAD * self.step:
            a, b = self.moments(guess, self.middle + shift), self.moments(true, self.middle + shift)
            sd = np.sqrt(b.variances)
            error = np.maximum(np.abs(a.means - b.means), np.abs(np.sqrt(a.variances) - sd))
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = np.maximum(worst, (error / sd).max(axis=0))
        return worst / self.tolerance

    def moments(self, values: FloatArray, inputs: FloatArray) -> Latent:
        """Linear predictor from coefficients (n, components (2 + q)) and inputs, (q,) or (n, q)."""
        components, q = self.slope.shape
        m, v, *c = np.moveaxis(values.reshape(len(values), components, 2 + q), 2, 0)
        d = np.broadcast_to(inputs - self.middle, (len(values), q))
        means = m.T + self.slope @ d.T
        variances = v.T + np.einsum("ni,kij,nj->kn", d, self.bend, d, optimize=True)
        for cj, dj in zip(c, d.T, strict=True):
            variances += cj.T * dj
        return Latent(means, np.maximum(variances, 0.0), self._mass)

    def law(self, values: FloatArray, inputs: FloatArray, offset: Any, size: Any) -> Response:
        """Law of the response at n pixels with these coefficients and inputs."""
        eta = self.moments(values, inputs)
        if offset is not None:
            eta = Latent(eta.means + offset, eta.variances, eta.mass)
        return law_of(self._like, eta, size)

    def holds(self, coords: FloatArray, inputs: FloatArray) -> bool:
        """Whether mean and variance depend on the inputs in the way that is assumed, at places of a trial."""
        true = self.moments_at(coords, inputs)
        found = self.moments(self._coefficients(coords), inputs)
        sd = np.sqrt(np.maximum(true.variances, 1e-300))
        error = np.maximum(np.abs(found.means - true.means), np.abs(np.sqrt(found.variances) - sd))
        return bool(np.all(error <= 0.1 * self.tolerance * sd))

    def _coefficients(self, coords: FloatArray) -> FloatArray:
        q, n = len(self.step), len(coords)
        design = np.vstack([np.zeros(q), np.diag(self.step)])
        law = self.law_at(np.tile(coords, (q + 1, 1)), np.repeat(self.middle + design, n, axis=0))
        self._like, self._mass = law, law.eta.mass
        means, variances = (part.reshape(-1, q + 1, n) for part in (law.eta.means, law.eta.variances))
        tilt = (variances[:, 1:] - variances[:, :1]) / self.step[:, None]
        tilt -= (np.diagonal(self.bend, axis1=1, axis2=2) * self.step)[:, :, None]
        stacked = np.concatenate([means[:, :1], variances[:, :1], tilt], axis=1)
        return stacked.transpose(2, 0, 1).reshape(n, -1)


def learn_surface(
    pixels: Pixels,
    coords: FloatArray,
    inputs: Mapping[str, FloatArray],
    fixed: Mapping[str, float],
    options: dict[str, Any],
    tolerance: float,
) -> LatentSurface | None:
    """Surface learned at some places (n, 2) with their inputs (n,); None if the model's depends on them otherwise."""
    table = np.column_stack(list(inputs.values()) or [np.empty((len(coords), 0))])
    known = np.isfinite(coords).all(axis=1)
    if not known.any():
        return None
    step = np.array([_spread(column) for column in table.T])
    surface = LatentSurface(pixels, fixed, list(inputs), np.median(table, axis=0), step, options, tolerance)
    surface.learn(coords[known][:1])
    return surface if surface.holds(coords[known][:N_TRIED], table[known][:N_TRIED]) else None


def _spread(values: FloatArray) -> float:
    """Typical distance of values from their middle; 1 if all are the same."""
    spread = float(np.std(values))
    return spread if spread > 1e-9 * float(np.abs(values).max(initial=1e-300)) else 1.0
