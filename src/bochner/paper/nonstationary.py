"""Non-stationary fields: one kernel does not fit all places.

A stationary kernel has the same length scale everywhere. Where the field is wiggly at one end and smooth at the other,
it must compromise: too smooth here, too rough there (A). Yaglom's theorem allows any kernel, at the price of pairs of
frequencies. The paper's features for it have two slips. The factor is 1/√(4m), or the variance is four times too
large; and pairs drawn independently give half the stationary kernel and a bump at the origin, whatever the data (B):
they must be drawn jointly, or learned.

What proved the most practical is a spectrum that varies in space: the amplitudes of the waves are those of a
kernel whose length scale and variance are smooth surfaces, learned by the evidence (C). It is what
`features="nonstationary"` does in one to three dimensions; beyond, it learns pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.features import LocalSpectrumMap, PairedMap
from bochner.frequencies import PairedFrequencies
from bochner.kernels import Matern
from bochner.paper import style
from bochner.paper.exhibit import Cell, Claim, Exhibit, Table
from bochner.posterior import CoefficientPosterior
from bochner.random import generator
from bochner.validation import crps

KERNEL = Matern(0.03, 0.8)
N_ROWS, N_NEW, NOISE_VARIANCE = 150, 150, 0.04
SCHEMES = {"exact": "stationary, exact kernel", "nonstationary": "spectrum that varies"}
AXIS = np.linspace(0, 1, 300)[:, None]


def length_scale(x: FloatArray) -> FloatArray:
    """Length scale of the field: 0.01 at one end, 0.3 at the other."""
    return np.asarray(0.01 * 30**x)


def simulate(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places (train first, then new), the field there (Paciorek and Schervish), and noisy data."""
    rng = generator(seed, "changing length scale")
    x = rng.uniform(size=N_ROWS + N_NEW)
    length = length_scale(x)
    squares = (length[:, None] ** 2 + length**2) / 2
    covariance = np.sqrt(np.outer(length, length) / squares)
    covariance *= Matern(nu=1.5).correlation(np.abs(x[:, None] - x) / np.sqrt(squares))
    field = linalg.cholesky(covariance + 1e-9 * np.eye(len(x)), lower=True) @ rng.standard_normal(len(x))
    return x[:, None], field, field[:N_ROWS] + rng.normal(0, np.sqrt(NOISE_VARIANCE), size=N_ROWS)


def fit(scheme: str, coords: FloatArray, y: FloatArray) -> SpatialRegressor:
    """Model of a scheme; its values are learned."""
    return SpatialRegressor(KERNEL, features=scheme).fit(coords, y)


def scores(seed: int) -> FloatArray:
    """CRPS of the field at new places, by scheme."""
    coords, field, y = simulate(seed)
    found = []
    for scheme in SCHEMES:
        mean, sd = fit(scheme, coords[:N_ROWS], y).predict(coords[N_ROWS:], return_std=True)
        found.append(crps(field[N_ROWS:], mean, sd))
    return np.array(found)


def learned_length_scale(model: SpatialRegressor, x: FloatArray) -> FloatArray:
    """Length scale that a model with a varying spectrum has learned."""
    posterior, kernel = model.fitted_.model.posterior, model.kernel_
    assert isinstance(posterior, CoefficientPosterior) and isinstance(kernel, Matern)
    features, places = posterior.features, model.fitted_.layout.places(x)
    assert isinstance(features, LocalSpectrumMap)
    return np.asarray(kernel.scales(1)[0] * np.exp(features.at(places).log_length))


def pair_variance(correlation: float, x: FloatArray) -> FloatArray:
    """Variance of features of pairs of Gaussian frequencies with a correlation, at places (n, 1)."""
    rng = generator(0, "pairs")
    first, other = rng.standard_normal((2, 10_000, 1))
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    return PairedMap(PairedFrequencies(first, second, np.full(10_000, 1 / 10_000))).prior_variance(x)


