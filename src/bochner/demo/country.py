"""A country that does not exist: its coast, its mountains, its rain, its people and its districts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.demo.fields import random_field
from bochner.geo import RasterGrid, grid_over, mask_within
from bochner.kernels import Matern, SquaredExponential
from bochner.random import generator

NAME = "Ondara"
CENTRE = (-15.0, -12.0)  # longitude and latitude: open sea, in truth
KM = (109.0, 110.6)  # of a degree of longitude and of latitude there
RADIUS = 205.0  # km
PIXEL = 0.025  # degrees, of every raster
N_DISTRICTS, N_TOWNS, N_PEOPLE = 22, 9, 4_200_000
UTM = "EPSG:32728"


@dataclass(frozen=True)
class Country:
    """The land and its people.

    Attributes
    ----------
    grid : RasterGrid
        Pixels of all rasters, in longitude and latitude.
    land : array of bool, (height, width)
    elevation, rainfall, people : arrays of shape (height, width)
        Metres, millimetres a year, inhabitants of each pixel; NaN (no people) at sea.
    outline : GeoDataFrame
        The coast, as one polygon.
    districts : GeoDataFrame
        Polygons with a name, in another CRS than the rasters.
    """

    grid: RasterGrid
    land: Any
    elevation: FloatArray
    rainfall: FloatArray
    people: FloatArray
    outline: Any
    districts: Any

    @classmethod
    def simulate(cls, seed: int = 0) -> Country:
        """A country; another seed is another country."""
        import geopandas

        coast = _coast(generator(seed, "coast"))
        outline = geopandas.GeoDataFrame({"name": [NAME]}, geometry=[coast], crs="EPSG:4326")
        left, bottom, right, top = coast.bounds
        grid = grid_over((left - 0.1, bottom - 0.1, right + 0.1, top + 0.1), PIXEL, "EPSG:4326")
        land = mask_within(grid, outline)
        elevation = _elevation(grid, land, generator(seed, "elevation"))
        rainfall = _rainfall(grid, elevation, generator(seed, "rainfall"))
        people = _people(grid, land, elevation, generator(seed, "people"))
        districts = _districts(coast, grid, people, generator(seed, "districts"))
        blank = np.where(land, 0.0, np.nan)
        return cls(grid, land, elevation + blank, rainfall + blank, people, outline, districts.to_crs(UTM))


def in_km(lonlat: FloatArray) -> FloatArray:
    """Places in km east and north of the centre, (n, 2)."""
    return (np.asarray(lonlat) - CENTRE) * KM


def _coast(rng: Generator) -> Any:
    """A closed curve whose radius is a random series of waves around the circle: capes, bays, no corners."""
    from shapely import Polygon

    angle = np.linspace(0, 2 * np.pi, 721)[:-1]
    k = np.arange(1, 41)
    wave = rng.normal(size=(2, len(k))) * 0.24 * k**-1.25
    radius = RADIUS * np.exp(np.cos(np.outer(angle, k)) @ wave[0] + np.sin(np.outer(angle, k)) @ wave[1])
    stretch = np.array([1.25, 0.85])
    km = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) * stretch
    turn = np.radians(25)
    km = km @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return Polygon(np.asarray(CENTRE) + km / KM)


def _elevation(grid: RasterGrid, land: Any, rng: Generator) -> FloatArray:
    """A range of mountains along the island, foothills around it, falling to the coast."""
    from scipy.ndimage import distance_transform_edt

    km = in_km(grid.centres())
    inland = distance_transform_edt(land, sampling=(PIXEL * KM[1], PIXEL * KM[0])).ravel()
    bend = random_field(SquaredExponential(length_scale=90.0, variance=18.0**2), rng)(km)
    across = km @ np.array([-np.sin(np.radians(25)), np.cos(np.radians(25))]) + bend
    crest = np.exp(-0.5 * ((across - 20) / 38) ** 2)
    hills = random_field(Matern(length_scale=22.0, nu=1.5), rng)(km)
    height = (60 + 1750 * crest * (1 + 0.22 * hills) + 70 * hills) * (1 - np.exp(-inland / 28))
    return np.maximum(height, 1.0).reshape(grid.shape)


def _rainfall(grid: RasterGrid, elevation: FloatArray, rng: Generator) -> FloatArray:
    """Trade winds bring rain to the south-east, and more to its mountain sides."""
    km = in_km(grid.centres())
    east = (km @ np.array([0.8, -0.6])) / 250
    patches = random_field(Matern(length_scale=60.0, nu=2.5), rng)(km)
    rain = 1150 + 330 * east + 0.12 * elevation.ravel() + 130 * patches
    return np.clip(rain, 350, 2600).reshape(grid.shape)


def _people(grid: RasterGrid, land: Any, elevation: FloatArray, rng: Generator) -> FloatArray:
    """Inhabitants of each pixel: fewer in the mountains, many in towns."""
    km = in_km(grid.centres())
    rural = np.exp(-elevation.ravel() / 900 + 0.9 * random_field(Matern(length_scale=18.0, nu=0.5), rng)(km))
    rural = np.where(land.ravel(), rural, 0.0)
    towns = km[rng.choice(len(km), N_TOWNS, replace=False, p=rural / rural.sum())]
    size = rural.sum() * 0.35 * np.arange(1, N_TOWNS + 1.0) ** -1.1 / (np.arange(1, N_TOWNS + 1.0) ** -1.1).sum()
    density = rural.copy()
    for town, total in zip(towns, size, strict=True):
        bump = np.exp(-0.5 * ((km - town) ** 2).sum(axis=1) / 5.0**2) * land.ravel()
        density += total * bump / bump.sum()
    return np.round(N_PEOPLE * density / density.sum(), 1).reshape(grid.shape)


def _districts(coast: Any, grid: RasterGrid, people: FloatArray, rng: Generator) -> Any:
    """The land, divided by which of some centres of population is nearest."""
    import geopandas
    import shapely

    share = np.sqrt(people.ravel())
    seeds = grid.centres()[rng.choice(grid.n_pixels, N_DISTRICTS, replace=False, p=share / share.sum())]
    places = grid.centres()[people.ravel() > 0]
    for _ in range(12):  # towards the middle of their people, so that districts are of similar size
        nearest = ((places[:, None, :] - seeds) ** 2).sum(axis=2).argmin(axis=1)
        seeds = np.stack([places[nearest == j].mean(axis=0) for j in range(N_DISTRICTS)])
    cells = shapely.voronoi_polygons(shapely.MultiPoint(seeds), extend_to=coast.buffer(1))
    parts = [cell.intersection(coast) for cell in cells.geoms]
    names = _names(len(parts), rng)
    return geopandas.GeoDataFrame({"district": names}, geometry=parts, crs="EPSG:4326")


def _names(n: int, rng: Generator) -> list[str]:
    first = ["Ka", "Mo", "Lu", "Ta", "Ne", "Si", "Ba", "Ru", "Ye", "Do", "Za", "Fi", "Ho", "Ga"]
    middle = ["ra", "lo", "mi", "nu", "te", "ba", "ki", "so", "wa", "de"]
    last = ["ndi", "ma", "la", "ri", "to", "ngo", "sha", "ve", "n", "ka"]
    names: list[str] = []
    while len(names) < n:
        name = "".join(str(rng.choice(part)) for part in (first, middle, last))
        if name not in names:
            names.append(name)
    return sorted(names)
