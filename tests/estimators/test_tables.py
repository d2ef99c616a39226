"""Tables: named columns, extra columns and their order, in pandas and polars."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor
from bochner.exceptions import ColumnError, InputError
from bochner.kernels import Matern

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())


def survey() -> dict[str, list]:
    rng = np.random.default_rng(0)
    n = 50
    lon, lat, elevation = rng.uniform(size=n), rng.uniform(size=n), 100 * rng.normal(size=n)
    return {
        "village": [f"village {i}" for i in range(n)],
        "lat": lat.tolist(),
        "elevation": elevation.tolist(),
        "lon": lon.tolist(),
        "zinc": (np.sin(5 * lon) + 0.01 * elevation + 0.1 * rng.normal(size=n)).tolist(),
    }


def fixed(**more) -> SpatialRegressor:
    return SpatialRegressor(Matern(0.4), noise_variance=0.02, tune=None, **more)


def as_array(table: dict[str, list], *names: str) -> np.ndarray:
    return np.column_stack([table[name] for name in names])


@every_frame
def test_named_columns_are_found_among_others(frame):
    """Text columns and the response may stay in the table, in any order."""
    table = survey()
    data = frame(table)
    model = fixed(coords=["lon", "lat"], covariates=["elevation"]).fit(data, data["zinc"])
    in_km = np.column_stack([model.fitted_.layout.placement.forward(as_array(table, "lon", "lat")), table["elevation"]])
    plain = fixed(covariates=[2]).fit(in_km, np.array(table["zinc"]))
    assert_allclose(model.predict(data), plain.predict(in_km), rtol=1e-12)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-10)
    assert list(model.feature_names_in_) == ["lon", "lat", "elevation"]
    assert model.n_features_in_ == 3
    assert "elevation" in model.summary()


@every_frame
def test_columns_may_come_in_another_order_at_predict_when_named(frame):
    table = survey()
    model = fixed(coords=["lon", "lat"], covariates="elevation").fit(frame(table), table["zinc"])
    turned = frame({name: table[name] for name in ("zinc", "elevation", "lat", "lon")})
    assert_array_equal(model.predict(turned), model.predict(frame(table)))


@every_frame
def test_columns_in_another_order_are_put_right(frame):
    """lon and lat the wrong way round: their names tell."""
    table = survey()
    straight, swapped = (frame({k: table[k] for k in names}) for names in (("lon", "lat"), ("lat", "lon")))
    model = fixed().fit(straight, table["zinc"])
    assert list(model.feature_names_in_) == ["lon", "lat"]
    assert np.array_equal(model.predict(swapped), model.predict(straight))


@every_frame
def test_covariates_by_name_leave_the_rest_as_coordinates(frame):
    table = survey()
    data = frame({k: table[k] for k in ("lon", "lat", "elevation")})
    by_name, by_position = fixed(covariates="elevation").fit(data, table["zinc"]), fixed(covariates=2)
    by_position.fit(data, table["zinc"])
    assert_array_equal(by_name.predict(data), by_position.predict(data))
    assert_array_equal(by_name.predict(data), fixed(covariates=[-1]).fit(data, table["zinc"]).predict(data))


@every_frame
def test_places_to_predict_may_be_a_frame(frame):
    table = survey()
    model = SpatialRegressor(Matern(0.4), coords=["lon", "lat"], tune="spatial-cv")
    model.fit(frame(table), table["zinc"], predict_at=frame(table))
    assert model.choices_["tuning"].value == "held-out blocks"


@every_frame
@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ({"coords": ["long", "lat"]}, ColumnError, "there is no column 'long'; did you mean 'lon'"),
        ({"coords": ["lon", "lat"], "covariates": ["elevaton"]}, ColumnError, "did you mean 'elevation'"),
        ({"coords": ["qqq", "lat"]}, ColumnError, "the columns are"),
        ({"coords": ["lon", "lat"], "covariates": [2]}, InputError, "names for both, or positions for both"),
        ({"coords": ["lon", "lat"], "covariates": ["lat"]}, InputError, "both as a coordinate and as a covariate"),
        ({"coords": ["lon", "lon"]}, InputError, "named twice"),
    ],
)
def test_wrong_columns_are_refused(frame, selection, error, message):
    table = survey()
    with pytest.raises(error, match=message):
        fixed(**selection).fit(frame(table), table["zinc"])


@every_frame
def test_column_missing_at_predict_is_named(frame):
    table = survey()
    model = fixed(coords=["lon", "lat"], covariates=["elevation"]).fit(frame(table), table["zinc"])
    with pytest.raises(ColumnError, match="there is no column 'elevation'"):
        model.predict(frame({k: table[k] for k in ("lon", "lat")}))


@every_frame
def test_columns_without_a_part_to_play_are_refused(frame):
    table = survey()
    with pytest.raises(KeyError, match=r"\['village', 'elevation', 'zinc'\] are neither coordinates \(lat, lon\)"):
        fixed().fit(frame(table), table["zinc"])


def test_arrow_tables_are_read_by_their_names():
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lat": rng.uniform(5, 11, 60), "lon": rng.uniform(-6, 1, 60)})
    y = np.sin(frame["lon"])
    arrow = pa.Table.from_pandas(frame)
    known, found = (SpatialRegressor().fit(table, y) for table in (frame, arrow))
    assert found.choices_["places"] == known.choices_["places"]
    assert_allclose(found.predict(arrow.select(["lon", "lat"])), known.predict(frame), rtol=1e-9)
