"""Features: places in, columns of the linear model out."""

from bochner.features.base import BLOCK_BYTES, FeatureMap
from bochner.features.covariance import CovarianceOperator, Grid, find_grid
from bochner.features.fourier import FourierMap, wave_dtype
from bochner.features.nystroem import NystroemMap, choose_landmarks
from bochner.features.rows import Rows

__all__ = [
    "BLOCK_BYTES",
    "CovarianceOperator",
    "FeatureMap",
    "FourierMap",
    "Grid",
    "NystroemMap",
    "Rows",
    "choose_landmarks",
    "find_grid",
    "wave_dtype",
]
