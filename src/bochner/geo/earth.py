r"""The Earth: distances on the WGS 84 ellipsoid, and three ways to lay longitude and latitude out in km.

`Equirectangular` and `EqualArea` are planes around a centre, true to the ellipsoid there; `Sphere` puts places on a
ball in three dimensions, where straight lines are chords. Angles are degrees, lengths km; `forward` takes (n, 2)
longitudes and latitudes. No library but NumPy is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray

EQUATOR = 6378.137  # semi-major axis, km
FLATTENING = 1 / 298.257223563
E2 = FLATTENING * (2 - FLATTENING)
RADIUS = 6371.0  # of the sphere


def wrap(angle: FloatArray) -> FloatArray:
    """Angle in [-180, 180), the same direction."""
    return (np.asarray(angle, dtype=np.float64) + 180) % 360 - 180


def curvature_radii(lat: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Radii of the meridian and of the prime vertical, in km: what one radian north and east are worth."""
    w2 = 1 - E2 * np.sin(np.radians(lat)) ** 2
    return np.asarray(EQUATOR * (1 - E2) / w2**1.5), np.asarray(EQUATOR / np.sqrt(w2))


def km_per_degree(lat: float) -> tuple[float, float]:
    """Kilometres in one degree of longitude and in one of latitude, at a latitude."""
    meridian, vertical = curvature_radii(lat)
    degree = np.pi / 180
    return float(vertical * np.cos(np.radians(lat)) * degree), float(meridian * degree)


def unit_vectors(lonlat: FloatArray) -> FloatArray:
    """Places on the unit ball, (n, 3)."""
    lon, lat = np.radians(lonlat[:, 0]), np.radians(lonlat[:, 1])
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def lonlat_of(vectors: FloatArray) -> FloatArray:
    """Longitude and latitude of vectors of any length."""
    x, y, z = vectors.T
    return np.degrees(np.column_stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))]))


def great_circle(a: FloatArray, b: FloatArray) -> FloatArray:
    """Great-circle distance on the sphere of radius 6,371 km between places (n, 2) and (n, 2)."""
    return RADIUS * angle_between(unit_vectors(a), unit_vectors(b))


def geodesic(a: FloatArray, b: FloatArray) -> FloatArray:
    """Distance on the WGS 84 ellipsoid, by Lambert's formula: to 1e-5, but not near antipodes."""
    reduced = [np.degrees(np.arctan((1 - FLATTENING) * np.tan(np.radians(x[:, 1])))) for x in (a, b)]
    ends = [unit_vectors(np.column_stack([x[:, 0], r])) for x, r in zip((a, b), reduced, strict=True)]
    sigma = np.maximum(angle_between(*ends), 1e-12)
    p, q = np.radians(reduced[0] + reduced[1]) / 2, np.radians(reduced[1] - reduced[0]) / 2
    # both products below vanish at least as fast as their denominators do
    near = (np.sin(p) * np.cos(q) / np.cos(sigma / 2)) ** 2 * (sigma - np.sin(sigma))
    far = (np.cos(p) * np.sin(q) / np.sin(sigma / 2)) ** 2 * (sigma + np.sin(sigma))
    return EQUATOR * (sigma - FLATTENING / 2 * (near + far))


@dataclass(frozen=True)
class Equirectangular:
    """Plane with longitude times the cosine of one latitude: regular grids stay regular."""

    lon0: float
    lat0: float

    def forward(self, lonlat: FloatArray) -> FloatArray:
        """Kilometres east and north of the centre, (n, 2)."""
        return np.column_stack([wrap(lonlat[:, 0] - self.lon0), lonlat[:, 1] - self.lat0]) * km_per_degree(self.lat0)

    def inverse(self, plane: FloatArray) -> FloatArray:
        """Longitude and latitude, (n, 2)."""
        degrees = plane / km_per_degree(self.lat0)
        return np.column_stack([wrap(degrees[:, 0] + self.lon0), degrees[:, 1] + self.lat0])


