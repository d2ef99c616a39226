"""Points that stand for polygons: means over them are means over the areas."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pytest
import shapely
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import BochnerWarning, InputError
from bochner.geo import area_points, grid_over, transform
from tests.geo.test_grids import write_tif


def districts(crs=None):
    shapes = [
        shapely.box(0, 0, 40_000, 20_000),
        shapely.Polygon([(40_000, 0), (80_000, 0), (40_000, 40_000)]),
        shapely.MultiPolygon([shapely.box(0, 30_000, 5_000, 35_000), shapely.box(10_000, 30_000, 12_000, 35_000)]),
    ]
    moved = [shapely.affinity.translate(shape, 5e5, 5.2e6) for shape in shapes]
    frame = gpd.GeoDataFrame(geometry=moved, crs="EPSG:32632")
    return frame if crs is None else frame.to_crs(crs)


def means(areas, values, index, weight):
    return np.bincount(index, weight * values, minlength=len(areas))


@pytest.mark.parametrize("options", [{"spacing": "500m"}, {"spacing": 500}, {"n_points": 2500}])
def test_mean_of_a_plane_is_its_value_at_the_centroid(options):
    areas = districts()
    coords, index, weight = area_points(areas, **options)
    assert_allclose(np.bincount(index, weight), 1)
    inside = areas.geometry.iloc[index].covers(gpd.GeoSeries(gpd.points_from_xy(*coords.T), crs=areas.crs), align=False)
    assert inside.all()
    centroid = areas.geometry.centroid
    # points on a grid of 500 m see the edge of an area to half a cell
    assert_allclose(means(areas, coords[:, 0], index, weight), centroid.x, atol=300)
    assert_allclose(means(areas, coords[:, 1], index, weight), centroid.y, atol=300)
    again = area_points(areas, **options)
    for first, second in zip((coords, index, weight), again, strict=True):
        assert_array_equal(first, second)


def test_about_as_many_points_as_asked_for():
    counts = np.bincount(area_points(districts(), n_points=200)[1])
    assert np.all(np.abs(counts - 200) < 40)
    assert np.all(np.abs(np.bincount(area_points(districts(4326))[1]) - 100) < 30)


def test_degrees_count_by_the_ground_they_cover():
    """The mean latitude of a tall area is nearer the equator than its middle, as there is more ground there."""
    area = gpd.GeoDataFrame(geometry=[shapely.box(0, 0, 10, 60)], crs=4326)
    coords, index, weight = area_points(area, spacing="0.5deg")
    lat = np.radians(np.linspace(0, 60, 100_001))
    expected = np.degrees(np.sum(lat * np.cos(lat)) / np.sum(np.cos(lat)))
    assert_allclose(means(area, coords[:, 1], index, weight), expected, rtol=2e-3)


def test_smallest_areas_get_a_point():
    areas = districts()
    coords, index, weight = area_points(areas, spacing="90km")
    assert_array_equal(index, [0, 1, 2])
    assert_array_equal(weight, 1)
    points = gpd.GeoSeries(gpd.points_from_xy(*coords.T), crs=areas.crs)
    assert areas.geometry.contains(points).all()


@pytest.mark.parametrize("width", [1_000, 10, 0.01])
def test_a_sliver_across_its_box_has_few_points(width, monkeypatch):
    """Its cells are found from large to small, and are taken larger where more than four times as many would be."""
    asked = []
    box = shapely.box
    monkeypatch.setattr(shapely, "box", lambda *at: asked.append(np.size(at[0])) or box(*at))
    corners = [(5e5, 5e6), (6e5, 5.1e6), (6e5, 5.1e6 + width), (5e5, 5e6 + width)]
    area = gpd.GeoDataFrame(geometry=[shapely.Polygon(corners)], crs="EPSG:32632")
    coords, _, weight = area_points(area, n_points=100)
    assert 50 < len(coords) <= 400
    assert sum(asked) < 20_000
    middle = area.geometry.iloc[0].centroid
    assert_allclose(weight @ coords, [middle.x, middle.y], rtol=1e-10)


def test_points_in_another_crs():
    coords, _, _ = area_points(districts(), n_points=20)
    there, _, _ = area_points(districts(), n_points=20, crs=4326)
    assert_allclose(transform(there, 4326, "EPSG:32632"), coords, atol=1e-3)


@pytest.mark.parametrize("crs", ["EPSG:32632", "EPSG:4326"])
def test_population_weights_are_kept_to_the_last_person(tmp_path, crs):
    """The weighted mean of a plane over the points equals that over all pixels, however coarse the points."""
    areas = districts()
    grid = grid_over((4.9e5, 5.19e6, 5.9e5, 5.25e6), 700, "EPSG:32632")
    people = np.random.default_rng(0).gamma(0.3, size=grid.shape)
    people[:5] = -1
    path = write_tif(tmp_path / "people.tif", people, grid, nodata=-1)
    coords, index, weight = area_points(areas.to_crs(crs), n_points=30, weights_raster=path, crs="EPSG:32632")
    assert np.all(np.bincount(index) < 60)
    centres, values = grid.centres(), np.where(people < 0, 0, people).ravel()
    for k, shape in enumerate(areas.geometry):
        inside = shapely.contains_xy(shape, *centres.T)
        here = index == k
        assert_allclose(weight[here].sum(), 1)
        expected = np.average(centres[inside], axis=0, weights=values[inside])
        # a projection bends the weighted centre of a cell a little
        assert_allclose(weight[here] @ coords[here], expected, atol=1e-6 if crs == "EPSG:32632" else 5)


def test_areas_without_people_count_by_ground_and_are_told(tmp_path):
    areas = districts()
    grid = grid_over((5e5, 5.2e6, 5.4e5, 5.22e6), 1000, "EPSG:32632")
    path = write_tif(tmp_path / "people.tif", np.ones(grid.shape, "f4"), grid)
    with pytest.warns(BochnerWarning, match=r"2 of 3 areas hold no weight in the raster \(row 2, 3\)"):
        _, index, weight = area_points(areas, n_points=50, weights_raster=path)
    assert_allclose(np.bincount(index, weight), 1)
    tiny = gpd.GeoDataFrame(geometry=[shapely.box(500_010, 5_200_010, 500_020, 5_200_020)], crs="EPSG:32632")
    coords, _, weight = area_points(tiny, weights_raster=path)
    assert_allclose(coords, [[500_015, 5_200_015]], atol=5)
    assert_array_equal(weight, 1)
    write_tif(path, np.full(grid.shape, -3, "f4"), grid)
    with pytest.raises(InputError, match="needed are weights >= 0"):
        area_points(areas, weights_raster=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spacing": 1, "n_points": 3}, "give one of them"),
        ({"n_points": 0}, "at least 1"),
        ({"spacing": "1deg"}, "units of the coordinates"),
        ({"spacing": 1e-20}, "would give row 1 of the areas about .* points; at most 1,000,000 are taken"),
    ],
)
def test_mistakes_are_told(options, message):
    with pytest.raises(InputError, match=message):
        area_points(districts(), **options)
    with pytest.raises(InputError, match="empty polygons: row 1"):
        area_points(gpd.GeoDataFrame(geometry=[shapely.Polygon()], crs=4326))
    with pytest.raises(InputError, match="areas has no polygons"):
        area_points(districts().iloc[:0])
    lost = shapely.transform(
        districts().geometry.to_numpy(), lambda at: np.where(np.arange(len(at))[:, None] == 1, np.nan, at)
    )
    with pytest.raises(InputError, match="coordinates that are no numbers: row 1"):
        area_points(gpd.GeoDataFrame(geometry=lost[:1], crs="EPSG:32632"))
