"""
The kernel trick
================

Inner products of mapped points, computed with the columns and without them, are the same numbers. That is what allows
a model to have a million columns, or infinitely many: nobody computes them.
"""

from bochner.paper import make

exhibit = make("kernel_trick", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# The polynomial kernel in the library
# ------------------------------------
# A kernel of an inner product is not shift-invariant, so it has no Fourier features. The exact kernel is used, and
# nothing else changes.

import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Polynomial

rng = np.random.default_rng(0)
coords = rng.uniform(-1.65, 1.65, size=(100, 2))
y = (coords**2).sum(axis=1) + rng.standard_normal(100)
model = SpatialRegressor(Polynomial(degree=2, offset=1.0)).fit(coords, y)
print(model.predict([[1.0, 1.0], [0.0, 0.0]]).round(1))  # the surface is 2 and 0 there
