"""Posterior: what is known of the surface after the data, in both views and averaged."""

from bochner.posterior.base import Cost, Patches, Posterior, draw_gaussian
from bochner.posterior.coefficients import CoefficientPosterior
from bochner.posterior.kriging import KrigingPosterior
from bochner.posterior.mixture import Latent, Mixture
from bochner.posterior.operator import OperatorPosterior
from bochner.posterior.rescaled import RescaledPosterior
from bochner.posterior.response import Response
from bochner.posterior.stored import StoredPosterior

__all__ = [
    "CoefficientPosterior",
    "Cost",
    "KrigingPosterior",
    "Latent",
    "Mixture",
    "OperatorPosterior",
    "Patches",
    "Posterior",
    "RescaledPosterior",
    "Response",
    "StoredPosterior",
    "draw_gaussian",
]
