"""
Orthogonal features: variance against dimension
===============================================

Directions that are orthogonal do not repeat each other. The gain is nothing in one dimension and large in many; for
maps, in two or three, it is modest.
"""

from bochner.paper import make

exhibit = make("orthogonal", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
