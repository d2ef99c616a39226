"""Estimators: scikit-learn's contract and nothing else."""

from bochner.estimators.classifier import SpatialClassifier
from bochner.estimators.crossvalidation import CrossValidation
from bochner.estimators.fourier_features import FourierFeatures
from bochner.estimators.regressor import SpatialRegressor
from bochner.estimators.storage import load

__all__ = ["CrossValidation", "FourierFeatures", "SpatialClassifier", "SpatialRegressor", "load"]
