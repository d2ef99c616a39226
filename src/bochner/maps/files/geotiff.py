"""GeoTIFF: one file with tiles and overviews, which any GIS and any web map reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import RasterGrid, Window, crs_text
from bochner.maps import limits
from bochner.maps.files.base import Writer, module
from bochner.maps.grids.bands import Band


class GeoTiffWriter(Writer):
    """Cloud-optimised GeoTIFF: tiles first into a plain file, then in the final order, with overviews."""

    def __init__(self, path: Path, grid: RasterGrid, bands: Sequence[Band], dtype: str) -> None:
        self.rasterio = module("rasterio", "GeoTIFF", "geo")
        from affine import Affine

        self.path, self.plain = path, path.with_name("plain.tif")
        self.open = ExitStack()
        self.open.enter_context(self.rasterio.Env(GDAL_CACHEMAX=limits.GDAL_CACHE_MB, GDAL_NUM_THREADS="ALL_CPUS"))
        crs = crs_text(grid.crs)
        self.file = self.rasterio.open(
            self.plain, "w", driver="GTiff", height=grid.height, width=grid.width, count=len(bands), dtype=dtype,
            crs=None if crs is None else self.rasterio.crs.CRS.from_user_input(crs), transform=Affine(*grid.transform),
            nodata=np.nan, tiled=True, blockxsize=limits.FILE_BLOCK, blockysize=limits.FILE_BLOCK, bigtiff="IF_SAFER",
            sparse_ok=True,
        )  # fmt: skip
        for i, band in enumerate(bands, start=1):
            self.file.set_band_description(i, band.name)
            self.file.update_tags(i, long_name=band.text)

    def write(self, window: Window, values: FloatArray) -> None:
        row0, row1, col0, col1 = window
        self.file.write(values.astype(self.file.dtypes[0]), window=((row0, row1), (col0, col1)))

    def close(self, attributes: Mapping[str, str]) -> None:
        from rasterio import shutil

        self.file.update_tags(**attributes)
        self.file.close()
        shutil.copy(
            self.plain, self.path, driver="COG", compress="DEFLATE", predictor="YES", blocksize=limits.FILE_BLOCK,
            overviews="AUTO", overview_resampling="AVERAGE", bigtiff="IF_SAFER", num_threads="ALL_CPUS",
        )  # fmt: skip
        self.plain.unlink()
        self.open.close()

    def abandon(self) -> None:
        self.file.close()
        self.open.close()
