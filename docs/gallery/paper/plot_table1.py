"""
Table 1: kernels and their spectral densities
=============================================

Every kernel of the library beside its spectral density. The table gives the largest difference between the kernel and
the Fourier transform of its density, done numerically in one, two and three dimensions, and the same for the formulas
as the paper prints them.
"""

from bochner.paper import make

exhibit = make("table1", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# The numbers
# -----------

print(exhibit.table.markdown())
