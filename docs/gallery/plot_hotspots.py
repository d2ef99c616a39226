"""
Hotspots
========

Connected places that are above a threshold with 90 % certainty.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.maps import hotspots

rng = np.random.default_rng(11)
places = pd.DataFrame({"lon": rng.uniform(8, 12, 250), "lat": rng.uniform(4, 8, 250)})
y = 20 + 4 * np.sin(1.7 * places.lon) + 3 * np.cos(2 * places.lat) + rng.normal(0, 1, 250)
model = SpatialRegressor(Matern(90.0, 8.0)).fit(places, y)

found = hotspots(model, 23, resolution="10km")
print(found[["hotspot", "mean", "highest", "area_km2"]].round(1).to_string(index=False))

figure, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
model.plot_map("10km", bands="mean", axes=[ax], label="y")
found.boundary.plot(ax=ax, color="#d0342c", linewidth=2)
