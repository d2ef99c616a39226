"""The look of the figures: one palette, one set of sizes, files in two formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bochner.exceptions import MissingExtraError

# Okabe and Ito's palette, which the common kinds of colour blindness can tell apart
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
    *("#CC79A7", "#56B4E9", "#F0E442"),
)
GREY, BLACK = "#767676", "#1A1A1A"
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # beside the colours, for printing without them

SETTINGS: dict[str, Any] = {
    "font.size": 13,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.labelsize": 13,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "legend.fontsize": 11.5,
    "legend.frameon": False,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "svg.hashsalt": "bochner",  # the same figure gives the same file
    "svg.fonttype": "path",
}

P = ParamSpec("P")
R = TypeVar("R")


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorator: the function draws in the style of this file."""

    @wraps(draw)
    def draw_in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        with pyplot().rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return draw_in_style


def panels(n_columns: int, n_rows: int = 1, *, width: float | None = None, height: float = 4.2, **options: Any) -> Any:
    """Figure and a flat array of axes, lettered A, B, ... when there are several."""
    figure, axes = pyplot().subplots(
        n_rows,
        n_columns,
        figsize=(width or 5.2 * n_columns, height * n_rows),
        layout="constrained",
        squeeze=False,
        **options,
    )
    flat = axes.ravel()
    if len(flat) > 1:
        for letter, ax in zip("ABCDEFGHIJKL", flat, strict=False):
            ax.set_title(letter, fontweight="bold", loc="left")
    return figure, flat


def title(ax: Any, text: str) -> None:
    """Title of a panel, after its letter."""
    letter = ax.get_title(loc="left")
    ax.set_title(f"$\\bf{{{letter}}}$  {text}" if letter else text, loc="left", fontweight="normal")


def band(ax: Any, x: Any, values: Any, *, color: str, marker: str, label: str, linestyle: str = "-") -> None:
    """Median over the first axis as a line, the middle half of the values as a band."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    ax.plot(x, middle, linestyle, color=color, marker=marker, label=label)
    ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def ticks(ax: Any, values: Any, axis: str = "x") -> None:
    """Ticks of a logarithmic axis at some values, written in full."""
    side = getattr(ax, f"{axis}axis")
    side.set_ticks(values, labels=[f"{value:,}" for value in values])
    side.set_ticks([], minor=True)


def slope_guide(ax: Any, x: Any, y: float, slope: float, label: str, *, below: bool = False) -> None:
    """Grey line of a given slope on logarithmic axes, starting at height `y`, with its name beside it."""
    x = np.asarray(x, dtype=float)
    line = y * (x / x[0]) ** slope
    ax.plot(x, line, color=GREY, linestyle=(0, (4, 3)), linewidth=1.4, zorder=1)
    place = {"xytext": (-4, -4), "ha": "right", "va": "top"} if below else {"xytext": (4, 4), "va": "bottom"}
    middle = len(x) // 2
    ax.annotate(label, (x[middle], line[middle]), textcoords="offset points", color=GREY, fontsize=11.5, **place)


def save(figure: Any, directory: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG and close it."""
    plt = pyplot()
    paths = [directory / f"{name}.{kind}" for kind in ("png", "svg")]
    with plt.rc_context(SETTINGS):
        figure.savefig(paths[0])
        figure.savefig(paths[1], metadata={"Date": None})
    plt.close(figure)
    return paths


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "the figures of the paper are drawn by matplotlib, which is not installed; pip install 'bochner[plot]'."
        ) from error
    return plt
