"""Extremes: a given kernel out of all proportion is told, and no fit ends in something else than numbers."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import BochnerError, ConvergenceError, KernelError
from bochner.inference.fit_checks import overflow_told
from bochner.kernels import Matern, Periodic
from tests.estimators.fields import field

X, Y = field(30)
FEATURES = ("exact", "quasi", "lattice", "nystroem", "leverage")


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("length", [1e-140, 1e-60, 1e60, 1e140])
def test_lengths_out_of_proportion_are_told(features, length):
    model = SpatialRegressor(Matern(length), features=features, n_frequencies=10, noise_variance=0.1, tune=None)
    with pytest.raises(KernelError, match=r"length_scale is .*, and the coordinates extend over .*nearer to the data"):
        model.fit(X, Y)


@pytest.mark.parametrize("variance", [1e-200, 1e200])
def test_variances_out_of_proportion_are_told(variance):
    model = SpatialRegressor(Matern(0.3, variance=variance), noise_variance=0.0, tune=None)
    with pytest.raises(KernelError, match=r"variance is .*, and the responses have the variance .*"):
        model.fit(X, Y)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("length", [1e-20, 1e-6, 1e6, 1e20])
@pytest.mark.parametrize("noise", [0.0, 1e-300, 1e300])
def test_other_extremes_give_numbers_or_an_error_of_ours(features, length, noise):
    model = SpatialRegressor(Matern(length), features=features, n_frequencies=10, noise_variance=noise, tune=None)
    try:
        mean, sd = model.fit(X, Y).predict(X, return_std=True)
    except BochnerError:
        return
    assert np.isfinite(mean).all() and np.isfinite(sd).all()


@pytest.mark.parametrize("make", [lambda v: Matern(v), lambda v: Periodic(v), lambda v: Periodic(1.0, v)])
@pytest.mark.parametrize("value", [5e-324, 1e-200, 1e200, "3", 10**400])
def test_lengths_have_squares(make, value):
    with pytest.raises(KernelError, match=r"whose square no double holds|needed is a finite number > 0"):
        make(value)


def test_infinities_in_linear_algebra_are_told():
    from scipy import linalg

    for work in (lambda: linalg.cholesky(np.full((2, 2), np.nan)), lambda: np.linalg.cholesky(-np.eye(2))):
        with pytest.raises(ConvergenceError, match="cannot be computed in double precision"), overflow_told():
            work()
    with pytest.raises(ValueError, match="other"), overflow_told():
        raise ValueError("other")
