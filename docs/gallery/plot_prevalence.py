"""
A prevalence map
================

Positives out of examined people in 250 villages; the map is of the prevalence, with its standard deviation.
"""

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern

rng = np.random.default_rng(1)
lon, lat = rng.uniform(8, 12, 250), rng.uniform(4, 8, 250)
prevalence = 1 / (1 + np.exp(1.2 - 1.4 * np.sin(1.7 * lon) - np.cos(1.5 * lat)))
examined = rng.integers(30, 90, 250)
survey = pd.DataFrame({"lon": lon, "lat": lat})
positive = rng.binomial(examined, prevalence)

# %%
# Distances are in km, because the columns are longitude and latitude. Coastlines and borders are drawn by themselves.

model = SpatialRegressor(Matern(100.0, 1.0), family="binomial").fit(survey, positive, trials=examined)
figure = model.plot("10km", label="prevalence", percent=True, title="Prevalence")
