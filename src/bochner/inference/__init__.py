"""Inference: hyperparameters, posteriors and held-out predictions from observations."""

from bochner.inference.cross_validation import Fold, HeldOut
from bochner.inference.features import Spec
from bochner.inference.model import Model, fit_model, leave_out, sample
from bochner.inference.observations import Observations, merge_equal_rows
from bochner.inference.responses import Responses
from bochner.inference.sampling import Chain, sample_posterior
from bochner.inference.scale import Scale
from bochner.inference.settings import Settings
from bochner.inference.starvation import starvation

__all__ = [
    "Chain",
    "Fold",
    "HeldOut",
    "Model",
    "Observations",
    "Responses",
    "Scale",
    "Settings",
    "Spec",
    "fit_model",
    "leave_out",
    "merge_equal_rows",
    "sample",
    "sample_posterior",
    "starvation",
]
