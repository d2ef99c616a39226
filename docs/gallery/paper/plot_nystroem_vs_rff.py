"""
Nystroem against random features
================================

Survey villages lie in clusters. Columns that are placed among the data need not be spent on empty land; columns that
are drawn from the kernel alone are.
"""

from bochner.paper import make

exhibit = make("nystroem_vs_rff", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
