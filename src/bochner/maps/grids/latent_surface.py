"""LatentSurface: the linear predictor as a smooth function of the place, for maps with inputs of every pixel.

Its mean is linear in the inputs z, its variance quadratic, and the coefficients are smooth:

    mean(x, z) = m(x) + b'(z - z0),    variance(x, z) = v(x) + c(x)'(z - z0) + (z - z0)'C(z - z0),

with b and C the same everywhere. m, v and c are interpolated, and the bands follow pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bochner.arrays import FloatArray
from bochner.maps import limits
from bochner.maps.grids.bands import Band, band_values
from bochner.maps.grids.inputs import Known, offset_of, size_of
from bochner.maps.grids.pixels import Pixels
from bochner.posterior import Latent
from bochner.posterior.response import Response

SPREAD = np.array([[-2.0], [0.0], [2.0]])  # inputs at which errors are judged, in steps from their middle


@dataclass
class LatentSurface:
    """The linear predictor of every component of a model, as a function of place and inputs.

    Parameters
    ----------
    pixels, bands, tolerance
        As of `BandSurface`.
    fixed : mapping of str to float
        Columns that are the same everywhere.
    varying : sequence of str
        The q columns that differ from pixel to pixel.
    middle, step : array of shape (q,)
        Their typical value and spread.
    """

    pixels: Pixels
    bands: Sequence[Band]
    fixed: Known
    varying: Sequence[str]
    middle: FloatArray
    step: FloatArray
    tolerance: float
    slope: FloatArray = field(init=False)  # b, (components, q)
    bend: FloatArray = field(init=False)  # C, (components, q, q)

    def learn(self, coords: FloatArray) -> None:
        """Find b and C at one place, (1, 2)."""
        q = len(self.step)
        unit = np.diag(self.step)
        pairs = [(i, j) for i in range(q) for j in range(i, q)]
        design = np.array([np.zeros(q), *unit, *(unit[i] + unit[j] for i, j in pairs)])
        found = self.latent_at(np.repeat(coords, len(design), axis=0), self.middle + design)
        mean, variance = found.means, found.variances
        self.slope = (mean[:, 1 : q + 1] - mean[:, :1]) / self.step
        self.bend = np.zeros((len(mean), q, q))
        for n, (i, j) in enumerate(pairs, start=q + 1):
            second = variance[:, n] - variance[:, 1 + i] - variance[:, 1 + j] + variance[:, 0]
            self.bend[:, i, j] = self.bend[:, j, i] = second / (2 * self.step[i] * self.step[j])

    @property
    def n_values(self) -> int:
        """Values of a place: mean, variance and its slopes, of every component."""
        components, q = self.slope.shape
        return components * (2 + q)

    def latent_at(self, coords: FloatArray, inputs: FloatArray) -> Latent:
        """Linear predictor at places (n, 2) with inputs (n, q), from the model itself."""
        return self.pixels.latent(coords, {**self.fixed, **dict(zip(self.varying, inputs.T, strict=True))})

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
            a, b = self.latent(guess, self.middle + shift), self.latent(true, self.middle + shift)
            sd = np.sqrt(b.variances)
            error = np.maximum(np.abs(a.means - b.means), np.abs(np.sqrt(a.variances) - sd))
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = np.maximum(worst, (error / sd).max(axis=0))
        return worst / self.tolerance

    def latent(self, values: FloatArray, inputs: FloatArray) -> Latent:
        """Linear predictor from coefficients (n, components (2 + q)) and inputs, (q,) or (n, q)."""
        components, q = self.slope.shape
        m, v, *c = np.moveaxis(values.reshape(len(values), components, 2 + q), 2, 0)
        d = np.broadcast_to(inputs - self.middle, (len(values), q))
        means = m.T + self.slope @ d.T
        variances = v.T + np.einsum("ni,kij,nj->kn", d, self.bend, d, optimize=True)
        for cj, dj in zip(c, d.T, strict=True):
            variances += cj.T * dj
        return Latent(means, np.maximum(variances, 0.0), self.pixels.fitted.model.mixture.averaged[1])

    def to_bands(self, values: FloatArray, known: Known) -> FloatArray:
        """Bands of every pixel, from its own inputs."""
        known, n = {**self.fixed, **known}, values.shape[1]
        inputs = np.column_stack([known[name] for name in self.varying] or [np.empty((n, 0))])
        offset, size = np.broadcast_to(offset_of(known), (n,)), size_of(known, n)
        out = np.empty((len(self.bands), n))
        for i in (slice(start, start + limits.PLACES_AT_ONCE) for start in range(0, n, limits.PLACES_AT_ONCE)):
            law = self.law(values[:, i].T, inputs[i], offset[i], None if size is None else size[i])
            out[:, i] = band_values(self.bands, law).T
        return out

    def law(
        self, values: FloatArray, inputs: FloatArray, offset: FloatArray | float, size: FloatArray | None
    ) -> Response:
        """Law of the response at n pixels with these coefficients and inputs."""
        eta = self.latent(values, inputs).shifted(offset)
        return Response(self.pixels.fitted.model.family, eta, size, new=self.pixels.new)

    def holds(self, coords: FloatArray, inputs: FloatArray) -> bool:
        """Whether mean and variance depend on the inputs in the way that is assumed, at places of a trial."""
        true = self.latent_at(coords, inputs)
        found = self.latent(self._coefficients(coords), inputs)
        sd = np.sqrt(np.maximum(true.variances, 1e-300))
        error = np.maximum(np.abs(found.means - true.means), np.abs(np.sqrt(found.variances) - sd))
        return bool(np.all(error <= 0.1 * self.tolerance * sd))

    def _coefficients(self, coords: FloatArray) -> FloatArray:
        q, n = len(self.step), len(coords)
        design = np.vstack([np.zeros(q), np.diag(self.step)])
        eta = self.latent_at(np.tile(coords, (q + 1, 1)), np.repeat(self.middle + design, n, axis=0))
        means, variances = (part.reshape(-1, q + 1, n) for part in (eta.means, eta.variances))
        tilt = (variances[:, 1:] - variances[:, :1]) / self.step[:, None]
        tilt -= (np.diagonal(self.bend, axis1=1, axis2=2) * self.step)[:, :, None]
        stacked = np.concatenate([means[:, :1], variances[:, :1], tilt], axis=1)
        return stacked.transpose(2, 0, 1).reshape(n, -1)


def learn_surface(
    pixels: Pixels,
    bands: Sequence[Band],
    coords: FloatArray,
    inputs: Mapping[str, FloatArray],
    fixed: Known,
    tolerance: float,
) -> LatentSurface | None:
    """Surface learned at some places (n, 2) with their inputs (n,); None if the model's depends on them otherwise."""
    table = np.column_stack(list(inputs.values()) or [np.empty((len(coords), 0))])
    known = np.isfinite(coords).all(axis=1)
    if not known.any():
        return None
    step = np.array([_spread(column) for column in table.T])
    surface = LatentSurface(pixels, bands, fixed, list(inputs), np.median(table, axis=0), step, tolerance)
    surface.learn(coords[known][:1])
    return (
        surface
        if surface.holds(coords[known][: limits.CHECKED_PLACES], table[known][: limits.CHECKED_PLACES])
        else None
    )


def _spread(values: FloatArray) -> float:
    """Typical distance of values from their middle; 1 if all are the same."""
    spread = float(np.std(values))
    return spread if spread > 1e-9 * float(np.abs(values).max(initial=1e-300)) else 1.0
