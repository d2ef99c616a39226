"""What is modelled of a file, and which of its columns are places: named, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.kernels import Matern

OPTIONS = {"kernel": Matern(0.3), "noise_variance": 0.1, "tune": None}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["lon", "lat"])
    table["y"], table["z"] = 1000 + rng.normal(size=60), rng.normal(size=60)
    table.loc[:4, "z"] = np.nan
    table.to_parquet(tmp_path / "survey.parquet")
    return tmp_path / "survey.parquet"


@pytest.mark.parametrize("how", ["y", "target"])
def test_a_name_is_the_column_that_is_modelled(file: Path, how: str) -> None:
    """`fit(path, "z")` is `fit(path, target="z")`, also where a column is called y; that one is no coordinate."""
    model = SpatialRegressor(**OPTIONS)
    model = model.fit(str(file), "z") if how == "y" else model.fit(str(file), target="z")
    assert list(model.feature_names_in_) == ["lon", "lat"]
    assert np.abs(model.predict(pd.DataFrame({"lon": [0.5], "lat": [0.5]}))).max() < 10


def test_an_array_beside_a_file_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match=r"y was given as a ndarray beside .*target='name'"):
        SpatialRegressor(**OPTIONS).fit(str(file), np.zeros(60))


def test_rows_with_a_missing_value_are_counted(file: Path) -> None:
    model = SpatialRegressor(**OPTIONS).fit(str(file), target="z")
    assert "5 of 60 rows have a missing value and are left out" in model.summary()
