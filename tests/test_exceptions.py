"""Warnings: they point at the line of the user's that led to them."""

from __future__ import annotations

import warnings

import numpy as np

from bochner import SpatialRegressor
from bochner.exceptions import CollinearityWarning, OutsideWarning
from bochner.kernels import Matern


def test_warnings_point_at_the_line_of_the_user():
    """However deep they arise: in the layout of a table, in the rows of a prediction."""
    X = np.random.default_rng(0).uniform(size=(50, 2))
    table = np.column_stack([X, X[:, 0], X[:, 0]])
    model = SpatialRegressor(Matern(0.5, nu=2.5), features="lattice", noise_variance=1.0, tune=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SpatialRegressor(covariates=[2, 3], tune=None).fit(table, X[:, 1])
        model.fit(X, X[:, 0]).predict(X + 100)
    places = {one.category: one.filename for one in caught}
    assert places[CollinearityWarning] == places[OutsideWarning] == __file__
