"""Maps on demand: which grid is asked for, what it will take, and what a report draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from typing import Any

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.geo import RasterGrid, crs_text, read_areas
from bochner.maps import estimate_map, make_grid


@dataclass(frozen=True)
class MapRequest:
    """The grid of a map, and the options that follow from how it was asked for."""

    model: SpatialRegressor
    grid: RasterGrid
    options: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        model: SpatialRegressor,
        resolution: str | None,
        like: Path | None,
        within: Path | None,
        bounds: str | None,
        fill_only: bool = False,
    ) -> MapRequest:
        if resolution is None and like is None:
            raise InputError("no grid was given; say --resolution 5km (or 0.05deg, or a number), or --like RASTER.")
        if fill_only and like is None:
            raise InputError("--fill-only was given without --like; name the raster whose gaps are to be filled.")
        areas = None if within is None else read_areas(within)
        box = None if bounds is None else box_of(bounds)
        grid = make_grid(model, resolution, like=like, within=areas, bounds=box)
        options = {"within": areas, **({"observed": like} if fill_only else {})}
        return cls(model, grid, options)

    @property
    def crs(self) -> str | None:
        """CRS of the map, as text."""
        return crs_text(self.grid.crs)

    def forecast(self, options: Mapping[str, Any], output: Path) -> list[str]:
        """Memory and time that the map will take, and whether the disk can hold it, as notes for the user."""
        found, free = estimate_map(self.model, self.grid, **options), disk_usage(output.parent).free
        full = f"the disk has {free / 1e9:,.1f} GB left, which may not do; take larger pixels, or another disk"
        return [str(found), *([full] if found.file_bytes > free else [])]


def box_of(text: str) -> tuple[float, float, float, float]:
    """West, south, east and north out of text with commas."""
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"the box is {text!r}; needed are four numbers: WEST,SOUTH,EAST,NORTH.") from None
    return west, south, east, north


def check_offset(model: SpatialRegressor, given: Mapping[str, Any], command: str) -> None:
    """Refuse to predict without the offset that a model was fitted with."""
    name = model.fitted_.layout.roles.get("offset")
    if name is not None and "offset" not in given:
        way = "give it with --offset, a number or a raster" if command == "map" else "predict single places instead"
        raise InputError(f"the model was fitted with the offset {name!r}, which {command} was not given; {way}.")
