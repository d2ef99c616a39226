"""Demo: a fictitious country, and a malaria survey of its villages, simulated and written as real files.

==================  =============================================================================================
`Country`           coast line, districts, elevation, rainfall and people of an island that does not exist
`VillageSurvey`     villages, how many were examined in each and how many were positive; and the true prevalence
`write_demo`        all of it as CSV, GeoTIFF and GeoPackage
==================  =============================================================================================
"""

from bochner.demo.country import Country
from bochner.demo.files import DemoFiles, write_demo
from bochner.demo.villages import VillageSurvey

__all__ = ["Country", "DemoFiles", "VillageSurvey", "write_demo"]
