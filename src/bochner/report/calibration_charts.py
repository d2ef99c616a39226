"""Charts of calibration: whether predictions of held-out rows are honest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from bochner.diagnostics.held_out_calibration import Calibration
from bochner.report.figure import Figure
from bochner.report.svg import Chart, percent


def pit_figure(held: Calibration) -> Figure:
    """Histogram of the probability integral transform."""
    counts = np.array(held.pit)
    expected = held.n_rows / len(counts)
    # of a binomial count with probability 1 / bins
    spread = 1.96 * np.sqrt(expected * (1 - 1 / len(counts)))
    chart = Chart(
        "Histogram of the probability integral transform", "predicted probability of a lower value", "held-out rows",
        (0, 1), (0, 1.1 * max(counts.max(), expected + spread)),
    )  # fmt: skip
    edges = np.linspace(0, 1, len(counts) + 1)
    hovers = [
        f"{a:.2f} to {b:.2f}: {n} rows, expected {expected:.1f}"
        for a, b, n in zip(edges, edges[1:], counts, strict=False)
    ]
    chart.bars(edges, counts, "first", hovers)
    chart.band([0, 1], [max(0, expected - spread)] * 2, [expected + spread] * 2, "expected")
    chart.line([0, 1], [expected, expected], "guide")
    return Figure(
        "Are the predicted laws honest?",
        chart.render(),
        "Where each held-out observation fell in the law predicted for it. Even bars: honest. A hump in the middle: "
        "intervals too wide; tall ends: too narrow; a slope: predictions off to one side.",
        [("bar first", held.name), ("band expected", "where 95 % of even bars lie")],
        ("from", "to", "rows"),
        [[f"{a:.2f}", f"{b:.2f}", f"{n}"] for a, b, n in zip(edges, edges[1:], counts, strict=False)],
    )


def coverage_figure(held: Sequence[Calibration]) -> Figure:
    """Share of held-out observations inside central intervals, against what the intervals claim."""
    chart = Chart(
        "Share of held-out observations in intervals, against their claim", "probability that intervals claim",
        "share inside", (0, 1), (0, 1),
    )  # fmt: skip
    claim = np.linspace(0, 1, 101)
    half = 1.96 * np.sqrt(claim * (1 - claim) / held[0].n_rows)
    chart.band(claim, np.maximum(claim - half, 0), np.minimum(claim + half, 1), "expected")
    chart.line([0, 1], [0, 1], "guide")
    legend = []
    for one, style in zip(held, ("first", "accent"), strict=False):
        hovers = [
            f"{one.name}: {percent(c)} inside {percent(p, 0)} intervals"
            for p, c in zip(one.levels, one.coverage, strict=True)
        ]
        chart.line(one.levels, one.coverage, style)
        chart.points(one.levels, one.coverage, style, hovers, 3.5)
        legend.append((f"line {style}", one.name))
    levels = held[0].levels
    rows = [[percent(p, 0), *(percent(one.coverage[i]) for one in held)] for i, p in enumerate(levels)]
    return Figure(
        "Do intervals hold what they promise?",
        chart.render(),
        "Points on the diagonal: 90 % intervals hold 90 % of the observations that were held out. Below it, intervals "
        "are too narrow.",
        [*legend, ("band expected", "chance, 95 %")],
        ("claimed", *(one.name for one in held)),
        rows,
    )


def reliability_figure(held: Calibration, response: str) -> Figure:
    """Observed against predicted means, in groups of similar predictions."""
    r = held.reliability
    predicted, observed, error = (np.array(v) for v in (r.predicted, r.observed, r.standard_error))
    ends = np.r_[predicted, observed - 1.96 * error, observed + 1.96 * error]
    room = 0.04 * float(np.ptp(ends)) or 1.0
    limits = (float(ends.min()) - room, float(ends.max()) + room)
    chart = Chart("Observed against predicted means", f"predicted {response}", f"observed {response}", limits, limits)
    chart.line(limits, limits, "guide")
    hovers = [
        f"{n} rows: predicted {p:.4g}, observed {o:.4g} ± {1.96 * e:.2g}"
        for p, o, e, n in zip(predicted, observed, error, r.n_rows, strict=True)
    ]
    chart.points(predicted, observed, "first", hovers, 4, 1.96 * error)
    rows = [
        [f"{p:.4g}", f"{o:.4g}", f"{e:.2g}", str(n)]
        for p, o, e, n in zip(predicted, observed, error, r.n_rows, strict=True)
    ]
    return Figure(
        "Are predictions right on average?",
        chart.render(),
        "Held-out rows sorted by what was predicted, in groups of equal size: mean prediction against mean "
        "observation, with 95 % bars. Dots on the diagonal: no bias at any level.",
        [("dot first", held.name)],
        ("predicted", "observed", "std. error", "rows"),
        rows,
    )


def residual_figure(held: Calibration) -> Figure:
    """Standardised residuals of held-out rows beside the standard normal law."""
    edges, counts = np.array(held.bins), np.array(held.residuals)
    z = np.linspace(edges[0], edges[-1], 121)
    normal = held.n_rows * (edges[1] - edges[0]) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    chart = Chart(
        "Histogram of standardised residuals", "standardised residual", "held-out rows",
        (edges[0], edges[-1]), (0, 1.1 * max(counts.max(), normal.max())),
    )  # fmt: skip
    expected = held.n_rows * np.diff(special.ndtr(edges))
    hovers = [
        f"{a:g} to {b:g}: {n} rows, expected {e:.1f}"
        for a, b, n, e in zip(edges, edges[1:], counts, expected, strict=False)
    ]
    chart.bars(edges, counts, "first", hovers)
    chart.line(z, normal, "second")
    beyond = counts[np.abs((edges[1:] + edges[:-1]) / 2) > 3].sum() / held.n_rows
    return Figure(
        "Residuals",
        chart.render(),
        f"Held-out residuals in units of their predicted sd, beside the standard normal curve. {percent(beyond)} lie "
        f"beyond 3; 0.3 % are expected. What lies beyond 4 is counted in the outer bars.",
        [("bar first", held.name), ("line second", "standard normal")],
        ("from", "to", "rows", "expected"),
        [
            [f"{a:g}", f"{b:g}", str(n), f"{e:.1f}"]
            for a, b, n, e in zip(edges, edges[1:], counts, expected, strict=False)
        ],
    )
