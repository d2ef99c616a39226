"""World: a folder with small files of every kind, and every command with its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GIVEN = "--kernel", "matern32(length_scale=50)", "--tune", "none"


@dataclass(frozen=True)
class Job:
    """A command: its arguments but the output, its output, and a function that reads the whole of that."""

    name: str
    arguments: tuple[str, ...]
    output: str | None
    read: Callable[[Path], object] = Path.read_bytes

    def line(self, folder: str = "") -> list[str]:
        """Arguments with the output in a folder."""
        where = [] if self.output is None else ["-o", folder + self.output]
        return [*self.arguments, *where]


def model(path: Path) -> object:
    """A model file, asked."""
    from bochner import load

    return load(path).summary()


def raster(path: Path) -> object:
    """All bands of a GeoTIFF."""
    import rasterio

    with rasterio.open(path) as file:
        return file.read()


def cube(path: Path) -> object:
    """All variables of a NetCDF file or a Zarr store."""
    import xarray as xr

    engine = "zarr" if path.suffix == ".zarr" else "h5netcdf"
    with xr.open_dataset(path, engine=engine) as data:
        return data.load()


def vector(path: Path) -> object:
    """All rows of a vector file."""
    import geopandas

    return geopandas.read_file(path, engine="pyogrio")


def rows(path: Path) -> object:
    """All rows of a CSV, each as long as the first."""
    import pandas as pd

    return pd.read_csv(path)


def page(path: Path) -> object:
    """A page that ends."""
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>"), "half a page"
    return text


def folder_of_demo(path: Path) -> object:
    """What the demo wrote last."""
    return [page(path / "report.html"), raster(path / "prevalence.tif"), rows(path / "districts.csv")]


MAP = ("map", "m.bochner", "--resolution", "0.02")
JOBS = (
    Job("fit", ("fit", "data.csv", "--target", "y", *GIVEN), "o.bochner", model),
    Job("fit in parts", ("fit", "parts", "--target", "y", "--features", "lattice", *GIVEN), "p.bochner", model),
    Job("predict .csv", ("predict", "m.bochner", "data.csv"), "o.csv", rows),
    Job("predict .parquet", ("predict", "m.bochner", "data.csv"), "o.parquet"),
    Job("predict .gpkg", ("predict", "m.bochner", "data.csv"), "o.gpkg", vector),
    Job("predict .shp", ("predict", "m.bochner", "data.csv"), "o.shp", vector),
    Job("map .tif", MAP, "o.tif", raster),
    Job("map .nc", MAP, "o.nc", cube),
    Job("map .zarr", MAP, "o.zarr", cube),
    Job("map .png", MAP, "o.png"),
    Job("aggregate", ("aggregate", "m.bochner", "--areas", "areas.geojson", "--points", "20"), "a.csv", rows),
    Job("report", ("report", "m.bochner", "--resolution", "0.05", "--data", "data.csv"), "o.html", page),
    Job("validate", ("validate", "data.csv", "--target", "y", *GIVEN), None),
    Job("simulate", ("simulate", "m.bochner", "--resolution", "0.1", "--latent"), "s.nc", cube),
    Job("merge", ("merge", "a.bochner", "b.bochner"), "ab.bochner", model),
    Job("fill", ("fill", "image.nc", "--kernel", "matern32", "--features", "exact"), "f.nc", cube),
    Job("hotspots", ("hotspots", "m.bochner", "--threshold", "0.5", "--certainty", "50%"), "h.geojson", vector),
)
DEMO = Job("demo", ("demo",), "demo-output", folder_of_demo)


def make(folder: Path) -> None:
    """Write the files that the commands read."""
    import pandas as pd
    import xarray as xr

    import bochner
    from bochner import SpatialRegressor
    from bochner.diagnostics import remember
    from bochner.kernels import Matern

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, size=(80, 2)), columns=["lon", "lat"])
    frame["y"] = np.sin(5 * frame.lon) + 0.1 * rng.normal(size=80)
    frame["name"] = [f"village {i} " + "x" * 40 for i in range(80)]
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "parts").mkdir()
    for i in range(3):
        frame[["lon", "lat", "y"]][i::3].to_parquet(folder / "parts" / f"{i}.parquet")
    known = {"coords": ["lon", "lat"], "crs": "EPSG:4326", "tune": None, "noise_variance": 0.1}
    model = SpatialRegressor(Matern(50.0), **known).fit(frame[["lon", "lat"]], frame["y"])
    remember(model)
    model.save(folder / "m.bochner")
    first = SpatialRegressor(Matern(50.0), features="lattice", n_frequencies=20, **known)
    first.fit(frame[["lon", "lat"]], frame["y"]).save(folder / "a.bochner")
    second = bochner.like(first).partial_fit(frame[["lon", "lat"]] * 0.9, frame["y"])
    second.save(folder / "b.bochner")
    ring = [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.1, 0.9], [0.1, 0.1]]
    area = {"type": "Feature", "properties": {"n": "a"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    (folder / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [area]}))
    image = rng.normal(size=(12, 12))
    image[3:6, 4:8] = np.nan
    axes = {"lat": np.linspace(0, 1, 12), "lon": np.linspace(0, 1, 12)}
    xr.Dataset({"temp": (("lat", "lon"), image)}, axes).to_netcdf(folder / "image.nc", engine="h5netcdf")
