"""SVG: a small chart with axes, drawn as text; the page's style sheet gives it colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import ArrayLike

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 46
Range = tuple[float, float]


@dataclass
class Chart:
    """One pair of axes; marks are drawn in the order they are added.

    Parameters
    ----------
    title : str
        What the chart shows, for readers who cannot see it.
    x_label, y_label : str
        Names of the axes, with units.
    x, y : (low, high)
        Range of the axes.
    width, height : int
        Size of the drawing, which the page scales; text is 12.5 high in it.
    x_ticks : sequence of (position, text), optional
        Ticks of an axis that is no plain scale; default: round numbers.
    """

    title: str
    x_label: str
    y_label: str
    x: Range
    y: Range
    width: int = WIDTH
    height: int = HEIGHT
    x_ticks: Sequence[tuple[float, str]] = ()
    _marks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x, self.y = (widened(*limits) for limits in (self.x, self.y))

    def line(self, x: ArrayLike, y: ArrayLike, style: str, hover: str = "") -> Chart:
        """Curve through points."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self._at(x, y), strict=True))
        return self._add(f'<polyline class="line {style}" points="{points}"', hover, "polyline")

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, style: str, hover: str = "") -> Chart:
        """Area between two curves."""
        xs = np.asarray(x, dtype=float)
        px, py = self._at(np.r_[xs, xs[::-1]], np.r_[np.asarray(low, float), np.asarray(high, float)[::-1]])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
        return self._add(f'<polygon class="band {style}" points="{points}"', hover, "polygon")

    def bars(self, edges: ArrayLike, height: ArrayLike, style: str, hovers: Sequence[str]) -> Chart:
        """Histogram."""
        e = np.asarray(edges, dtype=float)
        for a, b, h, hover in zip(e[:-1], e[1:], np.asarray(height, dtype=float), hovers, strict=True):
            (x0, x1), (top, base) = self._at([a, b], [h, max(self.y[0], 0.0)])
            size = f'x="{x0 + 0.5:.1f}" y="{top:.1f}" width="{max(x1 - x0 - 1, 0.5):.1f}" height="{base - top:.1f}"'
            self._add(f'<rect class="bar {style}" {size}', hover, "rect")
        return self

    def points(
        self,
        x: ArrayLike,
        y: ArrayLike,
        style: str,
        hovers: Sequence[str] = (),
        radius: float | Sequence[float] = 4.0,
        error: ArrayLike | None = None,
    ) -> Chart:
        """Dots, with error bars of plus or minus `error`."""
        px, py = self._at(x, y)
        sizes = np.broadcast_to(radius, px.shape)
        if error is not None:
            ends = [self._at(x, np.asarray(y, float) + sign * np.asarray(error, float))[1] for sign in (-1, 1)]
            for a, low, high in zip(px, *ends, strict=True):
                self._add(f'<line class="error {style}" x1="{a:.1f}" x2="{a:.1f}" y1="{low:.1f}" y2="{high:.1f}"')
        for i, (a, b, r) in enumerate(zip(px, py, sizes, strict=True)):
            hover = hovers[i] if i < len(hovers) else ""
            self._add(f'<circle class="dot {style}" cx="{a:.1f}" cy="{b:.1f}" r="{r:.1f}"', hover, "circle")
        return self

    def vertical(self, x: float, label: str, line: int = 0) -> Chart:
        """Dashed line up and down, with a label on some line of text from the top."""
        if not self.x[0] <= x <= self.x[1]:
            return self
        px = float(self._at([x], [0])[0][0])
        self._marks.append(
            f'<line class="line guide" x1="{px:.1f}" x2="{px:.1f}" y1="{TOP}" y2="{self.height - BOTTOM}"/>'
        )
        side = "end" if px > self.width * 0.62 else "start"
        shift = -5 if side == "end" else 5
        at = f'x="{px + shift:.1f}" y="{TOP + 11 + 17 * line}"'
        self._marks.append(f'<text class="note" {at} text-anchor="{side}">{escape(label)}</text>')
        return self

    def render(self) -> str:
        """The chart as an SVG element; every text in it is escaped."""
        width, height = self.width - LEFT - RIGHT, self.height - TOP - BOTTOM
        inner = f'x="{LEFT}" y="{TOP}" width="{width}" height="{height}" viewBox="{LEFT} {TOP} {width} {height}"'
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(self.title)}" xmlns="http://www.w3.org/2000/svg">{self._axes()}'
            f"<svg {inner}>{''.join(self._marks)}</svg></svg>"
        )

    def _add(self, opened: str, hover: str = "", tag: str = "") -> Chart:
        self._marks.append(f"{opened}><title>{escape(hover)}</title></{tag}>" if hover else f"{opened}/>")
        return self

    def _at(self, x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        u = (np.asarray(x, dtype=float) - self.x[0]) / (self.x[1] - self.x[0])
        v = (np.asarray(y, dtype=float) - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + u * (self.width - LEFT - RIGHT), self.height - BOTTOM - v * (self.height - TOP - BOTTOM)

    def _axes(self) -> str:
        parts, base, right = [], self.height - BOTTOM, self.width - RIGHT
        for value, text in self.x_ticks or [(tick, number(tick)) for tick in ticks(*self.x)]:
            px = float(self._at([value], [0])[0][0])
            parts.append(f'<line class="tick" x1="{px:.1f}" x2="{px:.1f}" y1="{base}" y2="{base + 4}"/>')
            parts.append(f'<text x="{px:.1f}" y="{base + 18}" text-anchor="middle">{escape(text)}</text>')
        for value in ticks(*self.y):
            py = float(self._at([0], [value])[1][0])
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{py:.1f}" y2="{py:.1f}"/>')
            parts.append(f'<text x="{LEFT - 7}" y="{py + 4:.1f}" text-anchor="end">{number(value)}</text>')
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{base}" y2="{base}"/>')
        below = f'x="{(LEFT + right) / 2}" y="{self.height - 6}"'
        beside = f'transform="translate(13 {(TOP + base) / 2}) rotate(-90)"'
        for at, text in ((below, self.x_label), (beside, self.y_label)):
            parts.append(f'<text class="label" {at} text-anchor="middle">{escape(text)}</text>')
        return "".join(parts)


def widened(low: float, high: float) -> Range:
    """A range of positive length."""
    if high > low:
        return float(low), float(high)
    room = abs(low) * 0.05 or 1.0
    return float(low - room), float(low + room)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within a range, about so many."""
    rough = (high - low) / about
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage; digits only where they tell something."""
    return f"{100 * share:.{digits}f}\u202f%"


def number(value: float) -> str:
    """A number as short as it can be read."""
    value = 0.0 if abs(value) < 1e-12 else value
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e")
    text = f"{value:,.4f}".rstrip("0").rstrip(".") if abs(value) < 1e3 else f"{value:,.1f}".removesuffix(".0")
    return text.replace("-", "−")
