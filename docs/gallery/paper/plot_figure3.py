"""
Figure 3: spectral densities and their functions
================================================

On the left a distribution of frequencies, on the right three functions made of waves with these frequencies and
random amplitudes. A kernel is a distribution of waves; this figure is the idea of the whole library.
"""

from bochner.paper import make

exhibit = make("figure3", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# Functions from any kernel
# -------------------------
# The same by hand: draw frequencies, make columns, give them normal coefficients.

import numpy as np

from bochner import FourierFeatures
from bochner.kernels import Matern

x = np.linspace(0, 10, 200)[:, None]
phi = FourierFeatures(Matern(nu=1.5), n_frequencies=500).fit_transform(x)
functions = phi @ np.random.default_rng(0).standard_normal((1000, 2000))
print(f"variance {functions.var():.2f}; correlation at lag 1: {np.corrcoef(functions[0], functions[20])[0, 1]:.2f}")
print(f"the kernel says 1 and {Matern(nu=1.5).at([[x[20, 0]]])[0]:.2f}")
