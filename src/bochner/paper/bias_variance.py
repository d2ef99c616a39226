"""Equation 6 measured: loss = noise + bias² + variance.

The paper writes loss = bias² + variance and leaves out a third part, the noise of the new observation itself, which
no model can remove. Here polynomials are fitted to thousands of noisy copies of the epidemic on the same 20 days
(without the cut-off at zero, so that the noise has exactly variance 150). Bias and variance are measured from the
fits, the loss on fresh observations, and the three parts add up to it.

A shows the trade-off over the degree, B over the ridge penalty λ of a polynomial of degree 8: λ buys less variance
for more bias. Where the sum is smallest, neither part is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import epidemic, style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.filters import decompose
from bochner.random import generator

DEGREES = tuple(range(1, 9))
PENALTIES = np.logspace(-3, 0, 13)


def parts(degree: int, penalty: float, runs: int) -> FloatArray:
    """Measured loss, bias² and variance of a polynomial ridge, averaged over the days; λ = 0: least squares."""
    rng = generator(1, "equation 6")
    days = rng.uniform(0, epidemic.N_DAYS, size=epidemic.N_TRAIN)
    new = np.linspace(days.min(), days.max(), 100)
    sd = np.sqrt(epidemic.NOISE_VARIANCE)
    noisy = epidemic.expected_cases(days) + rng.normal(0, sd, size=(runs, len(days)))
    observed = epidemic.expected_cases(new) + rng.normal(0, sd, size=(runs, len(new)))
    fit = decompose(np.tile(epidemic.powers(days, degree)[:, 1:], (runs, 1, 1)), noisy)
    g = fit.ridge(np.array(penalty)) if penalty else fit.least_squares()
    predicted = fit.predict(epidemic.powers(new, degree)[:, 1:], g)
    loss = np.mean((observed - predicted) ** 2)
    bias2 = np.mean((predicted.mean(axis=0) - epidemic.expected_cases(new)) ** 2)
    return np.array([loss, bias2, np.mean(predicted.var(axis=0))])


def exhibit(seeds: int) -> Exhibit:
    """Equation 6 over degrees and over penalties."""
    runs = 40 * seeds
    degrees = np.array([parts(d, 0.0, runs) for d in DEGREES])
    penalties = np.array([parts(8, float(p), runs) for p in PENALTIES])
    gap = degrees[:, 0] - degrees[:, 1] - degrees[:, 2]
    worst = float(np.max(np.abs(gap - epidemic.NOISE_VARIANCE) / degrees[:, 0]))
    best = DEGREES[int(np.argmin(degrees[:, 0]))]
    # a mean of squares of `runs` correlated rows of 100: a few per cent
    slack = 6 * np.sqrt(2 / (runs * 20))
    claims = [
        Claim(
            "Loss = bias² + variance (eq. 6).",
            f"The loss exceeds the two by {gap.mean():.0f} on average: the noise, 150. With it the sum is right to "
            f"within {worst:.1%} of the loss.",
            worst < slack,
            corrected=True,
        ),
        Claim(
            "A more complex model has lower bias and larger variance.",
            f"From degree 1 to 8 bias² falls from {degrees[0, 1]:.0f} to {degrees[-1, 1]:.1f}, variance grows from "
            f"{degrees[0, 2]:.0f} to {degrees[-1, 2]:.0f}; the loss is smallest at degree {best}, the truth.",
            bool(best == 2 and degrees[-1, 1] < 0.1 * degrees[0, 1] and degrees[-1, 2] > 2 * degrees[0, 2]),
        ),
        Claim(
            "As λ gets bigger the bias increases and the variance decreases.",
            f"From λ = 0.001 to 1 bias² grows from {penalties[0, 1]:.0f} to {penalties[-1, 1]:.0f}, variance falls "
            f"from {penalties[0, 2]:.0f} to {penalties[-1, 2]:.0f}.",
            bool(penalties[-1, 1] > penalties[0, 1] and (np.diff(penalties[:, 2]) < 0).all()),
        ),
    ]
    rows = [(d, *map(float, values), epidemic.NOISE_VARIANCE) for d, values in zip(DEGREES, degrees, strict=True)]
    table = Table(("degree", "loss", "bias2", "variance", "noise"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(degrees, penalties), (epidemic.expected_cases, parts))


@style.styled
def draw(degrees: FloatArray, penalties: FloatArray) -> Any:
    """The three parts stacked, the measured loss as dots."""
    figure, axes = style.panels(2, sharey=True)
    for ax, x, found in zip(axes, (np.array(DEGREES), PENALTIES), (degrees, penalties), strict=True):
        noise = np.full(len(x), epidemic.NOISE_VARIANCE)
        ax.stackplot(
            x,
            *(noise, found[:, 1], found[:, 2]),
            labels=("noise", "bias²", "variance"),
            colors=("#D9D9D9", style.ORANGE, style.SKY),
        )
        ax.plot(x, found[:, 0], "o", color=style.BLACK, label="measured loss")
        ax.set_ylim(0, 1.12 * max(degrees[:, 0].max(), penalties[:, 0].max()))
    axes[0].set(xlabel="degree of the polynomial", ylabel="MSE (cases²)", xticks=DEGREES)
    axes[1].set(xscale="log", xlabel="ridge penalty λ (degree 8)")
    style.title(axes[0], "over the degree")
    style.title(axes[1], "over the penalty")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles[::-1], labels[::-1], ncols=2)
    return figure
