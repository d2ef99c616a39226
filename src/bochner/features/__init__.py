"""Features: places in, columns of the linear model out."""

from bochner.features.base import FeatureMap
from bochner.features.fourier import FourierMap, wave_dtype
from bochner.features.local_spectrum import LocalSpectrumMap, local_spectrum
from bochner.features.nystroem import NystroemMap, choose_landmarks
from bochner.features.operators import CovarianceOperator, Grid, covariance_operator, find_grid, torus_counts
from bochner.features.paired import PairedMap
from bochner.features.rows import ArealRows, Rows

__all__ = [
    "ArealRows",
    "CovarianceOperator",
    "FeatureMap",
    "FourierMap",
    "Grid",
    "LocalSpectrumMap",
    "NystroemMap",
    "PairedMap",
    "Rows",
    "choose_landmarks",
    "covariance_operator",
    "find_grid",
    "local_spectrum",
    "torus_counts",
    "wave_dtype",
]
