"""scikit-learn's own checks, in full: no failure is expected."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import FourierFeatures, SpatialRegressor
from bochner.kernels import Matern


@parametrize_with_checks(
    [
        SpatialRegressor(Matern(), features="quasi", n_frequencies=30),
        SpatialRegressor(Matern(), features="nystroem", tune=None),
        FourierFeatures(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@parametrize_with_checks([SpatialRegressor()])
@pytest.mark.slow
def test_scikit_learn_check_with_everything_chosen(estimator, check):
    check(estimator)
