"""CF 1.8, judged by the compliance checker of IOOS: maps and filled stacks pass without a word."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.geo import RasterGrid
from bochner.geo.stacks import Stack
from bochner.maps import make_grid, map_to_file
from bochner.maps.files.cf import variable_name
from bochner.maps.filling import FillImage, filled_images, write_filled
from tests.maps import surveys
from tests.maps.test_stacks import fitted, stack

pytest.importorskip("xarray")


def complaints(path, tmp_path) -> str:
    """What the checker says, errors and warnings alike."""
    runner = pytest.importorskip("compliance_checker.runner")
    runner.CheckSuite.load_all_available_checkers()
    told = tmp_path / "told.txt"
    passed, errors = runner.ComplianceChecker.run_checker(
        str(path), ["cf:1.8"], 2, "strict", output_filename=str(told), output_format="text"
    )
    return "" if passed and not errors else told.read_text()


def test_map_in_a_plane_passes(tmp_path):
    grid = RasterGrid((0.0017, 0.0, -0.05, 0.0, -0.0019, 1.03), 14, 62, "EPSG:32633")
    map_to_file(surveys.gaussian(), grid, tmp_path / "map.nc", exceed=[0.2, -1], quantiles=0.9)
    assert complaints(tmp_path / "map.nc", tmp_path) == ""


def test_map_like_a_template_in_degrees_passes(tmp_path):
    image = stack()[0].drop_vars("time")
    model = fitted(image)
    map_to_file(model, make_grid(model, like=image), tmp_path / "map.nc", exceed=0.2)
    assert complaints(tmp_path / "map.nc", tmp_path) == ""


def test_filled_stack_passes(tmp_path):
    cube = stack()
    model, images = fitted(cube), Stack.of(cube)
    one = FillImage(model)
    write_filled(model, images, one.bands, filled_images(one, images, {}), tmp_path / "filled.nc")
    assert complaints(tmp_path / "filled.nc", tmp_path) == ""


def test_names_are_letters_digits_and_underscores():
    names = [variable_name(name) for name in ("exceedance_0.2", "exceedance_-3", "q0.975", "2m temperature", "mean")]
    assert names == ["exceedance_0_2", "exceedance_minus_3", "q0_975", "v_2m_temperature", "mean"]
    assert np.all([name.isidentifier() for name in names])
