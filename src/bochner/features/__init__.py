"""Features: places in, columns of the linear model out."""

from bochner.features.base import FeatureMap
from bochner.features.fourier import FourierMap, wave_dtype
from bochner.features.limits import BLOCK_BYTES
from bochner.features.local_spectrum import LocalSpectrumMap, local_spectrum
from bochner.features.nystroem import NystroemMap, choose_landmarks
from bochner.features.operators import CovarianceOperator, Grid, covariance_operator, find_grid
from bochner.features.paired import PairedMap
from bochner.features.rows import ArealRows, Rows
from bochner.features.support import covariance_and_gradient_of, covariance_between, joined

__all__ = [
    "BLOCK_BYTES",
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
    "covariance_and_gradient_of",
    "covariance_between",
    "covariance_operator",
    "find_grid",
    "joined",
    "local_spectrum",
    "wave_dtype",
]
