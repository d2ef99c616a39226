"""Style of the figures: quiet axes, one palette that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from bochner.exceptions import MissingExtraError

# after Okabe and Ito
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
INK, GREY, PALE = "#262626", "#737373", "#E3E3E3"
MEAN, SPREAD, CHANCE = "viridis", "cividis", "YlOrBr"  # colour maps of means, standard deviations, probabilities

SETTINGS: dict[str, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "figure.dpi": 110,
    "savefig.dpi": 180,
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


def panels(n: int, *, width: float = 4.2, height: float = 3.6, axes: Any = None) -> tuple[Any, list[Any]]:
    """Figure with n panels in a row; or the ones that are given."""
    if axes is not None:
        given = list(axes.ravel()) if hasattr(axes, "ravel") else [axes] if hasattr(axes, "plot") else list(axes)
        if len(given) != n:
            from bochner.exceptions import InputError

            raise InputError(f"{len(given)} axes were given; needed are {n}, one for each panel.")
        return given[0].figure, given
    figure, made = pyplot().subplots(1, n, figsize=(width * n, height), layout="constrained", squeeze=False)
    return figure, list(made[0])


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plots are drawn by matplotlib, which is not installed; pip install 'bochner[plot]'."
        ) from error
    return plt
