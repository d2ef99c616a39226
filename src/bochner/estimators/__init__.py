"""Estimators: scikit-learn's contract and nothing else."""

from bochner.estimators.classifier import SpatialClassifier
from bochner.estimators.crossvalidation import CrossValidation
from bochner.estimators.distribution import Distribution
from bochner.estimators.fit_estimate import FitEstimate, estimate_fit
from bochner.estimators.fitted import Estimate, Fitted
from bochner.estimators.formula_regressor import FormulaRegressor
from bochner.estimators.fourier_features import FourierFeatures
from bochner.estimators.increments import like, merge
from bochner.estimators.regressor import SpatialRegressor
from bochner.estimators.storage import load

__all__ = [
    "CrossValidation",
    "Distribution",
    "Estimate",
    "FitEstimate",
    "Fitted",
    "FormulaRegressor",
    "FourierFeatures",
    "SpatialClassifier",
    "SpatialRegressor",
    "estimate_fit",
    "like",
    "load",
    "merge",
]
