"""Chart of the range: what was held possible before the data, and what they leave of it."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators import Fitted
from bochner.inference.tuning import limits as tuning
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
    ends = min(length.min(), tuning.LEAST_RANGE * extent), max(length.max(), tuning.LARGEST_RANGE * extent)
    edges = np.geomspace(ends[0] * 0.999, ends[1] * 1.001, limits.RANGE_BINS + 1)
    after, middle = np.histogram(length, edges, weights=mass)[0], np.sqrt(edges[:-1] * edges[1:])
    before = _prior(middle / extent, min(tuning.SHORT_RANGE, 2 * scale.spacing))
    chart = Chart(
        "Prior and posterior of the length scale", "length scale" + (f" ({unit})" if unit else "") + ", power of ten",
        "probability", (float(np.log10(edges[0])), float(np.log10(edges[-1]))),
        (0, 1.08 * float(max(after.max(), before.max()))),
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
        f"of it; the map averages over all of them."
    )


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


def _prior(relative: FloatArray, push: float) -> FloatArray:
    """Probability of each bin, equal in the logarithm, under the prior of the integration."""
    density = np.exp(-tuning.RANGE_POWER * np.log(relative) - push / relative)
    return np.asarray(density / density.sum())


def _quantiles(values: FloatArray, mass: FloatArray) -> tuple[float, float, float]:
    order = np.argsort(values)
    share = np.cumsum(mass[order])
    low, half, high = (float(values[order][np.searchsorted(share, p * share[-1])]) for p in (0.05, 0.5, 0.95))
    return low, half, high
