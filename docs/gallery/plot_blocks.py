"""
Which rows to hold out
======================

Single rows are given away by their neighbours; blocks are as far from the data as the places of a map. The wider they
are, the harder the task.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialRegressor
from bochner.validation import BlockKFold

rng = np.random.default_rng(6)
places = rng.normal(size=(40, 1, 2)) * 12 + rng.normal(size=(40, 8, 2))  # eight rows around each of forty villages
places = places.reshape(-1, 2)
y = np.sin(places[:, 0] / 4) + np.cos(places[:, 1] / 5) + 0.2 * rng.normal(size=len(places))
model = SpatialRegressor("matern32").fit(places, y)

sizes = [4.0, 10.0, 20.0]
held = {size: model.cross_validate(BlockKFold(5, block_size=size), scoring=["rmse"]) for size in sizes}
errors = [model.cross_validate(scoring=["rmse"])["rmse"], *(one["rmse"] for one in held.values())]

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, size in zip(axes[:2], (4.0, 20.0), strict=True):
    ax.scatter(*places[held[size].index].T, c=held[size].fold, cmap="tab20", s=14)
    ax.set(
        title=f"blocks of {size:.0f} km, a colour for each fold",
        xlabel="east (km)",
        ylabel="north (km)",
        aspect="equal",
    )
axes[2].bar(["single\nrows", *(f"{size:.0f} km" for size in sizes)], errors, color="#0072b2")
axes[2].set(title="error of rows held out so", ylabel="RMSE")
