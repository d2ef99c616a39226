"""
Where is it above 20 %?
=======================

A decision needs a probability, not a mean: where the surface exceeds a threshold, and how sure that is.
"""

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern

rng = np.random.default_rng(2)
survey = pd.DataFrame({"lon": rng.uniform(8, 12, 200), "lat": rng.uniform(4, 8, 200)})
eta = 1.5 * np.sin(1.7 * survey.lon) + np.cos(1.5 * survey.lat) - 1.2
examined = rng.integers(20, 70, 200)
positive = rng.binomial(examined, 1 / (1 + np.exp(-eta)))
model = SpatialRegressor(Matern(100.0, 1.0), family="binomial").fit(survey, positive, trials=examined)

# %%
# Two panels: the mean, and the probability of lying above the threshold.

figure = model.plot("10km", exceed=0.2, bands=["mean", "exceedance_0.2"], label="prevalence", percent=True)
