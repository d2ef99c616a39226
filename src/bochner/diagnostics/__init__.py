"""Diagnostics: what a fitted model shows of itself, and of how well it predicts."""

from bochner.diagnostics.diagnostics import (
    Diagnostics,
    Summary,
    correlation_range,
    diagnose,
    diagnostics_of,
    directions_of,
    remember,
)
from bochner.diagnostics.held_out_calibration import Calibration, calibration
from bochner.diagnostics.region import Region, region_of, round_step
from bochner.diagnostics.variogram import Variogram

__all__ = [
    "Calibration",
    "Diagnostics",
    "Region",
    "Summary",
    "Variogram",
    "calibration",
    "correlation_range",
    "diagnose",
    "diagnostics_of",
    "directions_of",
    "region_of",
    "remember",
    "round_step",
]
