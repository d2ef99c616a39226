"""
Table 2: linear, kernel regression, kernel ridge
================================================

The paper's comparison, over fifty seeds instead of one. Crosses are the numbers that the paper printed. Kernel
regression appears twice: with tiny singular values cut off, which gives what the paper shows, and exact, which
interpolates the training data and has a test error with many digits.
"""

from bochner.paper import make

exhibit = make("table2", seeds=50)
figure = exhibit.draw()

# %%
# What the paper says, and what was found:

print(exhibit.summary())

# %%
# The numbers
# -----------

print(exhibit.table.markdown())
