"""The main job on a simulated survey: learn a field from scattered noisy measurements, map it, say how sure.

python examples/demo.py -o demo-output
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.validation import coverage, rmse

SIDE = 10.0  # km
N_PLACES = 300
LAKE = (7.2, 6.6, 1.9)  # east, north and radius in km: nobody measured there
CELLS = 64  # along each side of the map
TRUE_KERNEL = Matern(nu=1.5, length_scale=1.6, variance=4.0)  # in km and degrees squared
TRUE_MEAN, NOISE_SD = 18.0, 0.5  # degrees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("demo-output"), help="folder for the picture")
    args = parser.parse_args()

    places, values, grid, truth = simulate(np.random.default_rng(1))
    model = SpatialRegressor().fit(places, values)
    mean, sd = model.predict(grid, return_std=True)
    lower, upper = model.predict_interval(grid, level=0.95).T

    print(model.summary())
    print(f"\nmap of {CELLS} x {CELLS} cells, against the truth")
    print(f"  RMSE            {rmse(truth, mean):.2f} °C, where the field itself varies by {truth.std():.2f} °C (sd)")
    print(f"  coverage        {coverage(truth, lower, upper):.1%} of the cells lie in their 95 % interval")
    args.output.mkdir(parents=True, exist_ok=True)
    picture = args.output / "demo.png"
    draw(picture, places, values, truth, mean, sd)
    print(f"\nthe map is in {picture.resolve()}")


def simulate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places and what was measured there; the cells of the map and the true field in them. Exact, by Cholesky."""
    places = rng.uniform(0, SIDE, size=(2 * N_PLACES, 2))
    dry = np.hypot(*(places - LAKE[:2]).T) > LAKE[2]
    places = places[dry][:N_PLACES]
    centre = (np.arange(CELLS) + 0.5) * SIDE / CELLS
    grid = np.stack(np.meshgrid(centre, centre), axis=-1).reshape(-1, 2)

    everywhere = np.concatenate([places, grid])
    root = linalg.cholesky(TRUE_KERNEL(everywhere), lower=True, overwrite_a=True)
    field = TRUE_MEAN + root @ rng.standard_normal(len(everywhere))
    values = field[:N_PLACES] + rng.normal(0, NOISE_SD, N_PLACES)
    return places, values, grid, field[N_PLACES:]


def draw(
    path: Path, places: np.ndarray, values: np.ndarray, truth: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> None:
    """Truth, predicted mean and its standard deviation, side by side."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharex=True, sharey=True, layout="constrained")
    low, high = np.percentile(np.concatenate([truth, mean]), [0.5, 99.5])
    same: dict[str, Any] = {"cmap": "viridis", "vmin": low, "vmax": high}
    panels = (
        ("The truth (simulated)", truth, "temperature (°C)", same),
        (f"Predicted mean from {len(places)} measurements", mean, "temperature (°C)", same),
        ("How sure: standard deviation", sd, "standard deviation (°C)", {"cmap": "cividis", "vmin": 0}),
    )
    for ax, (title, surface, label, colours) in zip(axes, panels, strict=True):
        image = ax.imshow(surface.reshape(CELLS, CELLS), origin="lower", extent=(0, SIDE, 0, SIDE), **colours)
        figure.colorbar(image, ax=ax, orientation="horizontal", label=label, shrink=0.9, aspect=30)
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("east (km)")
    axes[0].set_ylabel("north (km)")
    axes[1].scatter(*places.T, c=values, s=14, edgecolors="white", linewidths=0.5, **same)
    axes[2].scatter(*places.T, color="white", s=4, linewidths=0)
    axes[2].annotate("lake: no\nmeasurements", LAKE[:2], ha="center", va="center", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
