"""
Uniform convergence at 1/√m
===========================

An average of m cosines stands for the kernel. The largest error over a whole square of lags falls like one over the
root of m, for smooth and rough kernels alike. The right panel puts the bound of Rahimi and Recht to the test.
"""

from bochner.paper import make

exhibit = make("uniform_convergence", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
