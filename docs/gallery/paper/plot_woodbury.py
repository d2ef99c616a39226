"""
Woodbury's identity
===================

With Fourier features the kernel matrix has low rank, and its inverse can be had through a much smaller one. Nothing
is lost but rounding error.
"""

from bochner.paper import make

exhibit = make("woodbury", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