@dataclass(frozen=True)
class EqualArea:
    """Lambert's azimuthal equal-area projection of the ellipsoid around a centre (Snyder 1987, 24-17 to 24-28)."""

    lon0: float
    lat0: float

    def forward(self, lonlat: FloatArray) -> FloatArray:
        """Kilometres east and north of the centre, (n, 2)."""
        beta, turn = _authalic(lonlat[:, 1]), np.radians(lonlat[:, 0] - self.lon0)
        sin1, cos1, stretch = self._centre()
        sin, cos = np.sin(beta), np.cos(beta)
        away = 1 + sin1 * sin + cos1 * cos * np.cos(turn)
        b = _AUTHALIC_RADIUS * np.sqrt(2 / np.maximum(away, 1e-12))
        north = cos1 * sin - sin1 * cos * np.cos(turn)
        plane = np.column_stack([b * stretch * cos * np.sin(turn), b / stretch * north])
        # the image of the antipode is the whole rim; the northernmost place on it stands in
        plane[away < 1e-12] = 0.0, 2 * _AUTHALIC_RADIUS / stretch
        return plane

    def inverse(self, plane: FloatArray) -> FloatArray:
        """Longitude and latitude, (n, 2)."""
        sin1, cos1, stretch = self._centre()
        x, y = plane[:, 0] / stretch, plane[:, 1] * stretch
        rho = np.hypot(x, y)
        c = 2 * np.arcsin(np.minimum(rho / (2 * _AUTHALIC_RADIUS), 1))
        toward = np.divide(y, rho, out=np.zeros_like(y), where=rho > 0)
        sin_beta = np.cos(c) * sin1 + toward * np.sin(c) * cos1
        turn = np.arctan2(x * np.sin(c), rho * cos1 * np.cos(c) - y * sin1 * np.sin(c))
        return np.column_stack([wrap(self.lon0 + np.degrees(turn)), _geodetic(sin_beta)])

    def _centre(self) -> tuple[float, float, float]:
        """Sine and cosine of the authalic latitude of the centre, and D of Snyder's 24-20, 1 at a pole."""
        beta = float(_authalic(np.array([self.lat0]))[0])
        vertical = float(curvature_radii(self.lat0)[1])
        polar = abs(self.lat0) > 90 - 1e-6
        stretch = 1.0 if polar else vertical * np.cos(np.radians(self.lat0)) / (_AUTHALIC_RADIUS * np.cos(beta))
        return np.sin(beta), np.cos(beta), float(stretch)


@dataclass(frozen=True)
class Sphere:
    """Ball of radius 6,371 km in three dimensions: distances are chords, and there is no edge."""

    def forward(self, lonlat: FloatArray) -> FloatArray:
        """Chord coordinates in km, (n, 3)."""
        return RADIUS * unit_vectors(lonlat)

    def inverse(self, space: FloatArray) -> FloatArray:
        """Longitude and latitude, (n, 2)."""
        return lonlat_of(space)


def angle_between(u: FloatArray, v: FloatArray) -> FloatArray:
    """Angle between unit vectors, exact for the smallest and the largest."""
    return np.asarray(2 * np.arctan2(np.linalg.norm(u - v, axis=1), np.linalg.norm(u + v, axis=1)))


def _q(sin: FloatArray) -> FloatArray:
    e = np.sqrt(E2)
    return (1 - E2) * (sin / (1 - E2 * sin**2) + np.arctanh(e * sin) / e)


_Q_POLE = float(_q(np.array(1.0)))
_AUTHALIC_RADIUS = EQUATOR * float(np.sqrt(_Q_POLE / 2))


def _authalic(lat: FloatArray) -> FloatArray:
    """Authalic latitude in radians: of the sphere that has the ellipsoid's area."""
    return np.asarray(np.arcsin(np.clip(_q(np.sin(np.radians(lat))) / _Q_POLE, -1, 1)))


def _geodetic(sin_beta: FloatArray) -> FloatArray:
    """Latitude in degrees from the sine of the authalic one, by Snyder's series 3-18."""
    beta = np.arcsin(np.clip(sin_beta, -1, 1))
    e4, e6 = E2**2, E2**3
    return np.asarray(
        np.degrees(
            beta
            + (E2 / 3 + 31 * e4 / 180 + 517 * e6 / 5040) * np.sin(2 * beta)
            + (23 * e4 / 360 + 251 * e6 / 3780) * np.sin(4 * beta)
            + 761 * e6 / 45360 * np.sin(6 * beta)
        )
    )
