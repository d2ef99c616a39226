"""
Cases per population
====================

Counts with an exposure: the map shows the rate, and counts come back for any population.
"""

import numpy as np
import pandas as pd

from bochner import SpatialRegressor
from bochner.kernels import Matern

rng = np.random.default_rng(7)
places = pd.DataFrame({"x": rng.uniform(0, 100, 220), "y": rng.uniform(0, 100, 220)})
people = rng.integers(200, 5_000, 220)
rate = 0.01 * np.exp(np.sin(places.x / 15) + np.cos(places.y / 12))
cases = rng.poisson(people * rate)

model = SpatialRegressor(Matern(20.0, 1.0), family="poisson").fit(places, cases, exposure=people)
expected = model.predict(pd.DataFrame({"x": [50.0], "y": [50.0]}), exposure=[1000])
print(f"expected among 1,000 people at (50, 50): {expected[0]:.1f}")
figure = model.plot(label="cases per person")
