"""Adaptive features: those that look at the data before they are chosen, each by its own way."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.arrays import FloatArray
from bochner.features import FeatureMap
from bochner.inference.adaptive.ascent import Data, noise_of_few_waves
from bochner.inference.adaptive.pool import leverage_features
from bochner.inference.adaptive.sparse_spectrum import learned_features
from bochner.inference.adaptive.varying_spectrum import nonstationary_features
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Settings
from bochner.kernels import Kernel, total_variance


@dataclass(frozen=True)
class Adapted:
    """Features that were made for some data, with the hyperparameters that go with them."""

    features: FeatureMap
    noise_variance: float
    n_frequencies: int
    kernel: Kernel


def adapt(
    kind: str,
    settings: Settings,
    kernel: Kernel,
    noise_variance: float,
    data: Data,
    obs: Observations,
    choices: dict[str, str],
    predict_at: FloatArray | None,
) -> Adapted:
    """Features of an adaptive kind, started from a tuned kernel; reasons are added to `choices`."""
    spec, reml = settings.spec, settings.criterion != "likelihood"
    learn_noise = settings.noise_variance is None and settings.tune is not None
    if kind == "leverage":
        features, why, choices["dtype"], m = leverage_features(spec, kernel, noise_variance, obs)
        choices["n_frequencies"] = why
        noise = noise_variance
        if learn_noise and noise > 0:
            variance = total_variance(kernel)
            noise = noise_of_few_waves(features, data, noise, variance, reml=reml, seed=spec.seed)
        if noise > noise_variance:
            choices["noise"] = f"{noise:.3g} instead of {noise_variance:.3g}: with what the waves leave out"
        return Adapted(features, noise, m, kernel)
    if kind == "learned":
        waves, noise, why, m = learned_features(
            spec, kernel, noise_variance, data, obs, learn_noise=learn_noise, reml=reml
        )
        choices["n_frequencies"] = why
        return Adapted(waves, noise, m, kernel)
    varying, noise, why, m, kernel = nonstationary_features(
        spec, kernel, noise_variance, data, obs, predict_at, learn_noise=learn_noise, reml=reml,
        any_kernel=settings.kernel is None,
    )  # fmt: skip
    choices["n_frequencies"] = why
    return Adapted(varying, noise, m, kernel)
