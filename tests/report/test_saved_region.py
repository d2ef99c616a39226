"""Models saved from Python: what a map and a report of them need."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor, load
from bochner.diagnostics import remember
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.report import write_report


def test_a_saved_model_says_how_it_may_know_its_region(tmp_path):
    """`save` alone keeps nothing of the rows; the errors name what lets a map and a report do without them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    model = SpatialRegressor(kernel=Matern(0.3, nu=1.5), tune=None, noise_variance=0.1).fit(X, X[:, 0])
    model.save(tmp_path / "bare.bochner")
    with pytest.raises(InputError, match=r"remember\(model\) before model\.save"):
        load(tmp_path / "bare.bochner").predict_grid(0.2)
    with pytest.raises(InputError, match=r"remember\(model\) before model\.save"):
        write_report(load(tmp_path / "bare.bochner"), tmp_path / "bare.html")
    remember(model)
    model.save(tmp_path / "known.bochner")
    assert load(tmp_path / "known.bochner").predict_grid(0.2)["mean"].notnull().all()
