"""GeoDataFrames in and out."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from numpy.testing import assert_array_equal

from bochner.exceptions import InputError
from bochner.geo import attributes, frame_coords, is_geoframe, like_frame

COORDS = np.array([[10.0, 47], [11, 48], [12, 49]])


@pytest.fixture
def frame():
    return gpd.GeoDataFrame({"t": [1.0, 2, 3]}, geometry=gpd.points_from_xy(*COORDS.T), crs=4326, index=["a", "b", "c"])


def test_points_are_coordinates(frame):
    coords, crs = frame_coords(frame)
    assert_array_equal(coords, COORDS)
    assert crs == "EPSG:4326"
    assert frame_coords(frame.set_crs(None, allow_override=True))[1] is None
    assert frame_coords(frame.rename_geometry("place"))[0].shape == (3, 2)


def test_what_is_a_geoframe(frame):
    assert is_geoframe(frame)
    for other in (COORDS, pd.DataFrame(frame.drop(columns="geometry")), None, [1], frame.geometry):
        assert not is_geoframe(other)


def test_predictions_keep_index_and_crs(frame):
    out = like_frame(frame, {"mean": np.arange(3.0), "sd": [1.0, 1, 1]})
    assert is_geoframe(out) and out.crs == frame.crs
    assert list(out.index) == ["a", "b", "c"] and list(out.columns) == ["mean", "sd", "geometry"]
    assert out.geometry.geom_equals(frame.geometry).all()
    renamed = like_frame(frame.rename_geometry("place"), {"mean": np.arange(3.0)})
    assert renamed.geometry.name == "place"
    assert list(attributes(frame).columns) == ["t"] and not is_geoframe(attributes(frame))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (shapely.box(0, 0, 1, 1), "row 2 is a Polygon, not a point; .* aggregate"),
        (shapely.MultiPoint([(0, 0), (1, 1)]), "explode"),
        (shapely.LineString([(0, 0), (1, 1)]), "needed are points"),
        (None, "missing or empty \\(first: row 2\\)"),
        (shapely.Point(), "missing or empty"),
    ],
)
def test_other_geometries_are_refused(frame, shape, message):
    frame = frame.set_geometry(gpd.GeoSeries([frame.geometry.iloc[0], shape, frame.geometry.iloc[2]], frame.index))
    with pytest.raises(InputError, match=message):
        frame_coords(frame)


def test_frame_without_geometry_is_refused():
    with pytest.raises(InputError, match="set_geometry"):
        frame_coords(gpd.GeoDataFrame({"t": [1.0]}))
