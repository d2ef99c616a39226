"""
Fields that are not stationary
==============================

A field that is wiggly here and smooth there wants a spectrum that varies in space; the length scale becomes a surface.
"""

from bochner.paper import make

exhibit = make("nonstationary", seeds=10)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
