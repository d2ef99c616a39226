"""
A first map
===========

A field is measured at scattered places, with noise. From the table of places and values we want the whole map, and how
far it can be trusted.
"""

# %%
# The data
# --------
# Four hundred places in a square of 10 km, none of them in the north-east corner, where we could not go.

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialRegressor

rng = np.random.default_rng(0)
places = rng.uniform(0, 10, size=(500, 2))
places = places[~((places > 6.5).all(axis=1))][:400]


def truth(coords):
    """The field itself, known here because it is made up."""
    return np.sin(coords[:, 0]) + np.cos(0.7 * coords[:, 1])


values = truth(places) + rng.normal(0, 0.3, size=len(places))

# %%
# The model
# ---------
# Length scales, variance and noise are learned from the data. The summary says what was learned and what was chosen.

model = SpatialRegressor().fit(places, values)
print(model.summary())

# %%
# The map
# -------
# The standard deviation is small where there are data and grows in the corner without.

axis = np.linspace(0, 10, 80)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
mean, sd = model.predict(grid, return_std=True)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharex=True, sharey=True, layout="constrained")
panels = {"truth": (truth(grid), "viridis"), "predicted mean": (mean, "viridis"), "standard deviation": (sd, "cividis")}
for ax, (title, (surface, cmap)) in zip(axes, panels.items(), strict=True):
    image = ax.pcolormesh(axis, axis, surface.reshape(80, 80), cmap=cmap, shading="nearest")
    ax.plot(*places.T, ".", color="white", markersize=1.5, alpha=0.6)
    ax.set(title=title, xlabel="east (km)", aspect="equal")
    figure.colorbar(image, ax=ax, shrink=0.8)
axes[0].set_ylabel("north (km)")
plt.show()

# %%
# Is the uncertainty honest? About 95 % of the surface should lie within its 95 % intervals.

lower, upper = model.predict_interval(grid, level=0.95).T
inside = (lower <= truth(grid)) & (truth(grid) <= upper)
print(f"{inside.mean():.1%} of the map lies within its 95 % interval")
