"""
Leverage scores
===============

Most waves of a smooth kernel are alike over the data's box. Leverage scores tell which ones are not, and a draw by them
spends fewer frequencies on what is known already.
"""

from bochner.paper import make

exhibit = make("leverage", seeds=10)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
