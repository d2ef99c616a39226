"""
Where random features fail: fine scale
======================================

A rough field, its exact prediction, and what 100 random frequencies make of it. The right panel is the more dangerous
failure: intervals that promise 95 % and hold far less.
"""

from bochner.paper import make

exhibit = make("fine_scale", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# How the library warns
# ---------------------
# `check()` compares the standard deviations of a fitted model with those of kriging from the nearest neighbours, and
# speaks up when they fall short.

import warnings

from bochner import SpatialRegressor
from bochner.paper.fine_scale import KERNELS, N_TRAIN, simulate

coords, field, y = simulate(KERNELS["Matern 1/2"], seed=0)
rough = {"kernel": KERNELS["Matern 1/2"], "tune": None, "noise_variance": 0.01}
model = SpatialRegressor(features="monte-carlo", n_frequencies=100, **rough).fit(coords[:N_TRAIN], y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # each finding is also a warning
    for finding in model.check():
        print(finding)
