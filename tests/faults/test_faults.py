"""A sample of the trials of ``make faults``: outputs are whole or not there, whatever happens meanwhile."""

from __future__ import annotations

import os
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


AS_ROOT = """
import os, sys
from tests.faults import trials
trials.obey_modes()
print(os.listdir(sys.argv[1]))
open(os.path.join(sys.argv[2], "written"), "w")
"""


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root has rights to give up")
def test_root_obeys_modes_and_still_reads_folders_that_only_root_may_enter(tmp_path):
    private, closed = tmp_path / "private", tmp_path / "closed"
    private.mkdir(0o700)
    closed.mkdir(0o555)
    (private / "module.py").touch()
    command = [sys.executable, "-c", AS_ROOT, str(private), str(closed)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert "module.py" in done.stdout
    assert "PermissionError" in done.stderr and not list(closed.iterdir())
