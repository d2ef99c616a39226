"""Moments: additive sufficient statistics of the rows."""

from bochner.moments.choose import moments_of, prefers_transform
from bochner.moments.dense import DenseMoments, dense_moments
from bochner.moments.fourier_sums import FourierSums, fourier_sums

__all__ = ["DenseMoments", "FourierSums", "dense_moments", "fourier_sums", "moments_of", "prefers_transform"]
