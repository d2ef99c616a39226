"""
How good is Laplace's approximation?
====================================

Prevalences and counts are fitted by a Gaussian at the most probable surface: Laplace's approximation. ``sample_full``
draws from the full posterior instead, so the two can be compared, place by place. Where rows tell much they are the
same; where a row is a single yes or no, the full posterior leans to one side and the Gaussian cannot.
"""

# %%
# One field, three surveys
# ------------------------
# The same surface is seen through 60 villages with many people examined, with few, and with one. The kernel is held at
# the truth, so that nothing but the approximation differs.

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpatialRegressor
from bochner.kernels import Matern

rng = np.random.default_rng(2)
kernel = Matern(length_scale=0.3, variance=1.5)
places = rng.uniform(size=(60, 2))
wanted = rng.uniform(size=(40, 2))
both = np.concatenate([places, wanted])
surface = np.linalg.cholesky(kernel(both) + 1e-9 * np.eye(100)) @ rng.normal(size=100) - 1.0
truth = 1 / (1 + np.exp(-surface))

surveys = {}
for examined in (50, 8, 1):
    positive = rng.binomial(examined, truth[:60])
    model = SpatialRegressor(kernel, family="binomial", noise_variance=0, tune=None)
    surveys[examined] = model.fit(places, positive, trials=examined)

# %%
# Place by place
# --------------
# Means and standard deviations of the linear predictor at 40 places without data. The sampler needs no tuning: it moves
# along ellipses through Laplace's own draws, and says how many independent draws its chain is worth.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
chains = {}
for ax, (examined, model) in zip(axes, surveys.items(), strict=True):
    _, chain = model.sample_full(wanted, 2_000)
    chains[examined] = chain
    mean, sd = model.predict_latent(wanted)
    ax.errorbar(chain.draws.mean(axis=0), mean, xerr=chain.draws.std(axis=0), yerr=sd, fmt="o", ms=3, lw=0.5, alpha=0.7)
    ax.axline((0, 0), slope=1, color="black", lw=0.8)
    ax.set(title=f"{examined} examined in each village", xlabel="mean and sd, full posterior", aspect="equal")
    ratio = np.mean(sd / chain.draws.std(axis=0))
    shift = np.mean((mean - chain.draws.mean(axis=0)) / chain.draws.std(axis=0))
    print(
        f"{examined:>2} examined: mean off by {shift:+.2f} sd, sd {ratio:.2f} of the full one; "
        f"{chain.effective:,.0f} independent draws, {chain.n_evaluations:.1f} evaluations a step"
    )
axes[0].set_ylabel("mean and sd, Laplace")
plt.show()

# %%
# What is mapped
# --------------
# The skew shows in the posterior of a single place, and less in what is mapped: the prevalence, its interval, the
# chance to exceed a threshold.

place = int(np.argmin(surface[60:]))
figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
for ax, (examined, model) in zip(axes, surveys.items(), strict=True):
    draws = chains[examined].draws[:, place]
    mean, sd = (part[place] for part in model.predict_latent(wanted))
    grid = np.linspace(draws.min(), draws.max(), 200)
    ax.hist(draws, bins=40, density=True, color="lightsteelblue", label="full posterior")
    ax.plot(grid, np.exp(-0.5 * ((grid - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi)), color="navy", label="Laplace")
    ax.axvline(surface[60 + place], color="black", ls=":", label="truth")
    ax.set(title=f"{examined} examined", xlabel="linear predictor")
axes[0].legend()
plt.show()

for examined, model in surveys.items():
    prevalence = 1 / (1 + np.exp(-chains[examined].draws))
    low, high = np.quantile(prevalence, [0.025, 0.975], axis=0)
    apart = np.abs(model.predict_interval(wanted) - np.column_stack([low, high]))
    exceed = model.predict_exceedance(wanted, 0.3) - np.mean(prevalence > 0.3, axis=0)
    print(
        f"{examined:>2} examined: ends of 95 % intervals differ by {np.mean(apart):.3f}, "
        f"P(prevalence > 0.3) by {np.mean(np.abs(exceed)):.3f}"
    )

# %%
# And the truth? Over the 40 places, each kind of interval should hold about 38.


def inside(low, high):
    """Number of places whose true prevalence lies in an interval."""
    return np.sum((low <= truth[60:]) & (truth[60:] <= high))


for examined, model in surveys.items():
    full = np.quantile(1 / (1 + np.exp(-chains[examined].draws)), [0.025, 0.975], axis=0)
    laplace = model.predict_interval(wanted).T
    print(f"{examined:>2} examined: Laplace holds {inside(*laplace)} of 40, the full posterior {inside(*full)}")
