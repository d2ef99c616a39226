"""Doors of files: tables, configurations, vectors, rasters and cubes, odd in what they say or damaged."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.cli._spec import Spec
from bochner.geo import RasterGrid, area_points, grid_like, raster_at, read_areas, read_places, sample_raster
from tests.fuzz.odd import NUMBERS, TEXTS, damaged, json_value, nested, number, rarely, some, write

CONFIG = b"""data = "places.csv"
target = "y"
family = "gaussian"
kernel = "matern32"
covariates = ["z"]
n_frequencies = 50
noise_variance = 0.1
seed = 1
output = "m.bochner"

[covariate]
elevation = "dem.tif"
"""


def csv(rng: Generator, folder: Path) -> None:
    """Tables as people write them, and worse."""
    mark = some(rng, (",", ",", ";", "\t", "|"))
    header = [str(some(rng, (*TEXTS, "lon"))) if rarely(rng, 0.05) else name for name in ("lon", "lat", "z", "y")]
    odd = float(some(rng, (0.0, 0.0, 0.02, 0.3)))
    rows = [header, *([_cell(rng, odd) for _ in header] for _ in range(int(rng.integers(0 if rarely(rng) else 2, 12))))]
    if rarely(rng, 0.1):
        rows[-1] = rows[-1][: int(rng.integers(len(header)))]
    text = str(some(rng, ("\n", "\n", "\r\n", "\r"))).join(mark.join(row) for row in rows)
    data = text.encode(some(rng, ("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")), errors="replace")
    path = write(folder, "places.csv", damaged(rng, data) if rarely(rng, 0.3) else data)
    _used(rng, path)


def excel(rng: Generator, folder: Path) -> None:
    """Workbooks, damaged."""
    _used(rng, write(folder, "places.xlsx", damaged(rng, samples()["xlsx"])))


def parquet(rng: Generator, folder: Path) -> None:
    """Parquet files, damaged."""
    _used(rng, write(folder, "places.parquet", damaged(rng, samples()["parquet"])))


def toml(rng: Generator, folder: Path) -> None:
    """Configurations: any key with any value, and damaged bytes."""
    lines = CONFIG.decode().splitlines()
    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(len(lines)))
        key = str(some(rng, (*Spec.__dataclass_fields__, "colour", lines[at].partition("=")[0].strip() or "x")))
        lines[at] = f"{key} = {_toml(rng)}"
    data = "\n".join(lines).encode(errors="replace")
    path = write(folder, "model.toml", damaged(rng, data) if rarely(rng, 0.3) else data)
    assert Spec.of(path, {}).data is not None


def geojson(rng: Generator, folder: Path) -> None:
    """Points and polygons, of any shape and in any place."""
    shapes = [_shape(rng) for _ in range(int(rng.integers(1, 4)))]
    features = [{"type": "Feature", "properties": {"y": number(rng), "n": "a"}, "geometry": s} for s in shapes]
    tree: Any = {"type": "FeatureCollection", "features": features}
    if rarely(rng, 0.4):
        tree = nested(rng, tree, json_value)
    data = json.dumps(tree).encode()
    path = write(folder, "a.geojson", damaged(rng, data) if rarely(rng, 0.2) else data)
    if rarely(rng, 0.5):
        _used(rng, path)
    else:
        points, _, weight = area_points(read_areas(path), n_points=10)
        assert np.isfinite(points).all() and np.isfinite(weight).all(), "points that are nowhere"


def geopackage(rng: Generator, folder: Path) -> None:
    """GeoPackages, damaged."""
    path = write(folder, "a.gpkg", damaged(rng, samples()["gpkg"]))
    read_areas(path)


def raster(rng: Generator, folder: Path) -> None:
    """GeoTIFF files, damaged or with odd sizes, types, CRS, gaps and scales."""
    path = folder / "a.tif"
    if rarely(rng, 0.5):
        write(folder, "a.tif", damaged(rng, samples()["tif"]))
    else:
        _odd_raster(rng, path)
    kind = int(rng.integers(4))
    if kind == 0:
        _used(rng, path)
    elif kind == 1:
        raster_at(path, rng.uniform(-2, 3, size=(4, 2)), some(rng, (None, "EPSG:4326", "EPSG:3857")))
    elif kind == 2:
        sample_raster(path, RasterGrid((0.1, 0, 0, 0, -0.1, 1), 8, 8, "EPSG:4326"))
    else:
        grid_like(path)


def netcdf(rng: Generator, folder: Path) -> None:
    """NetCDF files, damaged or with odd dimensions and values."""
    path = folder / "a.nc"
    if rarely(rng, 0.5):
        write(folder, "a.nc", damaged(rng, samples()["nc"]))
    else:
        _odd_cube(rng, path)
    _used(rng, path)


def _used(rng: Generator, path: Path) -> None:
    """Places of a file, with its columns as numbers."""
    options: dict[str, Any] = {}
    if rarely(rng, 0.2):
        options["coords"] = some(rng, (["lon", "lat"], ["lat", "lon"], ["z", "y"], ["lon"], ["lon", "lon"], ["no"]))
    if rarely(rng, 0.2):
        options["crs"] = some(rng, ("EPSG:4326", "EPSG:3857", "EPSG:0", "nonsense", 4326, 3857.5))
    if rarely(rng, 0.1):
        options["layer"] = some(rng, TEXTS)
    if rarely(rng, 0.2):
        options["columns"] = some(rng, (["y"], ["z", "y"], ["no"], [], ["lon"], ["y", "y"]))
    places = read_places(path, **options)
    assert len(places) > 0 and places.coordinates().shape[0] == len(places)
    places.numbers([name for name in places.names if name not in places.coords][:1])


def _cell(rng: Generator, odd: float) -> str:
    kind = rng.random()
    if not rarely(rng, odd):
        return f"{rng.uniform(0, 50):.4g}"
    if kind < 0.6:
        return str(some(rng, TEXTS))
    if kind < 0.9:
        return repr(number(rng))
    return f'"{some(rng, TEXTS)}"'


def _toml(rng: Generator) -> str:
    kind = int(rng.integers(5))
    if kind == 0:
        return json.dumps(str(some(rng, TEXTS)))
    if kind == 1:
        return str(
            some(rng, ("true", "false", "inf", "nan", "-0", "1_000", "0x1F", "2015-06-30", "07:32:00", "[]", "{}"))
        )
    if kind == 2:
        return json.dumps([some(rng, TEXTS), 1])
    return repr(number(rng)) if kind == 3 else str(some(rng, NUMBERS[:8]))


def _shape(rng: Generator) -> dict[str, Any]:
    x, y = float(rng.uniform(-180, 180)), float(rng.uniform(-80, 85))
    size = 10.0 ** rng.uniform(-12, 2) if rarely(rng, 0.3) else 1.0
    kind = some(rng, ("Point", "Polygon", "Polygon", "MultiPolygon", "LineString", "MultiPoint"))
    ring = [[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]
    if rarely(rng, 0.2):
        ring[2], ring[1] = ring[1], ring[2]
    coordinates: Any = {"Point": [x, y], "Polygon": [ring], "MultiPolygon": [[ring], [ring]]}.get(kind, ring)
    return {"type": kind, "coordinates": [] if rarely(rng, 0.05) else coordinates}


def _odd_raster(rng: Generator, path: Path) -> None:
    import rasterio
    from affine import Affine

    height, width, count = (int(v) for v in rng.integers(1, 9, 3))
    dtype = some(rng, ("uint8", "int16", "float32", "float64", "uint32", "complex64", "int8"))
    turn = some(rng, ((0.0, 0.0), (0.0, 0.0), (0.02, 0.03)))
    sides = 10.0 ** rng.integers(-6, 4, 2)
    corner = (0.0, 1.0) if rarely(rng, 0.5) else (number(rng), number(rng))
    place = Affine(sides[0], turn[0], corner[0], turn[1], -sides[1], corner[1])
    crs = some(rng, (None, "EPSG:4326", "EPSG:4326", "EPSG:32736", "EPSG:3857", "EPSG:4978"))
    options = {} if rarely(rng, 0.3) else {"nodata": some(rng, (0, 1, 100))}
    values = (rng.normal(size=(count, height, width)) * 50).astype(dtype)
    if dtype.startswith("f") and rarely(rng, 0.5):
        values[0, 0, 0] = some(rng, (np.nan, np.inf, -np.inf, 1e38))
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        height=height,
        width=width,
        count=count,
        dtype=dtype,
        crs=crs,
        transform=place,
        **options,
    ) as file:
        file.write(values)
        if rarely(rng, 0.3):
            file.scales, file.offsets = (float(number(rng)),) * count, (float(some(rng, (0, 1e300, -5))),) * count
        for band in range(1, count + 1):
            if rarely(rng, 0.3):
                file.set_band_description(band, str(some(rng, ("x", "y", "temp", "", "a b"))))
        if dtype == "uint8" and rarely(rng, 0.3):
            file.write_colormap(1, {0: (0, 0, 0), 1: (255, 0, 0)})


def _odd_cube(rng: Generator, path: Path) -> None:
    import xarray as xr

    names = list(
        some(rng, (("lat", "lon"), ("time", "lat", "lon"), ("y", "x"), ("x", "y", "time"), ("a", "b"), ("lon",), ()))
    )
    sizes = [int(rng.integers(0 if rarely(rng, 0.1) else 1, 6)) for _ in names]
    coords: dict[str, Any] = {}
    for name, size in zip(names, sizes, strict=True):
        values: Any = np.linspace(0, 5, size)
        if name == "time" and rarely(rng, 0.7):
            values = np.datetime64("2020-01-01") + np.arange(size)
        elif rarely(rng, 0.2):
            values = some(
                rng, (values[::-1], values * 1e6, np.zeros(size), np.full(size, np.nan), rng.uniform(size=size))
            )
        if not rarely(rng, 0.1):
            coords[name] = values
    array = rng.normal(size=sizes)
    if array.size and rarely(rng, 0.4):
        array.flat[0] = some(rng, (np.nan, np.inf, 1e300))
    kind = some(rng, ("f8", "f4", "i2", "U"))
    variables = {"temp": (names, array.astype(str) if kind == "U" else array.astype(kind))}
    if rarely(rng, 0.3):
        variables["other"] = (names[:1], np.zeros(sizes[:1]))
    dataset = xr.Dataset(variables, coords)
    if rarely(rng, 0.3):
        attributes = {"units": "K", "scale_factor": some(rng, (2.0, 0.0)), "grid_mapping": "crs", "_FillValue": -9.0}
        name = str(some(rng, list(attributes)))
        (dataset.temp.encoding if name[0] in "s_" else dataset.temp.attrs)[name] = attributes[name]
    try:
        dataset.to_netcdf(path, engine="h5netcdf")
    except Exception:  # what xarray does not write is no file to be read
        write(path.parent, path.name, samples()["nc"])


@cache
def samples() -> dict[str, bytes]:
    """A good file of every format, to be damaged."""
    import tempfile

    import geopandas as gpd
    import pandas as pd
    import rasterio
    import shapely
    import xarray as xr
    from affine import Affine

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 5, size=(12, 4)), columns=["lon", "lat", "z", "y"])
    image = rng.normal(size=(6, 7))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame.to_parquet(folder / "a.parquet")
        frame.to_excel(folder / "a.xlsx", index=False)
        boxes = [shapely.box(i, 0, i + 1, 1) for i in range(3)]
        gpd.GeoDataFrame({"n": list("abc")}, geometry=boxes, crs="EPSG:4326").to_file(folder / "a.gpkg")
        axes = {"lat": np.linspace(0, 1, 6), "lon": np.linspace(0, 1, 7)}
        xr.Dataset({"temp": (("lat", "lon"), image)}, axes).to_netcdf(folder / "a.nc", engine="h5netcdf")
        with rasterio.open(
            folder / "a.tif", "w", driver="GTiff", height=6, width=7, count=1, dtype="float32", crs="EPSG:4326",
            transform=Affine(0.1, 0, 0, 0, -0.1, 1), compress="deflate",
        ) as file:  # fmt: skip
            file.write(image.astype("float32"), 1)
        return {path.suffix[1:]: path.read_bytes() for path in folder.iterdir()}
