"""Charts of surfaces and data: observed against predicted, and the map of a single coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.random import generator
from bochner.report import limits
from bochner.report.figure import Figure
from bochner.report.svg import Chart, number, ticks


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


def forest_figure(rows: Sequence[tuple[str, float, float, float]], what: str) -> Figure:
    """Effects, one a line: estimate and 95 % interval, beside the line of no effect."""
    none = 1.0 if what != "change of the mean" else 0.0
    ends = np.array([row[1:] for row in rows] + [(none,) * 3])
    room = 0.06 * float(np.ptp(ends)) or 1.0
    low, high = float(ends.min()) - room, float(ends.max()) + room
    height, left, width = 34 * len(rows) + 46, 210, 560

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (width - left - 14)

    parts = [f'<line class="line guide" x1="{at(none):.1f}" x2="{at(none):.1f}" y1="4" y2="{height - 40}"/>']
    for i, (name, b, lo, hi) in enumerate(rows):
        y = 22 + 34 * i
        parts.append(f'<text class="label" x="{left - 14}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<line class="line" x1="{at(lo):.1f}" x2="{at(hi):.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="dot" cx="{at(b):.1f}" cy="{y}" r="5"/>')
    for tick in ticks(low, high):
        parts.append(f'<text x="{at(tick):.1f}" y="{height - 24}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<text class="label" x="{(left + width) / 2}" y="{height - 4}" text-anchor="middle">{what}</text>')
    label = escape(f"Effects of covariates: {what}, with 95 % intervals")
    svg = f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    table = [[name, f"{b:.3g}", f"{lo:.3g} to {hi:.3g}"] for name, b, lo, hi in rows]
    text = f"{what.capitalize()} for a step of about one standard deviation; the dashed line is no effect."
    return Figure("Effects", svg, text, (), ("covariate", what, "95 % interval"), table)


def curve_figure(name: str, x: FloatArray, lines: Sequence[FloatArray], what: str, mean: float) -> Figure:
    """An effect that bends: estimate, and ends of its 95 % interval, along the values of a covariate."""
    none = 1.0 if what != "change of the mean" else 0.0
    effect, low, high = lines
    ends = np.r_[low, high, none]
    room = 0.05 * float(np.ptp(ends))
    box = (float(x[0]), float(x[-1])), (float(ends.min()) - room, float(ends.max()) + room)
    chart = Chart(f"{what} along {name}", name, what, *box)
    chart.line(box[0], (none, none), "guide")
    chart.band(x, low, high, "first", "95 % interval")
    chart.line(x, effect, "first", "effect")
    level = number(float(f"{mean:.3g}"))
    text = f"{what.capitalize()} beside a place where {name} is {level}, its mean: this effect bends."
    shown = np.linspace(0, len(x) - 1, limits.CURVE_LINES).astype(int)
    table = [[f"{x[i]:.3g}", f"{effect[i]:.3g}", f"{low[i]:.3g} to {high[i]:.3g}"] for i in shown]
    legend = [("line first", "effect"), ("band first", "95 % interval")]
    return Figure(f"Effect of {name}", chart.render(), text, legend, (name, what, "95 % interval"), table)
