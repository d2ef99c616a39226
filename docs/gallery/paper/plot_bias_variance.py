"""
Equation 6: noise, bias and variance measured
=============================================

The expected loss of a model on new data is the sum of three things: the noise, which nobody can predict; the square
of the bias; and the variance. The paper's equation 6 leaves out the first. Here all three are measured by simulation
and stacked; the dots are the measured loss, and they lie on top of the stack.
"""

from bochner.paper import make

exhibit = make("bias_variance", seeds=30)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
