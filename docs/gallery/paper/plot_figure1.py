"""
Figure 1: the bias-variance trade-off
=====================================

An epidemic grows like a quadratic of time. A straight line cannot follow it; a polynomial of degree 5 follows the
noise as well; degree 2 does best on reports that it has not seen. The box plots show the test errors over many
simulated epidemics: the spread of degree 5 is the variance of the trade-off, made visible.
"""

from bochner.paper import make

exhibit = make("figure1", seeds=50)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
