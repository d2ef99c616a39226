"""Inference: hyperparameters, posteriors and held-out predictions from observations."""

from bochner.inference.cross_validation import Fold, HeldOut
from bochner.inference.features import Spec
from bochner.inference.model import Model, fit_model, leave_out
from bochner.inference.observations import Observations, merge_equal_rows
from bochner.inference.scale import Scale
from bochner.inference.settings import Settings
from bochner.inference.starvation import starvation

__all__ = [
    "Fold",
    "HeldOut",
    "Model",
    "Observations",
    "Scale",
    "Settings",
    "Spec",
    "fit_model",
    "leave_out",
    "merge_equal_rows",
    "starvation",
]
