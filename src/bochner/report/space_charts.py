"""Charts of space: the kernel and the variogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.diagnostics.diagnostics import correlation_range, directions_of
from bochner.diagnostics.variogram import Variogram
from bochner.kernels import Kernel
from bochner.report import limits
from bochner.report.figure import Figure
from bochner.report.svg import Chart, number


@dataclass(frozen=True)
class KernelCurves:
    """Covariance against distance: in its longest and its shortest direction, which agree if it has none."""

    distance: FloatArray
    longest: FloatArray
    shortest: FloatArray
    bearings: tuple[float, float] | None  # degrees from the first axis, counter-clockwise, in two dimensions

    @property
    def isotropic(self) -> bool:
        return bool(np.max(np.abs(self.longest - self.shortest)) < limits.ISOTROPIC * self.longest[0])


def kernel_curves(kernel: Kernel, dim: int, farthest: float, axes: Sequence[int] | None = None) -> KernelCurves:
    """Curves of a shift-invariant kernel up to a distance, along some axes alone: those of the map."""
    distance = np.linspace(0, farthest, 161)
    angle = np.pi * np.arange(36) / 36
    if dim == 2:
        directions = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        directions = directions_of(dim, axes) if dim > 2 else np.ones((1, 1))
    curves = np.stack([kernel.at(distance[:, None] * u) for u in directions])
    order = np.argsort(curves.sum(axis=1))
    bearings = (float(np.degrees(angle[order[-1]])), float(np.degrees(angle[order[0]]))) if dim == 2 else None
    return KernelCurves(distance, curves[order[-1]], curves[order[0]], bearings)


def kernel_figure(
    curves: KernelCurves, kernel: Kernel, dim: int, unit: str, axes: Sequence[int] | None = None
) -> Figure:
    """Covariance of the field at two places of the map, against their distance."""
    half, far = (correlation_range(kernel, dim, level, axes) for level in (0.5, 0.05))
    variance = float(curves.longest[0])
    chart = Chart(
        "Covariance of the field against distance", _with_unit("distance", unit), "covariance",
        (0, float(curves.distance[-1])), (min(0.0, float(curves.shortest.min())), 1.05 * variance),
    )  # fmt: skip
    if curves.isotropic:
        chart.line(curves.distance, curves.longest, "first", "covariance of the field")
        legend = [("line first", "covariance")]
    else:
        chart.band(curves.distance, curves.shortest, curves.longest, "first")
        chart.line(curves.distance, curves.longest, "first", _direction("longest", curves.bearings, 0))
        chart.line(curves.distance, curves.shortest, "second", _direction("shortest", curves.bearings, 1))
        legend = [
            ("line first", _direction("longest", curves.bearings, 0)),
            ("line second", _direction("shortest", curves.bearings, 1)),
        ]
    for line, (at, level) in enumerate(((half, "half"), (far, "5 %"))):
        if at is not None:
            chart.vertical(at, f"{level} at {_with_number(at, unit)}", line)
    reach = (
        f"At a distance of {_with_number(half, unit)} the correlation of the field is one half; beyond "
        f"{_with_number(far, unit)} places hardly resemble each other."
        if half is not None and far is not None
        else "Its correlation falls off so slowly that no distance can be named beyond which places are unrelated."
    )
    told = reach if curves.isotropic else reach + " These distances are for the direction in which it reaches farthest."
    return Figure("Kernel: how alike places are", chart.render(), told, legend)


def variogram_figure(variogram: Variogram, curves: KernelCurves | None, unit: str, working: bool) -> Figure:
    """Empirical variogram with what the fitted model expects."""
    distance = np.array(variogram.distance)
    gamma = np.array(variogram.semivariance)
    tops = [gamma.max(), *variogram.upper]
    farthest = float(distance[-1]) * 1.04
    lines: list[tuple[str, FloatArray]] = []
    if curves is not None:
        lines = [("first", variogram.noise + curves.longest[0] - curves.longest)]
        if not curves.isotropic:
            lines.append(("second", variogram.noise + curves.shortest[0] - curves.shortest))
        inside = curves.distance <= farthest
        tops += [float(line[inside].max()) for _, line in lines]
    chart = Chart(
        "Empirical variogram and the variogram of the fitted model", _with_unit("distance", unit), "semivariance",
        (0, farthest), (0, 1.08 * max(tops)),
    )  # fmt: skip
    legend = [("dot accent", "data")]
    if variogram.lower:
        chart.band(distance, variogram.lower, variogram.upper, "first", "95 % of fields drawn from the model")
        legend.append(("band first", "95 % of simulated surveys"))
    for style, line in lines:
        assert curves is not None
        chart.line(curves.distance, line, style)
    if lines:
        legend.append(("line first", "fitted model" if len(lines) == 1 else "model, longest direction"))
        legend += [("line second", "model, shortest direction")] * (len(lines) - 1)
    pairs = np.array(variogram.n_pairs)
    hovers = [
        f"distance {d:.4g}, semivariance {g:.4g}, {n:,} pairs" for d, g, n in zip(distance, gamma, pairs, strict=True)
    ]
    chart.points(distance, gamma, "accent", hovers, 2.5 + 3 * np.sqrt(pairs / pairs.max()))
    what = "working responses, on the scale of the link," if working else "responses"
    caption = (
        f"Half the mean squared difference of two {what} about their trend, against the distance between them"
        f"{f', of pairs {variogram.among}' if variogram.among else ''}; larger dots have more pairs."
    )
    if variogram.lower:
        caption += " Dots within the band are what the fitted model expects of a survey at these places."
    rows = [[f"{d:.4g}", f"{g:.4g}", f"{n:,}"] for d, g, n in zip(distance, gamma, pairs, strict=True)]
    return Figure(
        "Variogram: data and model", chart.render(), caption, legend, ("distance", "semivariance", "pairs"), rows
    )


def _with_unit(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit else text


def _with_number(value: float, unit: str) -> str:
    return f"{number(float(f'{value:.3g}'))} {unit}".rstrip()


def _direction(which: str, bearings: tuple[float, float] | None, i: int) -> str:
    return f"{which} direction" + ("" if bearings is None else f" ({bearings[i]:.0f}° from the first axis)")
