"""Moments: additive sufficient statistics of the rows."""

from bochner.moments.dense import DenseMoments, dense_moments

__all__ = ["DenseMoments", "dense_moments"]
