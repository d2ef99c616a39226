"""Growth: seconds against size, at sizes where the first order shows, and the picture of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .plan import NOISE, Plan, field

Work = Callable[[Plan, int], Callable[[], Any]]  # of a size: makes what it needs, and returns what is timed

COLOURS = ("#0072B2", "#D55E00")  # told apart by colour-blind readers


@dataclass(frozen=True)
class Curve:
    """Seconds of one task at growing sizes.

    Attributes
    ----------
    task, against : str
        What is timed, and what grows.
    at, seconds : sequence
        Sizes and seconds.
    order : int
        Slope that theory gives for the largest sizes.
    """

    task: str
    against: str
    at: Sequence[int]
    seconds: Sequence[float]
    order: int

    @property
    def slope(self) -> float:
        """Between the two largest sizes."""
        return float(np.diff(np.log(self.seconds[-2:]))[0] / np.diff(np.log(self.at[-2:]))[0])


def growth(plan: Plan) -> list[Curve]:
    """Against rows, columns and coordinates."""
    cases: tuple[tuple[str, str, np.ndarray, int, Work], ...] = (
        ("default fit", "rows", plan.size(20_000, 5_000) * 2 ** np.arange(plan.size(5, 4)), 1, default_fit),
        (
            "lattice, given values",
            "rows",
            plan.size(500_000, 250_000) * 2 ** np.arange(plan.size(5, 4)),
            1,
            lattice_fit,
        ),
        ("moments of 20,000 rows", "columns", 250 * 2 ** np.arange(plan.size(6, 4)), 2, moments),
        ("Cholesky factor", "columns", plan.size(1_000, 500) * 2 ** np.arange(plan.size(4, 3)), 3, factor),
        ("moments of 5,000 rows, 32 columns", "coordinates", 500 * 2 ** np.arange(plan.size(5, 4)), 1, coordinates),
    )
    curves = []
    for task, against, sizes, order, work in cases:
        at, times = [int(size) for size in sizes], 1 if plan.quick or work is default_fit else 2
        plan.once(work(plan, at[0]))  # imports
        seconds = [min(plan.once(ready) for _ in range(times)) for ready in (work(plan, size) for size in at)]
        curves.append(Curve(task, against, at, seconds, order))
    return curves


def default_fit(plan: Plan, n: int) -> Callable[[], Any]:
    from bochner import SpatialRegressor

    X, y = field(n)
    return lambda: SpatialRegressor(n_jobs=plan.threads).fit(X, y)


def lattice_fit(plan: Plan, n: int) -> Callable[[], Any]:
    from bochner import SpatialRegressor
    from bochner.kernels import SquaredExponential

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = np.sin(9 * X[:, 0]) + np.sqrt(NOISE) * rng.normal(size=n)
    model = SpatialRegressor(
        SquaredExponential(0.1), features="lattice", tune=None, noise_variance=NOISE, n_jobs=plan.threads
    )
    return lambda: model.fit(X, y)


def moments(plan: Plan, columns: int) -> Callable[[], Any]:
    return sums_over(20_000, columns, 4)


def coordinates(plan: Plan, dim: int) -> Callable[[], Any]:
    return sums_over(5_000, 32, dim)


def sums_over(n: int, columns: int, dim: int) -> Callable[[], Any]:
    from bochner.features import FourierMap, Rows
    from bochner.frequencies import rule_named
    from bochner.kernels import SquaredExponential
    from bochner.moments import dense_moments

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, dim))
    waves = rule_named("monte-carlo").draw(SquaredExponential(2.0), columns // 2, dim, rng)
    rows, y, weight = Rows(X, np.ones((n, 1))), np.sin(X[:, 0]), np.full(n, 1 / NOISE)
    return lambda: dense_moments(FourierMap(waves), rows, y, weight)


def factor(plan: Plan, columns: int) -> Callable[[], Any]:
    from bochner.solvers import cholesky_factor

    matrix = np.random.default_rng(0).normal(size=(columns, 2 * columns))
    precision = matrix @ matrix.T
    return lambda: cholesky_factor(precision)


def as_lines(curves: Sequence[Curve]) -> list[str]:
    """The curves as a table."""
    lines = ["| cost against | of | seconds | slope at the largest | theory |", "|---|---|---|--:|--:|"]
    for curve in curves:
        pairs = ", ".join(f"{at:,}: {s:.2g}" for at, s in zip(curve.at, curve.seconds, strict=True))
        lines.append(f"| {curve.against} | {curve.task} | {pairs} | {curve.slope:.2f} | {curve.order} |")
    return lines


def draw(path: Path, curves: Sequence[Curve], seconds_of: str) -> None:
    """A panel for each thing that grows, with dashed lines of the slopes that theory gives."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    names = list(dict.fromkeys(curve.against for curve in curves))
    figure, axes = plt.subplots(1, len(names), figsize=(10, 4), layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        own = [curve for curve in curves if curve.against == name]
        for curve, colour in zip(own, COLOURS, strict=False):
            axis.loglog(curve.at, curve.seconds, "o-", color=colour, label=f"{curve.task}: slope {curve.slope:.2f}")
            # through the largest size, where the first order is most of it
            theory = curve.seconds[-1] * (np.array(curve.at) / curve.at[-1]) ** curve.order
            axis.loglog(curve.at, theory, "--", color=colour, linewidth=1, label=f"slope {curve.order}")
        axis.xaxis.set_major_locator(FixedLocator(readable(sorted({at for curve in own for at in curve.at}))))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda at, _: short(at)))
        seconds = [s for curve in own for s in curve.seconds]
        axis.yaxis.set_major_locator(FixedLocator(decimals(min(seconds), max(seconds))))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{s:g}"))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set(xlabel=name, ylabel=f"seconds {seconds_of}" if axis is axes[0] else "")
        axis.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def readable(ticks: Sequence[int], most: int = 5) -> list[int]:
    """So many of the sizes that their labels do not touch, evenly spread on a logarithmic axis."""
    chosen, gap = [ticks[0]], np.log(ticks[-1] / ticks[0]) / most
    for tick in ticks[1:]:
        if np.log(tick / chosen[-1]) >= 0.99 * gap:
            chosen.append(tick)
    return chosen


def decimals(low: float, high: float) -> list[float]:
    """Powers of ten within a range; where there are fewer than two, 1, 2 and 5 times such powers."""
    tens = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        found = [float(ten * step) for ten in tens for step in steps if low <= ten * step <= high]
        if len(found) > 1:
            break
    return found


def short(number: float) -> str:
    """10k for ten thousand."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:g}"
