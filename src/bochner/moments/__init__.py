"""Moments: additive sufficient statistics of the rows."""

from bochner.moments.choose import moments_of, prefers_transform
from bochner.moments.dense import DenseMoments, dense_moments
from bochner.moments.spectral import spectral_moments

__all__ = ["DenseMoments", "dense_moments", "moments_of", "prefers_transform", "spectral_moments"]
