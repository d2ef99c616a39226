"""Maps: predictions onto grids and areas, raster files and plots.

======================  =============================================================================================
`predict_grid`          a map as an xarray Dataset in memory
`map_to_file`           a map of any size into GeoTIFF, NetCDF or Zarr, streamed
`predict_on_grid`       its windows one by one, for uses of one's own
`estimate_map`          memory and time before the work
`make_grid`             the grid: by resolution, like a raster, within polygons
`fill`                  gaps of an xarray image or stack, filled; its dimensions kept
`hotspots`              connected places above a threshold with high probability
`aggregate`             means over areas, weighted by people, with intervals and exceedance from joint draws
`plot_map` and others   figures by matplotlib
======================  =============================================================================================

Names are loaded when they are first used: maps need geographic libraries, plots need matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bochner.maps.aggregation import aggregate
    from bochner.maps.files.writers import register_writer
    from bochner.maps.filling import fill
    from bochner.maps.grid_maps import MapReport, estimate_map, map_to_file, predict_grid, predict_on_grid
    from bochner.maps.grids.estimate import MapEstimate
    from bochner.maps.grids.extent import make_grid
    from bochner.maps.hot_places import hotspots
    from bochner.maps.plots import plot, plot_calibration, plot_map, plot_spectrum, plot_variogram

_ROOMS = {
    "MapEstimate": "grids.estimate",
    "MapReport": "grid_maps",
    "aggregate": "aggregation",
    "estimate_map": "grid_maps",
    "fill": "filling",
    "hotspots": "hot_places",
    "make_grid": "grids.extent",
    "map_to_file": "grid_maps",
    "plot": "plots",
    "plot_calibration": "plots",
    "plot_map": "plots",
    "plot_spectrum": "plots",
    "plot_variogram": "plots",
    "predict_grid": "grid_maps",
    "predict_on_grid": "grid_maps",
    "register_writer": "files.writers",
}

__all__ = [
    "MapEstimate",
    "MapReport",
    "aggregate",
    "estimate_map",
    "fill",
    "hotspots",
    "make_grid",
    "map_to_file",
    "plot",
    "plot_calibration",
    "plot_map",
    "plot_spectrum",
    "plot_variogram",
    "predict_grid",
    "predict_on_grid",
    "register_writer",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        from importlib import import_module

        return getattr(import_module(f"bochner.maps.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'bochner.maps' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
