"""Where rows lie in km: the choice, the distances, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyproj
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import ArchiveError, InputError, MissingExtraError
from bochner.geo import Placement, choose_placement, transform
from bochner.geo.earth import great_circle, wrap
from bochner.geo.placement import KINDS

GEOD = pyproj.Geod(ellps="WGS84")


def box(west, east, south, north, n=60):
    """Random places of a box, its corners among them."""
    rng = np.random.default_rng(0)
    corners = [[west, south], [east, south], [west, north], [east, north]]
    return np.vstack([corners, np.column_stack([rng.uniform(west, east, n), rng.uniform(south, north, n)])])


def pairs(places):
    first, second = np.triu_indices(len(places), 1)
    return np.linalg.norm(places[first] - places[second], axis=1)


def true_distances(lonlat):
    first, second = np.triu_indices(len(lonlat), 1)
    return GEOD.inv(*lonlat[first].T, *lonlat[second].T)[2] / 1000


REGIONS = {
    "village": (box(-1.6, -1.5, 6.6, 6.7), "equirectangular", 2e-4),
    "district": (box(36.5, 38.0, -2, -0.5), "equirectangular", 0.005),
    "Fiji, across the antimeridian": (box(176.5, 181.5, -18.5, -15.5), "equirectangular", 0.01),
    "Svalbard": (box(10, 30, 76, 81), "equal-area", 0.005),
    "Germany": (box(6, 15, 47, 55), "equal-area", 0.003),
    "Kenya": (box(34, 42, -5, 5), "equirectangular", 0.01),
    "Chukotka, across the antimeridian": (box(160, 195, 60, 71), "equal-area", 0.005),
    "the North Pole": (box(-180, 180, 80, 90), "equal-area", 0.005),
    "Antarctica": (box(-180, 180, -90, -73), "equal-area", 0.013),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_of_longitude_and_latitude(name):
    """Each region gets the simplest plane that is right, and its distances are those on the ellipsoid."""
    lonlat, kind, tolerance = REGIONS[name]
    placement = choose_placement(lonlat, "EPSG:4326")
    assert (placement.kind, placement.dim, placement.unit) == (kind, 2, "km")
    places = placement.forward(lonlat)
    true = true_distances(lonlat)
    apart = true > 1e-6  # the corners at a pole are one place
    assert_allclose(pairs(places)[apart], true[apart], rtol=tolerance)
    assert_allclose(pairs(places)[~apart], 0, atol=1e-3)
    # longitudes from 0 to 360 are the same places
    other = np.column_stack([lonlat[:, 0] % 360, lonlat[:, 1]])
    assert_allclose(placement.forward(other), places, atol=1e-6)
    assert_allclose(choose_placement(other, 4326).forward(other), places, atol=1e-6)


@pytest.mark.parametrize("lonlat", [box(-18, 51, -35, 37), box(-180, 180, -90, 90), box(100, 260, -60, 60)])
def test_continents_and_the_globe_go_to_the_sphere(lonlat):
    placement = choose_placement(lonlat, "EPSG:4326")
    assert (placement.kind, placement.dim) == ("sphere", 3)
    first, second = np.triu_indices(len(lonlat), 1)
    chord = 2 * 6371 * np.sin(great_circle(lonlat[first], lonlat[second]) / (2 * 6371))
    assert_allclose(pairs(placement.forward(lonlat)), chord, atol=1e-6)
    assert "6,371" in placement.why


def test_one_survey_in_three_crs_has_the_same_distances():
    """EPSG:4326, UTM and EPSG:3857 agree within 1 %, which EPSG:3857 taken at its word misses by half."""
    lonlat = box(9.5, 11, 47, 48)
    distances = {}
    for crs in ("EPSG:4326", "EPSG:32632", "EPSG:3857"):
        coords = np.column_stack(pyproj.Transformer.from_crs(4326, crs, always_xy=True).transform(*lonlat.T))
        placement = choose_placement(coords, crs)
        distances[crs] = pairs(placement.forward(coords))
        assert_allclose(distances[crs], true_distances(lonlat), rtol=0.01)
        if crs == "EPSG:3857":
            assert placement.kind == "equirectangular" and "stretches lengths by up to 50 %" in placement.why
            assert pairs(coords / 1000).max() > 1.4 * distances[crs].max()
    assert_allclose(distances["EPSG:3857"], distances["EPSG:4326"], rtol=1e-9)


@pytest.mark.parametrize(
    ("crs", "scale"),
    [("EPSG:32632", 0.001), ("EPSG:2263", 0.3048006096e-3), ("+proj=utm +zone=32 +units=km", 1.0)],
)
def test_projected_coordinates_are_kept_in_km(crs, scale):
    centre = {"EPSG:2263": (-74, 40.7)}.get(crs, (9, 48))
    lonlat = box(centre[0] - 0.2, centre[0] + 0.2, centre[1] - 0.2, centre[1] + 0.2)
    coords = np.column_stack(pyproj.Transformer.from_crs(4326, crs, always_xy=True).transform(*lonlat.T))
    placement = choose_placement(coords, crs)
    assert placement.kind == "projected"
    assert_allclose(placement.forward(coords), coords * scale, rtol=1e-9)
    assert_allclose(pairs(placement.forward(coords)), true_distances(lonlat), rtol=1e-3)


def test_wide_projection_that_is_nearly_right_stays_a_plane():
    coords = box(-2.0e6, 2.0e6, 3e5, 3e6)
    assert choose_placement(coords, "EPSG:5070").kind == "projected"  # a continent in a conic: 1.6 % off
    assert choose_placement(2 * coords, "+proj=moll +lon_0=-96").kind == "sphere"


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857"])
def test_images_stay_regular_where_surveys_would_not(crs):
    """A grid keeps its axes up to 2 %: regular grids have fast exact algebra."""
    lon, lat = np.meshgrid(np.linspace(-96, -91, 40), np.linspace(34.3, 37, 30))
    lonlat = np.column_stack([lon.ravel(), lat.ravel()])
    image = transform(lonlat, 4326, crs)
    if crs == "EPSG:3857":  # evenly spaced in the projection
        image = np.column_stack([axis.ravel() for axis in np.meshgrid(*np.linspace(image.min(0), image.max(0), 30).T)])
        lonlat = transform(image, crs, 4326)
    placement = choose_placement(image, crs)
    assert placement.kind == ("equirectangular" if crs == "EPSG:4326" else "projected")
    places = placement.forward(image)
    for axis in places.T:
        steps = np.diff(np.unique(axis.round(6)))
        assert_allclose(steps, steps[0], atol=1e-5)
    some = np.random.default_rng(0).permutation(len(lonlat))[:60]
    assert_allclose(pairs(places[some]), true_distances(lonlat[some]), rtol=0.02)
    scattered = image + np.random.default_rng(1).normal(size=image.shape) * 1e-3 * np.ptp(image, axis=0)
    assert choose_placement(scattered, crs).kind == "equal-area"


def test_names_tell_longitude_and_latitude():
    lonlat = box(9, 10, 47, 48)
    by_name = choose_placement(lonlat, names=("Longitude", "Latitude"))
    assert by_name == choose_placement(lonlat, "EPSG:4326")
    swapped = choose_placement(lonlat[:, ::-1], names=("lat", "lon"))
    assert_allclose(swapped.forward(lonlat[:, ::-1]), by_name.forward(lonlat))
    assert choose_placement(lonlat, names=("x", "y")).kind == "planar"
    assert choose_placement(lonlat, "EPSG:4326", names=("x", "y")) == by_name
    assert choose_placement(lonlat[:, ::-1], "EPSG:4326", names=("y", "x")) == swapped


def test_further_columns_follow_unchanged():
    lonlat = box(9, 10, 47, 48)
    depth = np.arange(len(lonlat), dtype=float)
    coords = np.column_stack([depth, lonlat])
    placement = choose_placement(coords, names=("depth", "lon", "lat"))
    assert (placement.kind, placement.dim) == ("equirectangular", 3)
    assert_allclose(placement.forward(coords)[:, 2], depth)
    assert_allclose(placement.forward(coords)[:, :2], choose_placement(lonlat, 4326).forward(lonlat))
    assert_allclose(placement.inverse(placement.forward(coords)), coords)


def test_without_crs_numbers_are_the_users_own():
    coords = np.random.default_rng(0).normal(size=(5, 3))
    placement = choose_placement(coords)
    assert (placement.kind, placement.unit, placement.dim) == ("planar", "", 3)
    assert_allclose(placement.forward(coords), coords)
    assert choose_placement(coords[:, :1], names=("depth",)).dim == 1


EVERY_KIND = {
    "planar": (box(0, 5, 0, 5), None),
    "projected": (box(4e5, 6e5, 5e6, 5.2e6), "EPSG:32632"),
    "equirectangular": (box(179, 181, -18, -17), "EPSG:4326"),
    "equal-area": (box(6, 15, 47, 55), "EPSG:4326"),
    "sphere": (box(-18, 51, -35, 37), "EPSG:4326"),
    "equirectangular from a projection": (box(1.0e6, 1.2e6, 6e6, 6.1e6), "EPSG:3857"),
    "equirectangular from grads of Paris": (box(1, 2, 51, 52), "EPSG:4807"),
}


@pytest.mark.parametrize("name", EVERY_KIND)
def test_placement_inverts_and_survives_json(name):
    coords, crs = EVERY_KIND[name]
    placement = choose_placement(coords, crs)
    assert placement.kind == name.split(" ")[0] and placement.kind in KINDS
    again = Placement.from_dict(json.loads(json.dumps(placement.as_dict())))
    assert again == placement
    back = again.inverse(again.forward(coords))
    error = wrap(back - coords) if crs == "EPSG:4326" else back - coords
    assert_allclose(error, 0, atol=1e-6)
    assert placement.why.endswith(".") and "\n" not in placement.why


def test_choice_does_not_depend_on_order_or_repetition():
    lonlat = box(6, 15, 47, 55)
    shuffled = np.random.default_rng(1).permutation(np.vstack([lonlat, lonlat[:7]]))
    assert choose_placement(shuffled, 4326) == choose_placement(lonlat, 4326)


def test_single_place_is_enough():
    assert_allclose(choose_placement([[10.0, 50.0]], 4326).forward([[10.0, 50.0]]), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("coords", "crs", "message"),
    [
        ([[10, 120], [11, 130]], "EPSG:4326", "look swapped; give longitude first"),
        ([[100, 95.0]], "EPSG:4326", "latitude reaches 95"),
        ([[430, 5.0]], "EPSG:4326", "longitude reaches 430"),
        ([[-401, 5.0]], "EPSG:4326", "longitude reaches -401"),
        ([*([[10, 50]] * 9), [430, 50]], "EPSG:4326", "first row 9: longitude 430, latitude 50"),
        ([[500000, 10], [11, 10]], "EPSG:4326", "give their CRS"),
        ([[10, 50], [11, 51]], "EPSG:32633", "look like degrees"),
        ([[10, 50], [11, 51]], "EPSG:3857", "look like degrees"),
        ([[1e10, 50], [11e5, 51]], "EPSG:32633", "no place in EPSG:32633"),
        ([[10, 50]], "EPSG:99999", "is not known"),
        ([[10], [50]], "EPSG:4326", "needs two"),
        ([[10, np.nan]], "EPSG:4326", "NaN"),
    ],
)
def test_mistakes_are_told(coords, crs, message):
    with pytest.raises(InputError, match=message):
        choose_placement(coords, crs)


def test_predicting_beyond_the_poles_is_told():
    placement = choose_placement(box(9, 10, 47, 48), 4326)
    with pytest.raises(InputError, match="swapped"):
        placement.forward([[47.0, 100.0]])
    with pytest.raises(ArchiveError, match="newer"):
        Placement.from_dict({**placement.as_dict(), "kind": "torus"})
    with pytest.raises(ArchiveError, match="newer"):
        Placement.from_dict({**placement.as_dict(), "altitude": 1})


def test_longitude_and_latitude_need_no_pyproj():
    program = """
import sys
sys.modules["pyproj"] = None
from bochner.exceptions import MissingExtraError
from bochner.geo import choose_placement
for crs, names in (("EPSG:4326", ()), (4326, ()), (None, ("lon", "lat"))):
    print(choose_placement([[9.0, 47], [10, 48]], crs, names).kind)
print(choose_placement([[6.0, 47], [15, 55]], "EPSG:4326").kind, choose_placement([[0.0, 0], [90, 9]], 4326).kind)
try:
    choose_placement([[5e5, 5e6]], "EPSG:32632")
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *kinds, message = done.stdout.splitlines()
    assert kinds == ["equirectangular"] * 3 + ["equal-area sphere"]
    assert "pip install 'bochner[geo]'" in message
    assert issubclass(MissingExtraError, ImportError)
