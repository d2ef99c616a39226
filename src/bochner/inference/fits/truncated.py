"""Fits of truncated features: what the waves leave out of the field is noise to them."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from bochner.features import FeatureMap
from bochner.inference.fits import limits
from bochner.inference.fits.linear import LinearEngine, LinearFit
from bochner.inference.observed.observations import Observations


def fit_truncated(
    features: FeatureMap, obs: Observations, noise_variance: float, variance: float, *, reml: bool
) -> LinearFit:
    """Fit with the noise variance of maximum evidence, never below the given one nor above the field's `variance`.

    Field variance that is not modelled must be absorbed by the noise, or intervals are too narrow. Rows without known
    errors: their moments are summed once, and every noise variance only divides them.
    """
    moments = LinearEngine(features, noise_variance).moments(obs)

    def fit(log_noise: float) -> LinearFit:
        noise = float(np.exp(log_noise))
        scaled = moments.scaled(1.0, noise / noise_variance, obs.replicate_terms(noise)[0])
        return LinearEngine(features, noise).fit_moments(scaled, obs.n_trend)

    def negative(log_noise: float) -> float:
        found = fit(log_noise)
        return -(found.log_evidence if reml else found.log_likelihood)

    low, high = np.log(noise_variance), np.log(max(variance, 2 * noise_variance))
    options = {"xatol": limits.NOISE_ACCURACY}
    best = float(optimize.minimize_scalar(negative, bounds=(low, high), method="bounded", options=options).x)
    return fit(low if best < low + limits.NOISE_AT_END else best)
