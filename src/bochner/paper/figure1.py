"""Figure 1: the bias-variance trade-off on a simulated epidemic.

Cases grow like f(x) = 1 + x + 0.2 x² over time, with Gaussian noise of variance 150, cut off at zero. Polynomials of
degree 1, 2 and 5 see the same 20 of 100 reports. The more flexible the model, the closer it comes to the reports it
has seen; what counts is the error on the other 80.

The straight line cannot bend (bias), degree 5 bends after the noise (variance), degree 2 is the truth. The paper
shows one draw of the data; panel B shows all of ours, because with 20 reports a single draw can deceive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import epidemic, style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator
from bochner.solvers import least_squares

DEGREES = (1, 2, 5)


def errors(seed: int) -> FloatArray:
    """Training and test error of each degree on one simulated epidemic, (degrees, 2)."""
    days, cases = epidemic.simulate(generator(seed, "epidemic"))
    seen = np.arange(len(days)) < epidemic.N_TRAIN
    found = []
    for degree in DEGREES:
        phi = epidemic.powers(days, degree)
        coef = least_squares(phi[seen], cases[seen]).coef
        squared = (cases - phi @ coef) ** 2
        found.append((squared[seen].mean(), squared[~seen].mean()))
    return np.array(found)


def exhibit(seeds: int) -> Exhibit:
    """Figure 1 over many seeds."""
    mse = np.array([errors(seed) for seed in range(seeds)])
    mean, sd = mse.mean(axis=0), mse.std(axis=0, ddof=min(1, seeds - 1))
    wins = np.mean(np.argmin(mse[:, :, 1], axis=1) == 1)
    rows = [(d, *(float(v) for v in (mean[i, 0], sd[i, 0], mean[i, 1], sd[i, 1]))) for i, d in enumerate(DEGREES)]
    claims = [
        Claim(
            "The degree-5 polynomial has the closest fit to the training points.",
            f"Training errors {mean[0, 0]:.0f}, {mean[1, 0]:.0f}, {mean[2, 0]:.0f} for degrees 1, 2, 5.",
            bool((np.diff(mse[:, :, 0], axis=1) <= 0).all()),
        ),
        Claim(
            "On the testing data the degree-2 model has the lowest error.",
            f"Test errors {mean[0, 1]:.0f}, {mean[1, 1]:.0f}, {mean[2, 1]:.0f} for degrees 1, 2, 5 (means of {seeds} "
            f"seeds); degree 2 is the best in {wins:.0%} of them. The noise alone is 150.",
            bool(mean[1, 1] == mean[:, 1].min() and wins > 0.5),
        ),
    ]
    columns = ("degree", "train_mse_mean", "train_mse_sd", "test_mse_mean", "test_mse_sd")
    return Exhibit(__name__, claims, Table(columns, rows), lambda: draw(mse), (epidemic.simulate, errors))


@style.styled
def draw(mse: FloatArray) -> Any:
    """Panel A: the fits of a typical seed. Panel B: test errors of all seeds."""
    figure, (left, right) = style.panels(2)
    days, cases = epidemic.simulate(generator(typical(mse), "epidemic"))
    seen = np.arange(len(days)) < epidemic.N_TRAIN
    axis = np.linspace(0, epidemic.N_DAYS, 200)
    left.plot(days[~seen], cases[~seen], "o", color="#C9C9C9", markersize=4.5, label="held out")
    left.plot(days[seen], cases[seen], "o", color=style.BLACK, label="seen")
    for degree, colour, dash in zip(DEGREES, (style.RED, style.GREEN, style.BLUE), ("--", "-", "-."), strict=True):
        coef = least_squares(epidemic.powers(days[seen], degree), cases[seen]).coef
        left.plot(axis, epidemic.powers(axis, degree) @ coef, dash, color=colour, label=f"degree {degree}")
    left.set(xlabel="time (days)", ylabel="cases", ylim=(-12, None))
    left.legend()
    style.title(left, "three fits to the same 20 reports")
    boxes = right.boxplot(
        mse[:, :, 1],
        tick_labels=[str(d) for d in DEGREES],
        patch_artist=True,
        widths=0.55,
        medianprops={"color": style.BLACK, "linewidth": 2},
        flierprops={"marker": ".", "markersize": 5},
    )
    for box, colour in zip(boxes["boxes"], (style.RED, style.GREEN, style.BLUE), strict=True):
        box.set(facecolor=colour, alpha=0.75)
    right.axhline(epidemic.NOISE_VARIANCE, color=style.GREY, linestyle=(0, (4, 3)))
    right.annotate(
        "noise alone",
        (0.55, epidemic.NOISE_VARIANCE),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
        color=style.GREY,
    )
    right.set(yscale="log", xlabel="degree of the polynomial", ylabel="test error: MSE (cases²)")
    style.title(right, f"test error over {len(mse)} seeds")
    return figure


def typical(mse: FloatArray) -> int:
    """Seed whose test errors lie nearest to the medians."""
    logs = np.log(mse[:, :, 1])
    return int(np.argmin(np.sum((logs - np.median(logs, axis=0)) ** 2, axis=1)))
