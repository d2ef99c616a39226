"""
Structured orthogonal features: when they pay
=============================================

Signs and Walsh-Hadamard transforms make rotations that are almost random, fast. In low dimension "almost" is not
enough, and the kernel is biased; in high dimension it is, and time is saved.
"""

from bochner.paper import make

exhibit = make("structured", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
