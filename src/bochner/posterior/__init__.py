"""Posterior: what is known of the surface after the data, in both views and averaged."""

from bochner.posterior.base import Posterior, draw_gaussian
from bochner.posterior.coefficients import CoefficientPosterior
from bochner.posterior.kriging import KrigingPosterior
from bochner.posterior.mixture import Mixture, Moments
from bochner.posterior.operator import OperatorPosterior
from bochner.posterior.response import Response

__all__ = [
    "CoefficientPosterior",
    "KrigingPosterior",
    "Mixture",
    "Moments",
    "OperatorPosterior",
    "Posterior",
    "Response",
    "draw_gaussian",
]
