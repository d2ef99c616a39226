"""Maps of models with text covariates: a level for all pixels, and the most frequent one where nothing is said."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.maps import aggregate
from bochner.report import card

pytest.importorskip("xarray")
pytest.importorskip("rioxarray")


@pytest.fixture(scope="module")
def model() -> SpatialRegressor:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"lon": rng.uniform(5, 9, 60), "lat": rng.uniform(45, 48, 60)})
    table["soil"] = ["clay"] * 40 + ["sand"] * 20
    y = np.sin(table["lon"]) + 2 * (table["soil"] == "sand")
    fixed = SpatialRegressor(Matern(100.0), noise_variance=0.1, tune=None, covariates=["soil"])
    return fixed.fit(table, y)


def test_a_level_is_named_as_a_number_is(model):
    """The map of one soil is that of a table in which every place has it."""
    grid = model.predict_grid("0.5deg", covariates={"soil": "sand"})
    rows = grid.coords.to_dataset().drop_vars("spatial_ref", errors="ignore").to_dataframe().reset_index()
    rows = rows.rename(columns=dict(zip(grid["mean"].dims[::-1], ("lon", "lat"), strict=True))).assign(soil="sand")
    wanted = model.predict(rows).reshape([grid.sizes[d] for d in grid.coords.to_dataset().sizes])
    found = grid["mean"].transpose(*grid.coords.to_dataset().sizes).values
    assert_allclose(found[np.isfinite(found)], wanted[np.isfinite(found)], atol=1e-2)


def test_a_level_that_is_none_is_told(model):
    for ask in (partial(model.predict_grid, "0.5deg"), partial(aggregate, model, halves())):
        with pytest.raises(InputError, match=r"'soil' is 'loam'.*\['clay', 'sand'\]"):
            ask(covariates={"soil": "loam"})


def halves():
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    return geopandas.GeoDataFrame(geometry=[shapely.box(5, 45, 7, 48), shapely.box(7, 45, 9, 48)], crs=4326)


def test_areas_may_have_one_level_everywhere(model):
    """What a soil adds is what it adds to the mean of any area."""
    sand, clay = (aggregate(model, halves(), covariates={"soil": soil})["mean"] for soil in ("sand", "clay"))
    at = pd.DataFrame({"lon": [6.0, 6.0], "lat": [46.0, 46.0], "soil": ["sand", "clay"]})
    assert_allclose(sand - clay, -np.diff(model.predict(at))[0], rtol=1e-6)


def test_plots_and_cards_hold_the_most_frequent_level(model):
    pytest.importorskip("matplotlib")
    assert "soil = clay" in model.plot("0.5deg").get_suptitle()
    assert "soil = clay" in card(model)
