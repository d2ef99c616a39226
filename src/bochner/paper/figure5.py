"""Figure 5: the error against the number of Fourier features, with and without ridge.

More random frequencies let kernel regression follow the training data more closely (A), and without a penalty its
test error climbs (B). Kernel ridge stays low whatever the number, because cross-validation adapts λ (inset). Lines
are medians over the seeds, bands the middle half.

The paper's curve for kernel regression is the truncated one (see table 2). Exact least squares climbs many orders of
magnitude higher, up to the interpolation threshold: at 50 frequencies there are 100 columns for 100 places, and just
one way to fit them all, usually an absurd one. Beyond it there are many ways; least squares by convention takes the
one of least norm, and with more columns that norm shrinks: the error comes down again. This is double descent (C).
How far it comes down depends on the kernel: for the rough Matern kernel nearly all the way, for the Gaussian kernel
hardly at all, because its waves are so nearly dependent that rounding error decides. Ridge has neither the peak nor
the problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.kernels import Kernel, Matern
from bochner.paper import style, toy
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.filters import Filters, decompose, mean_squared_error
from bochner.paper.table2 import CUTOFF

NUMBERS = (3, 5, 8, 12, 18, 25, 35, 45, 50, 55, 65, 80, 100, 150, 250, 400)
THRESHOLD = toy.N_TRAIN // 2  # frequencies at which there are as many columns as places
ROUGH = Matern(nu=0.5)
CURVES = ("exact", "truncated", "ridge")


def problems(n_frequencies: int, seeds: int, kernel: Kernel) -> tuple[Filters, FloatArray, FloatArray]:
    """All seeds at once: the decomposed training columns, the test columns and the test responses."""
    sets = [toy.simulate(seed) for seed in range(seeds)]
    phi = np.array([toy.waves(n_frequencies, i, kernel).block(data.coords) for i, data in enumerate(sets)])
    fit = decompose(phi[:, : toy.N_TRAIN], np.array([data.y_train for data in sets]))
    return fit, phi[:, toy.N_TRAIN :], np.array([data.y_test for data in sets])


def errors(n_frequencies: int, seeds: int) -> tuple[FloatArray, FloatArray]:
    """Training and test errors (seeds, curves, 2) with the Gaussian kernel, and the λ of ridge (seeds,)."""
    fit, phi, y = problems(n_frequencies, seeds, toy.KERNEL)
    penalty = fit.best_penalty(n_folds=10)
    found = []
    for g in (fit.least_squares(), fit.least_squares(CUTOFF), fit.ridge(penalty)):
        train = mean_squared_error(fit.y + fit.y_mean, fit.fitted(g))
        found.append(np.column_stack([train, mean_squared_error(y, fit.predict(phi, g))]))
    return np.stack(found, axis=1), penalty


def second_descent(n_frequencies: int, seeds: int) -> FloatArray:
    """Test error (seeds,) of exact least squares with the rough kernel."""
    fit, phi, y = problems(n_frequencies, seeds, ROUGH)
    return mean_squared_error(y, fit.predict(phi, fit.least_squares()))


def exhibit(seeds: int) -> Exhibit:
    """Figure 5 over many seeds; the rough kernel's second descent beside it."""
    smooth = [errors(m, seeds) for m in NUMBERS]
    mse = np.stack([found for found, _ in smooth], axis=1)  # (seeds, numbers, curves, 2)
    penalty = np.stack([penalty for _, penalty in smooth], axis=1)
    rough = np.stack([second_descent(m, seeds) for m in NUMBERS], axis=1)
    middle = np.median(mse, axis=0)
    rows = [
        (m, 2 * m, *(float(middle[i, c, part]) for c in range(3) for part in (0, 1)), float(np.median(penalty[:, i])))
        for i, m in enumerate(NUMBERS)
    ]
    names = [f"{curve}_{part}_mse" for curve in CURVES for part in ("train", "test")]
    table = Table(("n_frequencies", "n_columns", *names, "ridge_penalty"), rows)
    claims = claims_of(middle, np.median(penalty, axis=0), np.median(rough, axis=0))
    return Exhibit(
        __name__, claims, table, lambda: draw(mse, penalty, rough), (toy.waves, problems, errors, second_descent)
    )


