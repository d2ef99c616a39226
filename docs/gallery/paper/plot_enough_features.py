"""
√n log n features are enough
============================

How many frequencies does a data set of n rows need? The theorem that the paper quotes says: about √n log n, to learn
as fast as the exact kernel. The picture shows the errors side by side, for a function of the kind that the theorem is
about and for one that it does not cover.
"""

from bochner.paper import make

exhibit = make("enough_features", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
