"""A sample of the trials of ``make faults``: outputs are whole or not there, whatever happens meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="no signals and no fork there")
def test_a_sample_of_faults():
    for name in ("geopandas", "rasterio", "xarray", "h5netcdf", "zarr", "matplotlib"):
        pytest.importorskip(name)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.faults", "--sample"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "10 trials" in done.stdout
