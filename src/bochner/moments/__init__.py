"""Moments: additive sufficient statistics of the rows."""

from bochner.moments.dense_sums import DenseMoments, dense_moments
from bochner.moments.fourier_sums import FourierSums, fourier_sums
from bochner.moments.route import moments_of, prefers_transform

__all__ = ["DenseMoments", "FourierSums", "dense_moments", "fourier_sums", "moments_of", "prefers_transform"]
