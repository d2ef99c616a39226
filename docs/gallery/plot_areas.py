"""
Means over areas
================

Districts are less certain than single pixels suggest: neighbouring places go up and down together.
"""

import geopandas as gpd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shapely

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.maps import aggregate

rng = np.random.default_rng(5)
places = pd.DataFrame({"lon": rng.uniform(8, 12, 200), "lat": rng.uniform(4, 8, 200)})
y = 20 + 3 * np.sin(1.7 * places.lon) + 2 * np.cos(1.5 * places.lat) + rng.normal(0, 0.8, 200)
model = SpatialRegressor(Matern(100.0, 4.0)).fit(places, y)

cells = [shapely.box(8 + i, 4 + j, 9 + i, 5 + j) for i in range(4) for j in range(4)]
districts = gpd.GeoDataFrame({"name": [f"D{k + 1}" for k in range(16)]}, geometry=cells, crs=4326)
means = aggregate(model, districts, exceed=21, n_points=60, n_draws=300).sort_values("mean")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
means.plot("mean", ax=left, legend=True, edgecolor="white")
left.set_title("mean of each district")
right.errorbar(
    means["mean"], means["name"], xerr=[means["mean"] - means["lower"], means["upper"] - means["mean"]], fmt="o"
)
right.set(title="with 95 % intervals", xlabel="mean")
