"""
Are the intervals honest?
=========================

Every row is predicted from all others, without fitting again; four charts say whether the uncertainty holds.
"""

import numpy as np

from bochner import SpatialRegressor

rng = np.random.default_rng(9)
places = rng.uniform(0, 10, (300, 2))
y = np.sin(places[:, 0]) + np.cos(0.7 * places[:, 1]) + 0.3 * rng.normal(size=300)
model = SpatialRegressor("matern32").fit(places, y)
scores = model.cross_validate(5, scoring=["rmse", "coverage"])
print({name: round(float(value), 3) for name, value in scores.items()})
figure = model.plot_calibration()
