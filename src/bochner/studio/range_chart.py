"""Chart of the range: what was held possible before the data, and what they leave of it."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators import Fitted
from bochner.inference import range_density
from bochner.kernels import Kernel
from bochner.report.figure import Figure
from bochner.report.svg import Chart, number
from bochner.studio import limits


def range_figure(fitted: Fitted, unit: str) -> Figure | None:
    """Prior and posterior of the length scale; None where one value was kept and nothing was averaged."""
    found = _posterior(fitted)
    if found is None:
        return None
    length, mass = found
    scale = fitted.model.scale
    extent = float(np.exp(np.mean(np.log(scale.extent))))
    ends = min(length.min(), limits.SHORT_END * extent), max(length.max(), limits.LONG_END * extent)
    edges = np.geomspace(ends[0] * 0.999, ends[1] * 1.001, limits.RANGE_BINS + 1)
    after, middle = np.histogram(length, edges, weights=mass)[0], np.sqrt(edges[:-1] * edges[1:])
    before = _prior(fitted, middle, extent)
    chart = Chart(
        "Prior and posterior of the length scale", f"length scale ({unit})" if unit else "length scale",
        "probability", (float(np.log10(edges[0])), float(np.log10(edges[-1]))),
        (0, 1.08 * float(max(after.max(), before.max()))), x_ticks=_log_ticks(float(edges[0]), float(edges[-1])),
    )  # fmt: skip
    hovers = [f"{number(a)} to {number(b)}: {100 * p:.1f} %" for a, b, p in zip(edges, edges[1:], after, strict=False)]
    chart.bars(np.log10(edges), after, "first", hovers)
    chart.line(np.log10(middle), before, "guide")
    rows = [
        [f"{m:.4g}", f"{p:.3f}", f"{q:.3f}"] for m, p, q in zip(middle, before, after, strict=True) if max(p, q) > 5e-4
    ]
    return Figure(
        "Range: before and with the data",
        chart.render(),
        _caption(length, mass, unit),
        [("bar first", "with the data"), ("line guide", "before the data")],
        ("length scale", "before", "with"),
        rows,
    )


def _caption(length: FloatArray, mass: FloatArray, unit: str) -> str:
    low, half, high = (number(float(f"{v:.3g}")) for v in _quantiles(length, mass))
    told = f"{half} {unit}".rstrip()
    return (
        f"Before the data, length scales were held as likely as the dashed line says; with them it is about {told}, "
        f"90 % of the probability from {low} to {high}. Bars as wide as the line would say that the data tell little "
        f"of it; the map averages over all {len(mass)} sets that the bars stand for."
    )


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """1, 2 and 5 times powers of ten within a range, by their logarithms; fewer where it is wide."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = (1, 2, 5) if high < 1e3 * low else (1,)
    found = [k * 10.0**d for d in decades for k in steps if low <= k * 10.0**d <= high]
    return [(float(np.log10(value)), number(value)) for value in found]


def _posterior(fitted: Fitted) -> tuple[FloatArray, FloatArray] | None:
    """Length scale of every set of hyperparameters that is averaged over, and their masses."""
    mixture = fitted.model.mixture
    kernels = [getattr(component, "kernel", None) for component in mixture.components]
    pairs = [
        (_length(kernel), float(mass))
        for kernel, mass in zip(kernels, mixture.mass, strict=True)
        if kernel is not None and len(kernel.leaves()) == 1 and mass > 0
    ]
    if len(pairs) < 2:
        return None
    length, mass = np.array(pairs).T
    return length, mass / mass.sum()


def _length(kernel: Kernel) -> float:
    """Length scale, the geometric mean of those of the axes."""
    ranges = [value for value, h in zip(kernel.theta, kernel.hyperparameters, strict=True) if h.role.is_range]
    return float(np.exp(np.mean(ranges))) if ranges else float("nan")


def _prior(fitted: Fitted, length: FloatArray, extent: float) -> FloatArray:
    """Probability of each bin, equal in the logarithm, before the data."""
    log_density = range_density(length, extent, fitted.model.scale.spacing * extent)
    density = np.exp(log_density - np.max(log_density))
    return np.asarray(density / density.sum())


def _quantiles(values: FloatArray, mass: FloatArray) -> tuple[float, float, float]:
    order = np.argsort(values)
    share = np.cumsum(mass[order])
    low, half, high = (float(values[order][np.searchsorted(share, p * share[-1])]) for p in (0.05, 0.5, 0.95))
    return low, half, high
