"""Distances and projections on the ellipsoid, against PROJ."""

from __future__ import annotations

import numpy as np
import pyproj
import pytest
from numpy.testing import assert_allclose

from bochner.geo.earth import (
    EqualArea,
    Equirectangular,
    Sphere,
    angle_between,
    curvature_radii,
    geodesic,
    great_circle,
    km_per_degree,
    lonlat_of,
    unit_vectors,
    wrap,
)

GEOD = pyproj.Geod(ellps="WGS84")


def on_the_globe(n, rng):
    return np.column_stack([rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))])


def test_geodesic_agrees_with_proj():
    rng = np.random.default_rng(0)
    a = on_the_globe(1000, rng)
    b = np.column_stack([a[:, 0] + rng.normal(0, 20, 1000), np.clip(a[:, 1] + rng.normal(0, 10, 1000), -90, 90)])
    assert_allclose(geodesic(a, b), GEOD.inv(*a.T, *b.T)[2] / 1000, rtol=1e-5)
    assert_allclose(geodesic(a, a), 0, atol=1e-6)


def test_great_circle_known_values():
    quarter = 6371 * np.pi / 2
    a, b = np.array([[0.0, 0], [179, 0], [10, 89]]), np.array([[90.0, 0], [-179, 0], [190, 89]])
    assert_allclose(great_circle(a, b), [quarter, quarter / 45, quarter / 45])


@pytest.mark.parametrize("lat0", [-90, -45, 0, 30, 89, 90])
def test_equal_area_agrees_with_proj(lat0):
    rng = np.random.default_rng(1)
    lonlat = on_the_globe(300, rng)
    proj = pyproj.Proj(f"+proj=laea +lat_0={lat0} +lon_0=170 +ellps=WGS84 +units=km")
    plane = EqualArea(170, lat0).forward(lonlat)
    assert_allclose(plane, np.column_stack(proj(*lonlat.T)), atol=1e-6)
    assert_allclose(great_circle(EqualArea(170, lat0).inverse(plane), lonlat), 0, atol=1e-5)


def test_equirectangular_is_true_at_its_centre_and_keeps_grids_regular():
    plane = Equirectangular(179.5, -40.0)
    near = np.array([[179.5, -40.0], [-179.5, -40.0], [179.5, -39.0]])
    east, north = km_per_degree(-40.0)
    assert_allclose(plane.forward(near), [[0, 0], [east, 0], [0, north]], atol=1e-9)
    assert_allclose(east, GEOD.inv(0, -40, 0.01, -40)[2] / 10, rtol=1e-6)
    steps = np.diff(plane.forward(np.column_stack([np.arange(175, 184, 0.25), np.full(36, -41.0)]))[:, 0])
    assert_allclose(steps, steps[0])


def test_sphere_distances_are_chords():
    rng = np.random.default_rng(2)
    a, b = on_the_globe(200, rng), on_the_globe(200, rng)
    chord = np.linalg.norm(Sphere().forward(a) - Sphere().forward(b), axis=1)
    assert_allclose(2 * 6371 * np.arcsin(chord / (2 * 6371)), great_circle(a, b), rtol=1e-9)
    back = Sphere().inverse(Sphere().forward(a))
    assert_allclose(wrap(back - a), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("lat", "meridian", "vertical"),
    [(0, 6335.4393, 6378.1370), (30, 6351.3770, 6383.4809), (45, 6367.3818, 6388.8382), (90, 6399.5936, 6399.5936)],
)
def test_radii_of_curvature_are_those_of_wgs_84(lat, meridian, vertical):
    """a (1 - e2) / w^3 and a / w; at a pole both are a^2 / b."""
    for side in (lat, -lat):
        assert_allclose(curvature_radii(side), (meridian, vertical), atol=1e-3)
    assert [r.shape for r in curvature_radii(np.zeros(3))] == [(3,), (3,)]


