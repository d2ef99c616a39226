"""
A field that is longer one way
==============================

One length scale per axis, learned; the variogram by direction shows why.
"""

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern

rng = np.random.default_rng(8)
places = rng.uniform(0, 10, (350, 2))
y = np.sin(0.6 * places[:, 0]) + np.cos(2.4 * places[:, 1]) + 0.15 * rng.normal(size=350)

# %%
# A tuple of length scales asks for one per axis.

model = SpatialRegressor(Matern((1.0, 1.0), nu=1.5)).fit(places, y)
print("length scales", tuple(round(float(v), 2) for v in model.kernel_.length_scale))
figure = model.plot()
