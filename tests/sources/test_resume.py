"""Work that was killed goes on where it was, with the same answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.maps import make_grid, map_to_file
from bochner.maps.files.window_notes import folder_of
from bochner.maps.grids.gridmap import GridMap
from bochner.sources.parquet_source import ParquetPart

from .conftest import FIXED, write_parts

FIT = """
import os, signal, sys
from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.sources import limits
from bochner.sources.parquet_source import ParquetPart
limits.HELD_ROWS = 300
limits.PART_ROWS = 150
load, calls = ParquetPart.load, []
def counted(self, names):
    calls.append(1)
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return load(self, names)
ParquetPart.load = counted
from bochner.sources import open_source
SpatialRegressor(Matern(nu=1.5, length_scale=0.3), noise_variance=0.09, tune=None, features="lattice", n_frequencies=60,
                 coords=["x", "y"]).fit(open_source(sys.argv[1], part_rows=150), target="z", checkpoint=sys.argv[2])
"""

MAP = """
import os, signal, sys
import bochner
from bochner.maps import make_grid, map_to_file
from bochner.maps.grids.gridmap import GridMap
compute, calls = GridMap.compute, []
def counted(self, window):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return compute(self, window)
GridMap.compute = counted
model = bochner.load(sys.argv[1])
map_to_file(model, make_grid(model, 0.004, bounds=(0, 0, 1, 1)), sys.argv[2], memory_limit="2MB")
"""


def run(program: str, *arguments: object) -> None:
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


# of 14 parts: in the pass of the sample, and in that of the sums
@pytest.mark.parametrize("stop", [pytest.param(5, marks=pytest.mark.slow), 20])
def test_a_fit_goes_on_where_it_was_killed(
    stop: int, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bochner.sources import open_source

    folder = write_parts(table, tmp_path / "rows")
    run(FIT, folder, tmp_path / "notes", stop)
    loads: list[str] = []
    load = ParquetPart.load
    monkeypatch.setattr(ParquetPart, "load", lambda self, names: loads.append(self.where) or load(self, names))
    source = open_source(str(folder), part_rows=150)
    model = SpatialRegressor(**FIXED, coords=["x", "y"])
    model.fit(source, target="z", checkpoint=tmp_path / "notes", resume=True)
    n_parts = len(source.parts)
    assert len(loads) <= 2 * n_parts - (stop - 1) + 1  # at most one part is read again
    assert not (tmp_path / "notes").exists()
    whole = SpatialRegressor(**FIXED, coords=["x", "y"]).fit(source, target="z")
    assert whole.log_evidence_ == model.log_evidence_
    np.testing.assert_array_equal(whole.coef_, model.coef_)


def test_progress_of_another_fit_is_refused(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    run(FIT, folder, tmp_path / "notes", 9)
    model = SpatialRegressor(**{**FIXED, "noise_variance": 0.2}, coords=["x", "y"])
    with pytest.raises(InputError, match="progress of another fit"):
        model.fit(str(folder), target="z", checkpoint=tmp_path / "notes", resume=True)


def test_what_was_computed_before_an_error_is_kept(table: pd.DataFrame, tmp_path: Path) -> None:
    """A damaged file stops the fit; mended, the fit goes on."""
    from bochner.sources import open_source

    folder = write_parts(table, tmp_path / "rows")
    good = (folder / "part-4.parquet").read_bytes()
    bad = bytearray(good)
    bad[4:400] = b"\xff" * 396
    (folder / "part-4.parquet").write_bytes(bytes(bad))
    model = SpatialRegressor(**FIXED, coords=["x", "y"])
    with pytest.raises(InputError, match=r"part-4\.parquet"):
        model.fit(open_source(str(folder), part_rows=150), target="z", checkpoint=tmp_path / "notes")
    (folder / "part-4.parquet").write_bytes(good)
    model.fit(open_source(str(folder), part_rows=150), target="z", checkpoint=tmp_path / "notes", resume=True)
    assert np.isfinite(model.log_evidence_)


@pytest.mark.slow
def test_a_map_goes_on_where_it_was_killed(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rasterio = pytest.importorskip("rasterio")
    model = SpatialRegressor(**FIXED).fit(table[["x", "y"]].to_numpy(), table["z"])
    model.save(tmp_path / "m.bochner")
    run(MAP, tmp_path / "m.bochner", tmp_path / "a.tif")
    assert folder_of(tmp_path / "a.tif").exists()
    grid = make_grid(model, 0.004, bounds=(0, 0, 1, 1))
    windows: list[object] = []
    compute = GridMap.compute
    monkeypatch.setattr(GridMap, "compute", lambda self, w: windows.append(w) or compute(self, w))
    map_to_file(model, grid, tmp_path / "a.tif", memory_limit="2MB", resume=True)
    resumed = len(windows)
    map_to_file(model, grid, tmp_path / "b.tif", memory_limit="2MB")
    assert len(windows) - resumed == resumed + 3
    assert not folder_of(tmp_path / "a.tif").exists()
    with rasterio.open(tmp_path / "a.tif") as a, rasterio.open(tmp_path / "b.tif") as b:
        np.testing.assert_array_equal(a.read(), b.read())
    assert os.listdir(tmp_path)
