"""
A stack in space and time
=========================

Six days, a cloud on each: what is hidden today is told by the days around.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from bochner import SpatialRegressor

rng = np.random.default_rng(4)
days, lat, lon = pd.date_range("2024-06-01", periods=6), np.linspace(40, 42, 20), np.linspace(5, 8, 26)
surface = np.sin(2 * lon + 0.15 * np.arange(6)[:, None, None]) + np.cos(3 * lat[:, None])
seen = surface + 0.05 * rng.normal(size=surface.shape)
for day in range(6):
    a, b = rng.integers(0, 12, 2)
    seen[day, a : a + 8, b : b + 11] = np.nan
stack = xr.DataArray(seen, {"time": days, "lat": lat, "lon": lon}, ("time", "lat", "lon"), "sst")

model = SpatialRegressor("matern32").fit(stack)
filled = model.fill(stack)

figure, axes = plt.subplots(2, 6, figsize=(13, 4), layout="constrained", sharex=True, sharey=True)
for k in range(6):
    axes[0, k].pcolormesh(lon, lat, stack[k], vmin=-2, vmax=2)
    axes[1, k].pcolormesh(lon, lat, filled[k], vmin=-2, vmax=2)
    axes[0, k].set_title(str(days[k].date()), fontsize=9)
axes[0, 0].set_ylabel("seen")
axes[1, 0].set_ylabel("filled")
