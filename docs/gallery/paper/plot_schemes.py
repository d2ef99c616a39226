"""
All schemes side by side
========================

One picture to choose by. In two dimensions: quasi Monte Carlo. In many: orthogonal, or structured if there are
hundreds. `features="auto"` follows it.
"""

from bochner.paper import make

exhibit = make("schemes", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
