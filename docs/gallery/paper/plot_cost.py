"""
The big N problem: what it costs
================================

Time and memory of the exact kernel and of 200 frequencies, measured on one thread of the machine that built these
pages. The exact kernel is the better choice while it fits; it stops fitting soon.
"""

from bochner.paper import make

exhibit = make("cost", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
