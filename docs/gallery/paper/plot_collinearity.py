"""
Multicollinearity, and how ridge mends it
=========================================

Covariates that repeat each other, such as elevation and temperature, leave the data unable to say which of them
matters. Least squares answers all the same, with large coefficients of opposite sign. The picture shows how far they
wander as two covariates become alike, and what happens to the test error when there are as many covariates as rows.
"""

from bochner.paper import make

exhibit = make("collinearity", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# What the library does
# ---------------------
# A covariate that is an exact multiple of another has no coefficient of its own. `SpatialRegressor` takes the solution
# of least norm, and says which columns are to blame.

import warnings

import numpy as np

from bochner import SpatialRegressor

rng = np.random.default_rng(0)
table = rng.uniform(size=(60, 3))
table = np.column_stack([table, 2 * table[:, 2]])  # the fourth column is twice the third
response = table[:, 2] + 0.1 * rng.standard_normal(60)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    SpatialRegressor(coords=[0, 1], covariates=[2, 3]).fit(table, response)
print(caught[0].message)
