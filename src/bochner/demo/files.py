"""The files of the demo: what a user would have, written as a user would have it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bochner.arrays import FloatArray
from bochner.demo.country import Country
from bochner.demo.villages import VillageSurvey
from bochner.exceptions import MissingExtraError
from bochner.geo import RasterGrid, crs_text, write_vector
from bochner.outputs import complete_files, told_as_output


@dataclass(frozen=True)
class DemoFiles:
    """Paths of the data: the survey, rasters of covariates and of people, polygons, and the truth."""

    folder: Path

    @property
    def villages(self) -> Path:
        return self.folder / "villages.csv"

    @property
    def elevation(self) -> Path:
        return self.folder / "elevation.tif"

    @property
    def rainfall(self) -> Path:
        return self.folder / "rainfall.tif"

    @property
    def population(self) -> Path:
        return self.folder / "population.tif"

    @property
    def districts(self) -> Path:
        return self.folder / "districts.gpkg"

    @property
    def country(self) -> Path:
        return self.folder / "country.geojson"

    @property
    def truth(self) -> Path:
        return self.folder / "true_prevalence.tif"


def write_demo(folder: Path, seed: int = 0) -> DemoFiles:
    """Simulate a country and its survey, and write them into a folder, which is made if it is missing."""
    country = Country.simulate(seed)
    survey = VillageSurvey.simulate(country, seed)
    folder.mkdir(parents=True, exist_ok=True)
    files = DemoFiles(folder)
    with complete_files(files.villages) as partial, told_as_output(files.villages):
        survey.villages.to_csv(partial, index=False)
    write_vector(country.districts, files.districts)
    write_vector(country.outline, files.country)
    for path, layer, text in (
        (files.elevation, country.elevation, "elevation, m"),
        (files.rainfall, country.rainfall, "rainfall, mm per year"),
        (files.population, country.people, "inhabitants of the pixel"),
        (files.truth, survey.prevalence, "true prevalence"),
    ):
        write_raster(path, country.grid, layer, text)
    return files


def write_raster(path: Path, grid: RasterGrid, layer: FloatArray, text: str) -> None:
    """Write one layer as a GeoTIFF, NaN where there is no value."""
    try:
        import rasterio
        from affine import Affine
    except ImportError as error:
        raise MissingExtraError(
            "writing rasters needs rasterio; install it with: pip install 'bochner[geo]'"
        ) from error

    layout = {"height": grid.height, "width": grid.width, "count": 1, "dtype": "float32", "nodata": np.nan}
    place = {"crs": crs_text(grid.crs), "transform": Affine(*grid.transform)}
    with complete_files(path) as partial, told_as_output(path):
        with rasterio.open(partial, "w", driver="GTiff", compress="deflate", predictor=3, **layout, **place) as file:
            file.write(layer.astype(np.float32), 1)
            file.set_band_description(1, text)
