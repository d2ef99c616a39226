"""
Figure 5: error against the number of features
==============================================

Without a penalty more features mean a smaller training error and a larger test error; with ridge their number hardly
matters. The third panel is not in the paper: exact least squares peaks where there are as many columns as rows, and
descends again beyond.
"""

from bochner.paper import make

exhibit = make("figure5", seeds=20)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())
