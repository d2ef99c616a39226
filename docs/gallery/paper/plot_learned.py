"""
Learned frequencies
===================

The data may have a spectrum that no kernel has. Frequencies that move along the gradient of the evidence find it;
held-out rows watch that they do not learn noise.
"""

from bochner.paper import make

exhibit = make("learned", seeds=10)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
