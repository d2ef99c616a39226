"""Distances and projections on the ellipsoid, against PROJ."""

from __future__ import annotations

import numpy as np
import pyproj
import pytest
from numpy.testing import assert_allclose

from bochner.geo.earth import EqualArea, Equirectangular, Sphere, geodesic, great_circle, km_per_degree, wrap

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
