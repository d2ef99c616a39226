"""Plots: figures of a fitted model by matplotlib, one file each; every function returns the Figure."""

from bochner.maps.plots.calibration import plot_calibration
from bochner.maps.plots.spectrum import plot_spectrum
from bochner.maps.plots.surface import plot_map
from bochner.maps.plots.variogram import plot_variogram

__all__ = ["plot_calibration", "plot_map", "plot_spectrum", "plot_variogram"]