def claims_of(middle: FloatArray, penalty: FloatArray, rough: FloatArray) -> list[Claim]:
    """What the paper says of figure 5, put to medians (numbers, curves, 2)."""
    few, at, most = NUMBERS.index(8), NUMBERS.index(THRESHOLD), len(NUMBERS) - 1
    exact, truncated, ridge = (middle[:, c, 1] for c in range(3))
    train = middle[:, 1, 0]
    enough = slice(NUMBERS.index(18), None)
    spread = ridge[enough].max() / ridge[enough].min()
    return [
        Claim(
            "More features steadily reduce the training error of kernel regression; kernel ridge's stays constant.",
            f"From 8 to {NUMBERS[-1]} frequencies the (truncated) training error falls from {train[few]:.2f} to "
            f"{train[most]:.2f}; ridge goes from {middle[few, 2, 0]:.2f} to {middle[most, 2, 0]:.2f}.",
            bool((np.diff(train) < 0.02).all() and train[most] < 0.75 * train[few]),
        ),
        Claim(
            "With more features kernel regression increasingly overfits, so that its test error grows.",
            f"Exact least squares rises from {exact[few]:.2f} at 8 frequencies to {exact[at]:.0e} at the interpolation "
            f"threshold; truncated, from {truncated[few]:.2f} to {truncated[most]:.2f} at {NUMBERS[-1]}.",
            bool(exact[at] > 100 * exact[few] and truncated[most] > 1.5 * truncated[few]),
        ),
        Claim(
            "The test error of kernel ridge remains low even with additional features.",
            f"From 18 to {NUMBERS[-1]} frequencies it stays between {ridge[enough].min():.2f} and "
            f"{ridge[enough].max():.2f}.",
            bool(spread < 1.1),
        ),
        Claim(
            "Ridge prevents overfitting by a larger λ as features are added.",
            f"Median λ {penalty[0]:.1g} at {NUMBERS[0]} frequencies, {penalty[few]:.2g} at 8, {penalty[most]:.2g} at "
            f"{NUMBERS[-1]}.",
            bool(penalty[most] > penalty[0]),
        ),
        Claim(
            "(Not in the paper) Beyond the threshold the error of exact least squares descends again.",
            f"Matern 1/2 kernel: {rough.max():.0e} at {NUMBERS[int(rough.argmax())]} frequencies, {rough[-1]:.1f} at "
            f"{NUMBERS[-1]}.",
            bool(rough[-1] < 1e-3 * rough.max() and THRESHOLD <= NUMBERS[int(rough.argmax())] <= 2 * THRESHOLD),
        ),
    ]


@style.styled
def draw(mse: FloatArray, penalty: FloatArray, rough: FloatArray) -> Any:
    """Training error, test error with λ inset, and double descent."""
    figure, (left, middle, right) = style.panels(3, width=15.5, height=4.8)
    shown = (("kernel regression (truncated)", 1, style.BLUE, "o"), ("kernel ridge", 2, style.RED, "s"))
    for part, ax in enumerate((left, middle)):
        for label, curve, colour, marker in shown:
            style.band(ax, NUMBERS, mse[:, :, curve, part], color=colour, marker=marker, label=label)
        ax.set(xscale="log", xlabel="number of frequencies m (columns: 2m)", ylabel="MSE")
    left.set_ylim(0, None)
    left.legend()
    style.title(left, "training error")
    middle.set_ylim(0.9, 6.5)
    style.title(middle, "test error")
    inset = middle.inset_axes((0.16, 0.56, 0.46, 0.38))
    style.band(inset, NUMBERS, penalty, color=style.RED, marker="", label="")
    inset.set(xscale="log", yscale="log")
    inset.set_title("λ of kernel ridge", fontsize=12)
    inset.tick_params(labelsize=11)
    style.band(right, NUMBERS, mse[:, :, 0, 1], color=style.SKY, marker="^", label="least squares, Gaussian kernel")
    style.band(right, NUMBERS, rough, color=style.PURPLE, marker="D", label="least squares, Matern 1/2 kernel")
    style.band(right, NUMBERS, mse[:, :, 2, 1], color=style.RED, marker="s", label="ridge, Gaussian kernel")
    right.axvline(THRESHOLD, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    right.annotate("2m = n", (THRESHOLD, 12), xytext=(5, 0), textcoords="offset points", color=style.GREY)
    right.set(xscale="log", yscale="log", ylim=(0.5, 1e12), ylabel="test MSE")
    right.set_xlabel("number of frequencies m (columns: 2m)")
    right.legend(loc="upper left", frameon=True, framealpha=1, edgecolor="none")
    style.title(right, "exact least squares: double descent")
    return figure
