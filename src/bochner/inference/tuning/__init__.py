"""Tuning: hyperparameters, and kernels, from an objective."""
