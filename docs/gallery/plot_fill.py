"""
Filling a satellite image
=========================

Clouds hide a part of an image. The DataArray goes in with its gaps, and comes back without.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from bochner import SpatialRegressor

rng = np.random.default_rng(3)
lat, lon = np.linspace(40, 43, 48), np.linspace(4, 8, 64)
truth = np.sin(2.5 * lon) + np.cos(3 * lat[:, None]) + 0.5 * np.sin(5 * lon + 4 * lat[:, None])
row, col = np.indices(truth.shape)
clouds = (np.hypot(row - 15, col - 20) < 8) | (np.hypot(row - 33, col - 48) < 9)
image = xr.DataArray(truth + 0.05 * rng.normal(size=truth.shape), {"lat": lat, "lon": lon}, ("lat", "lon"), "sst")
image = image.where(~clouds)

# %%
# Learn from the pixels that were seen, fill those that were not; the standard deviation is 0 where there is a value.

model = SpatialRegressor("matern32").fit(image)
filled, sd = model.fill(image, return_std=True)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, (title, one) in zip(axes, {"seen": image, "filled": filled, "sd": sd}.items(), strict=True):
    one.plot(ax=ax, cmap="cividis" if title == "sd" else "viridis")
    ax.set_title(title)
