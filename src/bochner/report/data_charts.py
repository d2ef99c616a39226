"""Charts of surfaces and data: observed against predicted, and the map of a single coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.random import generator
from bochner.report import limits
from bochner.report.figure import Figure
from bochner.report.svg import Chart


def scatter_figure(predicted: FloatArray, observed: FloatArray, response: str, text: str) -> Figure:
    """Every observation against what was predicted for it."""
    rows = np.arange(len(predicted))
    if len(rows) > limits.MAX_DOTS:
        rows = np.sort(generator(0, "dots").choice(rows, limits.MAX_DOTS, replace=False))
        text += f" {limits.MAX_DOTS:,} of {len(predicted):,} rows are drawn."
    p, o = predicted[rows], observed[rows]
    ends = (float(min(p.min(), o.min())), float(max(p.max(), o.max())))
    chart = Chart("Observed against predicted", f"predicted {response}", f"observed {response}", ends, ends)
    chart.line(ends, ends, "guide")
    chart.points(p, o, "faint", [f"predicted {a:.4g}, observed {b:.4g}" for a, b in zip(p, o, strict=True)], 2.6)
    return Figure("Every observation", chart.render(), text)


def profile_figure(
    x: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray, name: str, response: str, data: Any = None
) -> Figure:
    """Mean and 95 % interval along a single coordinate, with observations (x, y) if there are any."""
    values = np.r_[low, high, [] if data is None else data[1]]
    room = 0.05 * float(np.ptp(values))
    chart = Chart(
        f"{response} along {name}",
        name,
        response,
        (float(x[0]), float(x[-1])),
        (values.min() - room, values.max() + room),
    )
    chart.band(x, low, high, "first", "95 % interval of the surface")
    chart.line(x, mean, "first", "mean")
    legend = [("line first", "mean"), ("band first", "95 % interval of the surface")]
    if data is not None:
        chart.points(data[0], data[1], "faint", [f"{a:.4g}: {b:.4g}" for a, b in zip(*data, strict=True)], 2.6)
        legend.append(("dot faint", "observations"))
    return Figure("", chart.render(), "", legend)
