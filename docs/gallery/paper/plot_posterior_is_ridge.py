"""
The posterior mean is ridge
===========================

Ridge regression gives one curve. The same penalty, read as a prior, gives a distribution of curves around it: narrow
where there are data, wide in the gap.
"""

from bochner.paper import make

exhibit = make("posterior_is_ridge", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
