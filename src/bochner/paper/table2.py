"""Table 2: linear regression, kernel regression and kernel ridge on the toy data.

Three models see the same 100 of 500 places: linear in longitude and latitude; linear in the cosines and sines of 100
random frequencies of a Gaussian kernel (kernel regression); and the same with a ridge penalty λ chosen by 10-fold
cross-validation (kernel ridge). The paper printed one run; here are mean and standard deviation over many.

The row of kernel regression holds a lesson. A hundred frequencies make 200 columns, and 200 columns can interpolate
100 places: exact least squares (of minimum norm, since many solutions fit) has no training error at all and, because
the waves of a smooth kernel are nearly dependent, coefficients so large that the test error has many digits. The
paper's .64 and 2.70 are not of that kind. They appear when singular values below 5·10⁻⁴ of the largest count as zero,
as numerical libraries do with a tolerance of their own: truncation is a regularisation too, one that nobody chose. So
there are two rows, one truncated and one exact.

The truncated row is fitted to the paper, not a prediction of it: the paper gives no cut-off, and this one was picked
from 10⁻⁴ to 5·10⁻⁴ on these same seeds for coming closest; at 3·10⁻⁴ the test error is 4.9 with a spread of 13.9. A few
seeds make a long tail, so that "within the spread" says little there. That the intercept is not shrunk was settled
with the paper's numbers in view as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.paper import style, toy
from bochner.paper.exhibit import Cell, Claim, Exhibit, Table
from bochner.paper.filters import Filters, decompose, mean_squared_error

N_FREQUENCIES = 100
CUTOFF = 5e-4
FLOOR = 1e-3  # training errors below are drawn at it
TUNED = ("kernel regression, truncated", "kernel ridge")  # its cut-off, its intercept: settled with the paper in view
BEYOND = 30.0  # test errors above are told, not drawn
COLUMNS = ("model", "train_mse_mean", "train_mse_sd", "test_mse_mean", "test_mse_sd", "paper_train", "paper_test")
PRINTED = {
    "linear": (2.26, 2.73),
    "kernel regression, truncated": (0.64, 2.70),
    "kernel regression, exact": (0.64, 2.70),
    "kernel ridge": (0.88, 1.19),
}


def fit_models(seed: int) -> tuple[dict[str, tuple[float, float]], float]:
    """Training and test error of every model on one data set, and the λ of kernel ridge."""
    data = toy.simulate(seed)
    phi = toy.waves(N_FREQUENCIES, seed).block(data.coords)  # 200 columns
    linear = decompose(data.coords[: toy.N_TRAIN], data.y_train)
    waves = decompose(phi[: toy.N_TRAIN], data.y_train)
    penalty = waves.best_penalty(n_folds=10)
    found = {
        "linear": errors(linear, linear.least_squares(), data.coords, data),
        "kernel regression, truncated": errors(waves, waves.least_squares(CUTOFF), phi, data),
        "kernel regression, exact": errors(waves, waves.least_squares(), phi, data),
        "kernel ridge": errors(waves, waves.ridge(penalty), phi, data),
    }
    return found, float(penalty)


def errors(fit: Filters, g: FloatArray, phi: FloatArray, data: toy.Toy) -> tuple[float, float]:
    """Training and test error of one model."""
    train = mean_squared_error(data.y_train, fit.fitted(g))
    test = mean_squared_error(data.y_test, fit.predict(phi[toy.N_TRAIN :], g))
    return float(train), float(test)


def exhibit(seeds: int) -> Exhibit:
    """Table 2 over many seeds, the paper's numbers beside it."""
    runs = [fit_models(seed) for seed in range(seeds)]
    mse = {name: np.array([found[name] for found, _ in runs]) for name in PRINTED}
    rows: list[tuple[Cell, ...]] = []
    for name, values in mse.items():
        mean, sd = values.mean(axis=0), values.std(axis=0, ddof=min(1, seeds - 1))
        rows.append((name, *map(float, (mean[0], sd[0], mean[1], sd[1])), *PRINTED[name]))
    penalty = float(np.median([penalty for _, penalty in runs]))
    remarks = {
        "linear": "",
        "kernel regression, truncated": _quartiles(mse["kernel regression, truncated"][:, 1]),
        "kernel ridge": f" Median λ {penalty:.2g} for columns scaled by 1/√m; the paper has 3.98, in units not given.",
    }
    claims = [_agreement(row, remarks[str(row[0])]) for row in rows if row[0] in remarks]
    claims += [_explosion(mse["kernel regression, exact"]), _halved(mse)]
    return Exhibit(__name__, claims, Table(COLUMNS, rows), lambda: draw(mse), (toy.waves, fit_models, errors))


