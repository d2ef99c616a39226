"""Responses: what was observed, under any family, and its Gaussian stand-in at a linear predictor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.families import Family
from bochner.features import Rows
from bochner.inference.observed.observations import Observations

FLAT_CURVATURE = 1e-9  # of a row whose log density is a line (no counts under the identity link), or nearly one


@dataclass(frozen=True)
class Responses:
    """Rows, responses and what is known of them.

    Attributes
    ----------
    family : Family
        Law of a response given its linear predictor.
    rows : Rows
        Where each was made.
    y : (n,)
        Response; a count for families of counts.
    size : (n,)
        Trials or exposure; ones where the family has none.
    offset : (n,)
        Known part of the linear predictor.
    weight : (n,)
        Copies that each row stands for.
    error : (n,)
        Known variance of each copy's linear predictor, beside the learned one.
    trend_precision : (q, q), optional
        Prior precision of the fixed effects about zero; None: they have a flat prior.
    """

    family: Family
    rows: Rows
    y: FloatArray
    size: FloatArray
    offset: FloatArray
    weight: FloatArray
    error: FloatArray
    trend_precision: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: slice | IntArray) -> Responses:
        return Responses(
            self.family,
            self.rows[index],
            self.y[index],
            self.size[index],
            self.offset[index],
            self.weight[index],
            self.error[index],
            self.trend_precision,
        )

    @property
    def gaussian(self) -> bool:
        return self.family.observes_eta

    def with_weight(self) -> Responses:
        """Rows that count; no copy is made if all do."""
        return self if np.all(self.weight > 0) else self[np.flatnonzero(self.weight > 0)]

    def observations(self) -> Observations:
        """Gaussian responses as they are, without the known part of the linear predictor."""
        zero = np.zeros(len(self))
        return Observations(self.rows, self.y - self.offset, self.weight, self.error, zero, self.trend_precision)

    def divided(self, unit: float) -> Responses:
        """The same in another unit of the response, where that is eta and noise."""
        family = self.family.divided(unit)
        return replace(self, family=family, y=self.y / unit, offset=self.offset / unit, error=self.error / unit**2)

    def with_dispersion(self) -> Responses:
        """The responses with a first guess of the dispersion, where that is to be learned."""
        if not self.family.has_dispersion or self.family.dispersion is not None or self.gaussian:
            return self
        return replace(self, family=self.family.replace(dispersion=0.5))

    def start(self) -> FloatArray:
        """Linear predictor near the maximum of each row's own likelihood."""
        return self.family.start(self.y, self.size)

    def log_likelihood(self, eta: FloatArray) -> float:
        """Log density of the responses, normalising constants included."""
        return float(np.sum(self.weight * self.family.log_density(self.y, eta, self.size)))

    def linearised(self, eta: FloatArray) -> Linearised:
        """Gaussian stand-in: z with variance 1 / W has the score and curvature of the responses at `eta`."""
        d = self.family.derivatives(self.y, eta, self.size)
        curvature = np.maximum(d.curvature, FLAT_CURVATURE)
        z = eta + d.score / curvature
        return Linearised(self, eta, z, curvature)

    def held_trend(self, coef: FloatArray) -> Responses:
        """The trend as a known part of the linear predictor."""
        nothing = np.zeros((len(self), 0))
        offset = self.offset + self.rows.trend @ coef
        return replace(self, rows=replace(self.rows, trend=nothing), offset=offset, trend_precision=None)


@dataclass(frozen=True)
class Linearised:
    """Responses seen from a linear predictor: working response z and curvature W."""

    responses: Responses
    eta: FloatArray
    z: FloatArray
    curvature: FloatArray

    def observations(self) -> Observations:
        """The working responses as Gaussian observations with known error variances."""
        r = self.responses
        zero = np.zeros(len(r))
        error = r.error + 1 / self.curvature
        return Observations(r.rows, self.z - r.offset, r.weight, error, zero, r.trend_precision)

    def correction(self) -> float:
        """Log density of the responses less that of the stand-in: what Laplace adds to the Gaussian evidence."""
        r, misfit = self.responses, self.z - self.eta
        stand_in = 0.5 * (np.log(self.curvature / (2 * np.pi)) - self.curvature * misfit**2)
        return r.log_likelihood(self.eta) - float(np.sum(r.weight * stand_in))


def merge_equal_responses(responses: Responses) -> Responses:
    """Rows that agree in everything become one; rows without weight go.

    The order of the result depends on the values alone, so that copies and weights are the same thing.
    """
    return distinct_responses(responses)[0]


def distinct_responses(responses: Responses) -> tuple[Responses, IntArray]:
    """The same, and which of the result each row became; a row without weight is counted to the first."""
    kept = np.flatnonzero(responses.weight > 0)
    r = responses[kept]
    keys = np.column_stack([r.rows.coords, r.rows.trend, r.y, r.size, r.offset, r.error])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(group.ravel(), r.weight)
    of_row = np.zeros(len(responses), dtype=np.intp)
    of_row[kept] = group.ravel()
    return replace(r[first], weight=np.asarray(weight, dtype=np.float64)), of_row
