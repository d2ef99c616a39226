"""Plots: figures of a fitted model by matplotlib, one file each; every function returns the Figure."""

from bochner.maps.plots.calibration_figure import plot_calibration
from bochner.maps.plots.map_figure import plot_map
from bochner.maps.plots.quick_figure import plot
from bochner.maps.plots.spectrum_figure import plot_spectrum
from bochner.maps.plots.variogram_figure import plot_variogram

__all__ = ["plot", "plot_calibration", "plot_map", "plot_spectrum", "plot_variogram"]
