"""
Quasi Monte Carlo: the slope
============================

The error of the kernel against the number of frequencies, with the slopes -1/2 and -1 for comparison. Evenly spread
frequencies are free: they cost what random ones cost.
"""

from bochner.paper import make

exhibit = make("quasi", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
