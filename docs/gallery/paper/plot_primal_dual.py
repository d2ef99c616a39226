"""
Primal equals dual
==================

Ridge regression can be solved with one unknown per column or with one unknown per row. The two agree up to rounding.
Which one is cheaper depends on the shape of the data; the library looks at it and chooses.
"""

from bochner.paper import make

exhibit = make("primal_dual", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
