"""
Figure 2: a feature map
=======================

The same 250 places, with the same colours, before and after the map (x1, x2) to (x1², x2²). Circles become straight
lines: the response is linear in the new columns.
"""

from bochner.paper import make

exhibit = make("figure2", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
