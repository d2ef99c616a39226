"""Inference: hyperparameters, posteriors and held-out predictions from observations.

observed < fits < evidence < adaptive < schemes < learning < model < chunked
"""

from bochner.inference.chunked import Climb, RowSums, WavePlan, plan_waves, solve
from bochner.inference.curvature import columns_worth
from bochner.inference.fits.fixed_effects import fixed_effects, held_where_separated
from bochner.inference.fits.folds import Fold, HeldOut, stacked
from bochner.inference.fits.laplace import next_order_evidence
from bochner.inference.fits.newton import Chain, sample_posterior
from bochner.inference.learning.form import range_density
from bochner.inference.model import Model, fit_model, leave_out, sample
from bochner.inference.observed.observations import Observations, merge_equal_rows
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Domain, Settings
from bochner.inference.observed.task import residual_of
from bochner.inference.schemes.choose import choose, register_scheme
from bochner.kernels import Scale

__all__ = [
    "Chain",
    "Climb",
    "Domain",
    "Fold",
    "HeldOut",
    "Model",
    "Observations",
    "Responses",
    "RowSums",
    "Scale",
    "Settings",
    "WavePlan",
    "choose",
    "columns_worth",
    "fit_model",
    "fixed_effects",
    "held_where_separated",
    "leave_out",
    "merge_equal_rows",
    "next_order_evidence",
    "plan_waves",
    "range_density",
    "register_scheme",
    "residual_of",
    "sample",
    "sample_posterior",
    "solve",
    "stacked",
]
