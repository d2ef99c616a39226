"""Figure 4: the toy spatial data.

Five hundred random places, each with the response x1² + x2² plus Gaussian noise of variance 1 (A). Only a fifth of
them are observed (B); the models of table 2 are trained on these and judged by the other 400. The paper gives no
range for longitude and latitude; a square of half-width 1.65 makes the error of its linear model come out as printed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.paper import style, toy
from bochner.paper.exhibit import Claim, Exhibit, Table


def exhibit(seeds: int) -> Exhibit:
    """Figure 4: the data of the first seed, and its noise over all seeds."""
    sets = [toy.simulate(seed) for seed in range(seeds)]
    noise = float(np.mean([np.var(data.y - toy.surface(data.coords)) for data in sets]))
    se = np.sqrt(2 / (seeds * toy.N_SAMPLES))  # of a variance of unit normal numbers
    claims = [
        Claim(
            "500 points, y = x1² + x2² + noise of variance 1; 20 % of them are for training.",
            f"{toy.N_TRAIN} of {toy.N_SAMPLES} points; the noise has variance {noise:.3f} over {seeds} seeds.",
            abs(noise - 1) < 4 * se and toy.N_TRAIN == 0.2 * toy.N_SAMPLES,
        )
    ]
    data = sets[0]
    rows = [
        (*map(float, x), float(v), "train" if i < toy.N_TRAIN else "test")
        for i, (x, v) in enumerate(zip(data.coords, data.y, strict=True))
    ]
    table = Table(("longitude", "latitude", "response", "part"), rows)
    return Exhibit(__name__, claims, table, lambda: draw(data), (toy.surface, toy.simulate))


@style.styled
def draw(data: toy.Toy) -> Any:
    """All places, and those used for training."""
    figure, axes = style.panels(2, height=4.4, sharex=True, sharey=True)
    parts = {f"all {toy.N_SAMPLES} places": slice(None), f"the {toy.N_TRAIN} used for training": slice(toy.N_TRAIN)}
    for ax, (name, part) in zip(axes, parts.items(), strict=True):
        shown = ax.scatter(*data.coords[part].T, c=data.y[part], cmap="viridis", s=30, vmin=-2, vmax=7, linewidths=0)
        ax.set(xlabel="longitude (toy units)", ylabel="latitude (toy units)", aspect="equal")
        ax.label_outer()
        style.title(ax, name)
    figure.colorbar(shown, ax=axes, label="response y", shrink=0.9, extend="both")
    return figure
