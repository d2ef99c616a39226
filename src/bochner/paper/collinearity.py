"""Multicollinearity breaks least squares; ridge mends it.

Two covariates that nearly repeat each other leave the data unable to say which of them matters. Least squares answers
all the same: as their correlation nears 1, its coefficients wander off (A), although their sum stays put. A little
ridge (λ = 1) shares the effect between the two. If one covariate is an exact multiple of another, X'X has no inverse;
`bochner` then takes the solution of least norm and warns, naming the columns.

The extreme case is more covariates than rows. With 40 rows the training error of least squares vanishes as the
covariates near 40, and its test error explodes (B). Ridge, with λ by cross-validation, does not notice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.filters import decompose, mean_squared_error
from bochner.random import generator
from bochner.solvers import least_squares

GAPS = np.logspace(0, -6, 13)  # 1 - correlation
N_ROWS, PENALTY = 40, 1.0
COUNTS = (2, 5, 10, 15, 20, 25, 30, 34, 37, 39, 40, 41, 43, 46, 50, 60, 80)


def coefficients(gap: float, seeds: int) -> FloatArray:
    """First coefficient by least squares and by ridge when two covariates correlate by 1 - gap, (2, runs).

    The truth is y = x1 + x2 + noise of variance 1.
    """
    rng = generator(0, "collinearity")
    first, second, noise = np.tile(rng.standard_normal((3, 10 * seeds, N_ROWS)), (1, 2, 1))
    noise[: len(noise) // 2] *= -1  # errors are linear in the noise: with its mirror image they are centred
    x = np.stack([first, (1 - gap) * first + np.sqrt(1 - (1 - gap) ** 2) * second], axis=-1)
    fit = decompose(x, x.sum(axis=-1) + noise)
    coef = [
        np.sum(np.swapaxes(fit.right, -1, -2)[:, 0] * g * np.einsum("rnk,rn->rk", fit.left, fit.y), axis=-1)
        for g in (fit.least_squares(), fit.ridge(np.array(PENALTY)))
    ]
    return np.array(coef)


def errors(n_covariates: int, seeds: int) -> FloatArray:
    """Training and test error of least squares and ridge, (seeds, 2, 2); the first two covariates matter."""
    rng = generator(n_covariates, "many covariates")
    x = rng.standard_normal((seeds, N_ROWS + 200, n_covariates))
    y = x[..., :2].sum(axis=-1) + rng.standard_normal(x.shape[:2])
    seen, new = slice(N_ROWS), slice(N_ROWS, None)
    fit = decompose(x[:, seen], y[:, seen])
    found = []
    for g in (fit.least_squares(), fit.ridge(fit.best_penalty(n_folds=10))):
        train = mean_squared_error(y[:, seen], fit.fitted(g))
        found.append(np.column_stack([train, mean_squared_error(y[:, new], fit.predict(x[:, new], g))]))
    return np.stack(found, axis=1)


def exhibit(seeds: int) -> Exhibit:
    """Coefficients against correlation, errors against the number of covariates."""
    coef = np.stack([coefficients(float(gap), seeds) for gap in GAPS], axis=1)  # (2, gaps, runs)
    mse = np.stack([errors(d, seeds) for d in COUNTS], axis=1)  # (seeds, counts, 2, 2)
    spread = coef.std(axis=-1)
    twin = least_squares(np.outer(np.arange(5.0), [1.0, 2.0]), np.arange(5.0))
    middle = np.median(mse, axis=0)
    peak = int(np.argmax(middle[:, 0, 1]))
    claims = [
        Claim(
            "When the data contain perfect multicollinearity, X'X cannot be inverted.",
            f"Of a covariate and its double, least squares finds rank {twin.rank} of 2 and takes the coefficients of "
            f"least norm, ({twin.coef[0]:.1f}, {twin.coef[1]:.1f}).",
            twin.rank == 1,
        ),
        Claim(
            "Multicollinearity is characterised by aberrant weights.",
            f"At a correlation of 1 - 10⁻⁶ the coefficient, in truth 1, has sd {spread[0, -1]:.0f} by least squares "
            f"and {spread[1, -1]:.2f} by ridge.",
            bool(spread[0, -1] > 50 and spread[1, -1] < 0.2),
        ),
        Claim(
            "More covariates than rows: poor performance in testing, often despite good performance in training.",
            f"At {COUNTS[peak]} covariates for {N_ROWS} rows least squares has training error "
            f"{middle[peak, 0, 0]:.0e} and test error {middle[peak, 0, 1]:.0f}; ridge has {middle[peak, 1, 1]:.1f}.",
            bool(middle[peak, 0, 0] < 0.1 and middle[peak, 0, 1] > 10 * middle[peak, 1, 1]),
        ),
    ]
    rows = [(float(gap), float(spread[0, i]), float(spread[1, i])) for i, gap in enumerate(GAPS)]
    table = Table(("one_minus_correlation", "sd_least_squares", "sd_ridge"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(coef, mse), (coefficients, errors))


@style.styled
def draw(coef: FloatArray, mse: FloatArray) -> Any:
    """Spread of the coefficients, and errors with more and more covariates."""
    figure, (left, right) = style.panels(2)
    for values, colour, dash, name in zip(
        coef, (style.BLUE, style.RED), ("-", "--"), ("least squares", "ridge, λ = 1"), strict=True
    ):
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], axis=-1)
        left.plot(GAPS, middle, dash, color=colour, label=name)
        left.fill_between(GAPS, low, high, color=colour, alpha=0.2, linewidth=0)
    left.set(xscale="log", xlabel="1 - correlation of the two covariates", ylabel="coefficient of the first (truth: 1)")
    left.invert_xaxis()
    left.set_ylim(-30, 32)
    left.legend(loc="upper left", title="median, 90 % of runs")
    style.title(left, "coefficients of twins")
    names = (("least squares", style.BLUE, "o"), ("ridge", style.RED, "s"))
    for i, (name, colour, marker) in enumerate(names):
        style.band(right, COUNTS, mse[:, :, i, 1], color=colour, marker=marker, label=f"{name}, test")
        style.band(right, COUNTS, mse[:, :, i, 0], color=colour, marker="", linestyle=":", label=f"{name}, training")
    right.axvline(N_ROWS - 1, color=style.GREY, linestyle=(0, (4, 3)), linewidth=1.4)
    right.annotate(
        "with the intercept,\ncolumns = rows",
        (N_ROWS, 1.5e-2),
        xytext=(4, 0),
        textcoords="offset points",
        color=style.GREY,
    )
    right.set(yscale="log", ylim=(1e-2, 2e3), xlabel=f"number of covariates (rows: {N_ROWS})", ylabel="MSE")
    right.legend(loc="upper left", fontsize=11)
    style.title(right, "more covariates than rows")
    return figure