@style.styled
def draw(mse: dict[str, FloatArray]) -> Any:
    """Errors of every seed, their means, and what the paper printed."""
    figure, axes = style.panels(2, width=13, sharey=True)
    for part, ax in enumerate(axes):
        for row, (name, values) in enumerate(mse.items()):
            shift = np.linspace(-0.22, 0.22, len(values))
            ax.plot(np.maximum(values[:, part], FLOOR), row + shift, ".", color=style.BLUE, alpha=0.5)
            ax.plot(max(values[:, part].mean(), FLOOR), row, "|", color=style.BLACK, markersize=26, markeredgewidth=2.5)
            ax.plot(PRINTED[name][part], row, "X", color=style.RED, markersize=11, markeredgecolor="white")
        ax.set(xscale="log", xlabel=f"{('training', 'test')[part]} error (MSE)", ylim=(3.6, -0.6))
        ax.set_yticks(range(4), labels=[name.replace(", ", ",\n") for name in mse])
    axes[0].set_xlim(FLOOR / 2, 10)
    axes[1].set_xlim(0.7, BEYOND)
    for row, values in enumerate(mse.values()):
        beyond = values[values[:, 1] > BEYOND, 1]
        if len(beyond) > 1:
            low, high = (f"$10^{{{np.log10(value):.0f}}}$" for value in (beyond.min(), beyond.max()))
            said = f"{len(beyond)} of {len(values)} seeds: {low} to {high}  →"
            axes[1].text(BEYOND * 0.9, row, said, ha="right", va="center", color=style.BLUE)
    axes[1].plot([], [], ".", color=style.BLUE, label="one seed")
    axes[1].plot([], [], "|", color=style.BLACK, markersize=16, markeredgewidth=2.5, label="mean")
    axes[1].plot([], [], "X", color=style.RED, markersize=11, markeredgecolor="white", label="the paper")
    axes[1].legend(loc="upper right")
    style.title(axes[0], "training error (below 0.001: shown there)")
    style.title(axes[1], "test error")
    return figure


def _agreement(row: tuple[Cell, ...], remark: str) -> Claim:
    name, train, train_sd, test, test_sd, paper_train, paper_test = (
        value if i == 0 else float(value) for i, value in enumerate(row)
    )
    within = abs(train - paper_train) <= 3 * train_sd and abs(test - paper_test) <= 3 * test_sd  # type: ignore[operator]
    return Claim(
        f"{str(name).capitalize()}: training error {paper_train}, test error {paper_test}.",
        f"{train:.2f} ± {train_sd:.2f} and {test:.2f} ± {test_sd:.2f} (mean ± sd).{remark}",
        bool(within),
        tuned=name in TUNED,
    )


def _explosion(values: FloatArray) -> Claim:
    train, test = np.median(values, axis=0)
    return Claim(
        "Kernel regression greatly overfits in the absence of regularisation.",
        f"Exact least squares on 200 columns interpolates the 100 places: median training error {train:.0e}, "
        f"median test error {test:.0e}.",
        bool(train < 0.01 and test > 100),
    )


def _halved(mse: dict[str, FloatArray]) -> Claim:
    ratio = mse["kernel ridge"][:, 1].mean() / mse["kernel regression, truncated"][:, 1].mean()
    return Claim(
        "Kernel ridge has a marginally higher training error than kernel regression, less than half its test error.",
        f"The mean test error of kernel ridge is {ratio:.2f} of that of (truncated) kernel regression.",
        bool(ratio < 0.5 and mse["kernel ridge"][:, 0].mean() > mse["kernel regression, truncated"][:, 0].mean()),
    )


def _quartiles(test: FloatArray) -> str:
    low, middle, high = np.quantile(test, [0.25, 0.5, 0.75])
    return f" The test error has a long tail: median {middle:.2f}, middle half {low:.2f} to {high:.2f}."