@pytest.mark.parametrize("lat", [-75.0, -33.0, 0.0, 12.0, 48.0, 60.0, 84.0])
def test_a_degree_is_as_long_as_proj_says(lat):
    step = 1e-3
    east, north = km_per_degree(lat)
    assert_allclose(east * step, GEOD.inv(10, lat, 10 + step, lat)[2] / 1000, rtol=1e-8)
    assert_allclose(north * step, GEOD.inv(10, lat - step / 2, 10, lat + step / 2)[2] / 1000, rtol=1e-8)


def test_angles_wrap_into_one_turn():
    assert_allclose(wrap([0, 179, 180, -180, 181, 359, 360, 540, -541]), [0, 179, -180, -180, -179, -1, 0, -180, 179])


def test_vectors_of_any_length_have_a_place():
    lonlat = np.array([[0.0, 0.0], [90, 0], [-90, 45], [10, -89], [179, 30]])
    assert_allclose(unit_vectors(lonlat)[:2], [[1, 0, 0], [0, 1, 0]], atol=1e-15)
    assert_allclose(np.linalg.norm(unit_vectors(lonlat), axis=1), 1)
    assert_allclose(lonlat_of(7.0 * unit_vectors(lonlat)), lonlat, atol=1e-12)


def test_angles_are_exact_at_both_ends():
    """An arc cosine would lose half of the digits of either."""
    a = np.array([[1.0, 0, 0]] * 3)
    turn = np.array([1e-9, 1.0, np.pi - 1e-9])
    assert_allclose(angle_between(a, np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])), turn, rtol=1e-9)


def test_short_and_long_geodesics():
    a = np.array([[10.0, 50.0], [10, 50], [0, 0], [-60, -20]])
    b = np.array([[10.0, 50.0001], [10.0001, 50], [90, 0], [80, 35]])
    assert_allclose(geodesic(a, b), GEOD.inv(*a.T, *b.T)[2] / 1000, rtol=1e-5)


def test_equirectangular_and_back():
    rng = np.random.default_rng(3)
    lonlat = np.column_stack([rng.uniform(170, 200, 50), rng.uniform(-50, -30, 50)])
    plane = Equirectangular(179.5, -40.0)
    back = plane.inverse(plane.forward(lonlat))
    assert_allclose(wrap(back[:, 0] - lonlat[:, 0]), 0, atol=1e-10)
    assert_allclose(back[:, 1], lonlat[:, 1], atol=1e-10)
    assert (back[:, 0] >= -180).all() and (back[:, 0] < 180).all()


def test_equal_area_keeps_areas_and_its_centre():
    """Small cells around a grid of places have the areas of the ellipsoid: M N cos(lat)."""
    plane, step = EqualArea(20, 40), 1e-4
    assert_allclose(plane.forward(np.array([[20.0, 40.0]])), 0, atol=1e-9)
    assert_allclose(plane.inverse(np.zeros((1, 2))), [[20, 40]], atol=1e-9)
    for lon, lat in [(20, 40), (-40, -20), (80, 70), (150, 10)]:
        corner = plane.forward(np.array([[lon, lat], [lon + step, lat], [lon, lat + step]]))
        (ux, uy), (vx, vy) = corner[1] - corner[0], corner[2] - corner[0]
        meridian, vertical = curvature_radii(lat)
        area = meridian * vertical * np.cos(np.radians(lat)) * np.radians(step) ** 2
        assert_allclose(ux * vy - uy * vx, area, rtol=1e-5)


@pytest.mark.parametrize("lat0", [-90.0, -30.0, 0.0, 40.0, 90.0])
def test_the_antipode_lies_on_the_rim(lat0):
    plane, there = EqualArea(20, lat0), np.array([[-160.0, -lat0], [-160.0, -lat0 + np.copysign(0.1, lat0)]])
    rim = plane.forward(there)
    assert (np.linalg.norm(rim, axis=1) > 0.99 * 2 * 6371.0072).all()
    assert_allclose(great_circle(plane.inverse(rim), there), 0, atol=0.1)  # 1 + cos loses half of its digits
