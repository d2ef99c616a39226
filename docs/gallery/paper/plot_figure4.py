"""
Figure 4: the toy data
======================

Five hundred places and the hundred of them that the models may see.
"""

from bochner.paper import make

exhibit = make("figure4", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
