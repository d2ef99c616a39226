"""
Presence and absence
====================

A classifier on the map: the probability of presence, and where it is a toss-up.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialClassifier

rng = np.random.default_rng(6)
places = rng.uniform(0, 10, (400, 2))
present = np.where(np.sin(places[:, 0]) + np.cos(places[:, 1]) + 0.6 * rng.normal(size=400) > 0.3, "present", "absent")
model = SpatialClassifier("matern32").fit(places, present)

axis = np.linspace(0, 10, 70)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
chance = model.predict_proba(grid)[:, list(model.classes_).index("present")]

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
image = ax.pcolormesh(axis, axis, chance.reshape(70, 70), cmap="PuOr", vmin=0, vmax=1)
ax.contour(axis, axis, chance.reshape(70, 70), [0.5], colors="black")
ax.scatter(*places.T, c=present == "present", s=6, cmap="PuOr", edgecolors="black", linewidths=0.3)
figure.colorbar(image, label="probability of presence")
