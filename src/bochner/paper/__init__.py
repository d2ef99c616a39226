"""The paper, reproduced: every table, figure and claim of Milton, Giorgi and Bhatt, as code."""
