"""A survey of malaria in villages, and the truth that it is a glimpse of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from bochner.arrays import FloatArray
from bochner.demo.country import Country, in_km
from bochner.demo.fields import Field, random_field
from bochner.kernels import Matern
from bochner.random import generator

N_VILLAGES, N_UNREPORTED = 260, 4
INTERCEPT, PER_METRE, PER_MM = -1.2, -0.0015, 0.0018  # of the log odds; rain counts from 1,200 mm
UNEXPLAINED = Matern(length_scale=45.0, variance=0.5, nu=1.5)  # what no covariate tells, in km
VILLAGE_SD = 0.2  # of the log odds, from village to village


@dataclass(frozen=True)
class VillageSurvey:
    """What was found, and what is true.

    Attributes
    ----------
    villages : DataFrame
        village, lon, lat, examined, positive; a few villages did not report their positives.
    prevalence : array of shape (height, width)
        True prevalence of every pixel of the country; NaN at sea.
    """

    villages: Any
    prevalence: FloatArray

    @classmethod
    def simulate(cls, country: Country, seed: int = 0) -> VillageSurvey:
        """A survey of villages that were drawn where people live."""
        import pandas as pd

        grid, rng = country.grid, generator(seed, "villages")
        field = random_field(UNEXPLAINED, generator(seed, "field"))
        share = country.people.ravel() / country.people.sum()
        # towns are visited once or twice, not in proportion to their size
        share = np.minimum(share, np.quantile(share[share > 0], 0.9))
        pixel = np.sort(rng.choice(grid.n_pixels, N_VILLAGES, replace=False, p=share / share.sum()))
        lonlat = grid.centres()[pixel] + rng.uniform(-0.4, 0.4, (N_VILLAGES, 2)) * grid.resolution
        eta = log_odds(country, field, lonlat, pixel) + VILLAGE_SD * rng.standard_normal(N_VILLAGES)
        examined = rng.integers(25, 90, N_VILLAGES)
        positive = rng.binomial(examined, expit(eta)).astype(float)
        positive[rng.choice(N_VILLAGES, N_UNREPORTED, replace=False)] = np.nan
        villages = pd.DataFrame(
            {
                "village": [f"V{i + 1:03d}" for i in range(N_VILLAGES)],
                "lon": lonlat[:, 0].round(4),
                "lat": lonlat[:, 1].round(4),
                "examined": examined,
                "positive": pd.array(positive, dtype="Int64"),
            }
        )
        truth = expit(log_odds(country, field, grid.centres(), np.arange(grid.n_pixels)))
        return cls(villages, truth.reshape(grid.shape))


def log_odds(country: Country, field: Field, lonlat: FloatArray, pixel: Any) -> FloatArray:
    """Log odds of infection at places in some pixels."""
    elevation, rainfall = country.elevation.ravel()[pixel], country.rainfall.ravel()[pixel]
    return np.asarray(INTERCEPT + PER_METRE * elevation + PER_MM * (rainfall - 1200) + field(in_km(lonlat)))
