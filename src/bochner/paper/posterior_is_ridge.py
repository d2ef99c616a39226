"""The posterior mean is the ridge solution.

Give the coefficients of the waves a Gaussian prior, c ~ N(0, I), and the data Gaussian noise of variance σ². The
posterior is Gaussian, its mean is ridge regression with λ = σ², and unlike ridge it has a spread: the band and the
draws in A. Here `SpatialRegressor` (the posterior) and scikit-learn's `Ridge` on the same `FourierFeatures` (the
penalty) are compared. The average of draws from the posterior converges to the ridge solution like one over the root
of their number (B).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from bochner import FourierFeatures, SpatialRegressor
from bochner.arrays import FloatArray
from bochner.kernels import SquaredExponential
from bochner.paper import style
from bochner.paper.clock import slope
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

KERNEL = SquaredExponential(length_scale=1.0)
N_FREQUENCIES, NOISE_VARIANCE = 100, 0.1
NEW = np.linspace(0, 10, 201)[:, None]
DRAWS = (10, 30, 100, 300, 1000, 3000)


def both_ways(coords: FloatArray, y: FloatArray) -> tuple[SpatialRegressor, FloatArray]:
    """The Bayesian model, and the predictions of ridge with λ equal to its noise variance."""
    shared: dict[str, Any] = {"features": "monte-carlo", "n_frequencies": N_FREQUENCIES, "random_state": 0}
    posterior = SpatialRegressor(KERNEL, noise_variance=NOISE_VARIANCE, tune=None, fit_intercept=False, **shared)
    waves = FourierFeatures(KERNEL, **shared)
    ridge = Ridge(alpha=NOISE_VARIANCE, fit_intercept=False).fit(waves.fit_transform(coords), y)
    return posterior.fit(coords, y), ridge.predict(waves.transform(NEW))


def average_distance(draws: FloatArray, n: int, ridge: FloatArray) -> float:
    """RMS distance between ridge and the average of n draws, over as many groups of n as there are."""
    groups = draws[:, : draws.shape[1] // n * n].reshape(len(draws), -1, n)
    return float(np.sqrt(np.mean((groups.mean(axis=-1) - ridge[:, None]) ** 2)))


def exhibit(seeds: int) -> Exhibit:
    """The two solutions, and averages of draws."""
    rng = generator(0, "posterior")
    coords = np.sort(np.r_[rng.uniform(0, 5, 22), rng.uniform(7.5, 10, 8)])[:, None]
    y = np.sin(coords[:, 0]) + rng.normal(0, np.sqrt(NOISE_VARIANCE), size=len(coords))
    model, ridge = both_ways(coords, y)
    mean, sd = model.predict(NEW, return_std=True)
    gap = float(np.max(np.abs(mean - ridge)))
    draws = model.sample_y(NEW, 3 * DRAWS[-1], random_state=1)
    distance = [average_distance(draws, n, ridge) for n in DRAWS]
    claims = [
        Claim(
            "With a Gaussian likelihood and a Gaussian prior on the coefficients the posterior is, in expectation, "
            "that of ridge regression.",
            f"Posterior mean and ridge differ by at most {gap:.0e}.",
            gap < 1e-9,
        ),
        Claim(
            "We can evaluate full posterior uncertainty by sampling from the posterior.",
            f"The average of {DRAWS[-1]:,} draws is within {distance[-1]:.3f} (RMS) of ridge; the distance falls like "
            f"their number to the power {slope(DRAWS, distance):.2f}.",
            bool(distance[-1] < 0.03),
        ),
    ]
    table = Table(("draws", "rms_distance_from_ridge"), list(zip(DRAWS, distance, strict=True)))
    return Exhibit(
        __name__,
        claims,
        table,
        lambda: draw(coords, y, mean, sd, ridge, draws, distance),
        (both_ways, average_distance),
    )


@style.styled
def draw(
    coords: FloatArray,
    y: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
    ridge: FloatArray,
    draws: FloatArray,
    distance: list[float],
) -> Any:
    """Ridge on top of the posterior; the average of draws."""
    figure, (left, right) = style.panels(2, width=12, width_ratios=(1.6, 1))
    x = NEW[:, 0]
    left.fill_between(
        x, mean - 1.96 * sd, mean + 1.96 * sd, color=style.SKY, alpha=0.3, linewidth=0, label="95 % of the posterior"
    )
    left.plot(x, draws[:, :5], color=style.GREY, linewidth=0.8)
    left.plot([], [], color=style.GREY, linewidth=0.8, label="five draws from it")
    left.plot(x, mean, color=style.BLUE, linewidth=4, label="its mean")
    left.plot(x, ridge, "--", color=style.ORANGE, label="ridge, λ = σ²")
    left.plot(coords[:, 0], y, "o", color=style.BLACK, label="data")
    left.set(xlabel="x (length scales)", ylabel="y", ylim=(-3.2, 5))
    left.legend(ncols=2, loc="upper center")
    style.title(left, "ridge is the middle of the posterior")
    right.plot(DRAWS, distance, color=style.BLUE, marker="o")
    style.slope_guide(right, DRAWS, distance[0] * 1.5, -0.5, "slope -1/2")
    right.set(xscale="log", yscale="log", xlabel="number of draws", ylabel="RMS distance from ridge")
    style.title(right, "the average of draws")
    return figure
