"""
A hundred thousand rows
=======================

Waves on a lattice pass over the rows once; after that nothing depends on their number.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import SquaredExponential

rng = np.random.default_rng(10)
places = rng.uniform(0, 10, (100_000, 2))
y = np.sin(3 * places[:, 0]) * np.cos(2 * places[:, 1]) + rng.normal(size=len(places))

start = time.perf_counter()
model = SpatialRegressor(SquaredExponential(0.6), features="lattice", tune=None, noise_variance=1.0).fit(places, y)
print(f"{len(places):,} rows in {time.perf_counter() - start:.1f} s, {model.n_frequencies_:,} waves")

axis = np.linspace(0, 10, 120)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
left.scatter(*places[:4000].T, c=y[:4000], s=3, vmin=-2, vmax=2)
left.set_title("4,000 of the rows: mostly noise")
right.pcolormesh(axis, axis, model.predict(grid).reshape(120, 120), vmin=-1, vmax=1)
right.set_title("the surface beneath")
