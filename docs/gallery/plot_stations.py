"""
Stations in space and time
==========================

Twenty stations, half of which began late: what was before is told by the neighbours of the same day and by the days
after.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern, Separable

rng = np.random.default_rng(0)
stations = rng.uniform(0, 300, size=(20, 2))  # km
station, day = (v.ravel() for v in np.meshgrid(np.arange(20), np.arange(30), indexing="ij"))
coords = np.column_stack([stations[station], day])
truth = Separable(Matern(100.0), Matern(4.0, nu=0.5))
field = np.linalg.cholesky(truth(coords) + 1e-8 * np.eye(600)) @ rng.normal(size=600)
y = field + rng.normal(0, 0.5, size=600)
seen = (station < 10) | (day >= 20)

model = SpatialRegressor(Separable(Matern(), Matern(nu=0.5))).fit(coords[seen], y[seen])

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", gridspec_kw={"width_ratios": [1, 1.4, 1.4]})
late = np.array([12, 16])
axes[0].scatter(*stations[:10].T, color="#0072b2", s=45, label="from the first day")
axes[0].scatter(*stations[10:].T, color="#e69f00", marker="s", s=45, label="from day 20")
axes[0].set(xlabel="east (km)", ylabel="north (km)", title="stations", ylim=(-5, 365))
axes[0].legend(loc="upper left", ncols=1, frameon=False)
for ax, k in zip(axes[1:], late, strict=True):
    axes[0].annotate(f"{k}", stations[k], xytext=(7, 5), textcoords="offset points")
    days = np.linspace(0, 29, 117)
    line = np.column_stack([np.tile(stations[k], (len(days), 1)), days])
    low, high = model.predict_interval(line, 0.9).T
    own = station == k
    ax.fill_between(days, low, high, color="#56b4e9", alpha=0.35, label="90 % interval")
    ax.plot(days, model.predict(line), color="#0072b2", label="predicted")
    ax.plot(day[own], field[own], color="black", linestyle="--", linewidth=1, label="truth")
    ax.plot(day[own & seen], y[own & seen], "o", color="#e69f00", label="measured")
    ax.set(xlabel="day", title=f"station {k}, from day 20", ylim=(-3.2, 5))
axes[1].legend(loc="upper left", ncols=2, frameon=False)
