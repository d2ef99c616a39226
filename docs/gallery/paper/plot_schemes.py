"""
All schemes side by side
========================

One picture to choose by. Of the schemes of the paper, quasi Monte Carlo is the one for maps in two dimensions; in many
dimensions it is orthogonal frequencies, or structured ones if there are hundreds.
"""

from bochner.paper import make

exhibit = make("schemes", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