def exhibit(seeds: int) -> Exhibit:
    """Stationary and varying spectra on fields whose length scale changes."""
    runs = range(2)
    found = np.array([scores(seed) for seed in runs])
    middle = found.mean(axis=0)
    coords, _, y = simulate(0)
    models = {scheme: fit(scheme, coords[:N_ROWS], y) for scheme in SCHEMES}
    learned = learned_length_scale(models["nonstationary"], AXIS)
    ratio = float(learned[-30:].mean() / learned[:30].mean())
    truth = float(length_scale(AXIS[-30:]).mean() / length_scale(AXIS[:30]).mean())
    far, middle_variance = pair_variance(0.0, np.array([[4.0], [0.0]]))
    same = pair_variance(1.0, np.array([[4.0], [0.0]]))
    claims = [
        Claim(
            "In some cases the relaxation of stationarity can significantly improve model performance.",
            f"CRPS at new places {middle[1]:.4f} with a spectrum that varies, {middle[0]:.4f} with the exact "
            f"stationary kernel. The learned length scale grows {ratio:.0f}-fold from end to end, the true one "
            f"{truth:.0f}-fold.",
            bool(middle[1] < 0.95 * middle[0] and ratio > 3),
        ),
        Claim(
            "This derivation requires drawing independent samples for both of the spectral densities.",
            f"Independent pairs have variance {middle_variance:.2f} at the origin and {far:.2f} elsewhere: half the "
            f"stationary kernel and a bump. Pairs must be drawn jointly or learned.",
            bool(abs(far - 0.5) < 0.05 and abs(middle_variance - 1) < 0.05),
            corrected=True,
        ),
        Claim(
            "If the two spectral densities are the same, the function equates the stationary kernel.",
            f"With equal frequencies, and the factor 1/√(4m), the variance is {same.min():.2f} everywhere.",
            bool(np.allclose(same, 1.0)),
            corrected=True,
        ),
    ]
    rows: list[tuple[Cell, ...]] = [(seed, *map(float, values)) for seed, values in zip(runs, found, strict=True)]
    table = Table(("seed", *(f"crps_{scheme}" for scheme in SCHEMES)), rows)
    shown = (simulate, fit, scores, learned_length_scale, pair_variance)
    return Exhibit(__name__, claims, table, lambda: draw(models, learned), shown)


@style.styled
def draw(models: dict[str, SpatialRegressor], learned: FloatArray) -> Any:
    """Predictions of both; the variance of pairs; the learned length scale."""
    figure, (left, middle, right) = style.panels(3, width=16, height=4.6, width_ratios=(1.5, 1, 1))
    coords, _, y = simulate(0)
    left.plot(coords[:N_ROWS, 0], y, "o", color=style.BLACK, markersize=3.5, label="data")
    for (scheme, label), colour in zip(SCHEMES.items(), (style.RED, style.BLUE), strict=True):
        mean, sd = models[scheme].predict(AXIS, return_std=True)
        left.plot(AXIS, mean, color=colour, linewidth=1.6, label=label)
        left.fill_between(AXIS[:, 0], mean - 1.96 * sd, mean + 1.96 * sd, color=colour, alpha=0.15, linewidth=0)
    left.set(xlabel="x", ylabel="field", xlim=(0, 1))
    left.legend(fontsize=10.5)
    style.title(left, "a field that grows smoother")
    x = np.linspace(-4, 4, 81)[:, None]
    for correlation, colour in ((1.0, style.GREY), (0.9, style.GREEN), (0.0, style.ORANGE)):
        middle.plot(x, pair_variance(correlation, x), color=colour, label=f"correlation {correlation:g}")
    middle.set(xlabel="distance from the origin", ylabel="variance", ylim=(0, 1.3))
    middle.legend(loc="upper center", ncols=1, fontsize=10.5)
    style.title(middle, "pairs of frequencies, drawn")
    right.plot(AXIS, length_scale(AXIS), "--", color=style.BLACK, label="true")
    right.plot(AXIS, learned, color=style.BLUE, label="learned")
    right.set(yscale="log", xlabel="x", ylabel="length scale")
    right.legend()
    style.title(right, "what was learned")
    return figure
