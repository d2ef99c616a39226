"""Gaussian fits: from observations at given hyperparameters to a posterior, and what it says of rows left out."""
