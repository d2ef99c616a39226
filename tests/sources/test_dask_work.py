"""Dask: progress of a fit is noted and gone on with; blocks, stores and their tiles are computed by workers."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.maps import make_grid, map_to_file
from bochner.sources import limits, open_source
from bochner.sources.parquet_source import ParquetPart

from .conftest import FIXED, write_parts

distributed = pytest.importorskip("distributed")

KILLED = """
import os, signal, sys
from distributed import Client
from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.sources import limits, open_source
from bochner.sources.parquet_source import ParquetPart
limits.HELD_ROWS, limits.ROUND_PARTS = 300, 1
load, calls = ParquetPart.load, []
def counted(self, names):
    calls.append(1)
    if len(calls) == 24:  # of 2 x 15
        os.kill(os.getpid(), signal.SIGKILL)
    return load(self, names)
ParquetPart.load = counted
with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
    SpatialRegressor(Matern(nu=1.5, length_scale=0.3), noise_variance=0.09, tune=None, features="lattice",
                     n_frequencies=60, coords=["x", "y"]).fit(
        open_source(sys.argv[1], part_rows=150), target="z", checkpoint=sys.argv[2], dask=client)
"""


@pytest.fixture(scope="module")
def client() -> Any:
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as found:
        yield found


@pytest.mark.slow
def test_a_fit_on_workers_goes_on_where_it_was_killed(
    client: Any, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pass is not read again, of the second at most the two rounds that were under way."""
    monkeypatch.setattr(limits, "ROUND_PARTS", 1)
    folder, notes = write_parts(table, tmp_path / "rows"), tmp_path / "notes"
    done = subprocess.run([sys.executable, "-c", KILLED, folder, notes], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    loads: list[str] = []
    load = ParquetPart.load
    monkeypatch.setattr(ParquetPart, "load", lambda self, names: loads.append(self.where) or load(self, names))
    source = open_source(folder, part_rows=150)
    assert len(source.parts) == 15
    model = SpatialRegressor(**FIXED, coords=["x", "y"])
    model.fit(source, target="z", checkpoint=notes, resume=True, dask=client)
    assert len(loads) <= 2 * 15 - 23 + 2 * 2 and not notes.exists()
    whole = SpatialRegressor(**FIXED, coords=["x", "y"]).fit(source, target="z")
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_a_bad_part_on_a_worker_costs_nothing_that_was_summed(
    client: Any, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ROUND_PARTS", 1)
    folder, notes = write_parts(table, tmp_path / "rows"), tmp_path / "notes"
    good = (folder / "part-4.parquet").read_bytes()
    (folder / "part-4.parquet").write_bytes(good[:4] + b"\xff" * 396 + good[400:])
    model = SpatialRegressor(**FIXED, coords=["x", "y"])
    with pytest.raises(InputError, match=r"part-4\.parquet"):
        model.fit(open_source(folder, part_rows=150), target="z", checkpoint=notes, dask=client)
    (folder / "part-4.parquet").write_bytes(good)
    loads: list[str] = []
    load = ParquetPart.load
    monkeypatch.setattr(ParquetPart, "load", lambda self, names: loads.append(self.where) or load(self, names))
    model.fit(open_source(folder, part_rows=150), target="z", checkpoint=notes, resume=True, dask=client)
    assert len(loads) < 2 * 15 - 8


def test_blocks_are_held_out_by_workers(client: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    given = {**FIXED, "coords": ["x", "y"]}
    there = SpatialRegressor(**given).fit(open_source(folder, part_rows=150), target="z", dask=client)
    here = SpatialRegressor(**given).fit(open_source(folder, part_rows=150), target="z")
    a, b = there.cross_validate(4), here.cross_validate(4)
    assert list(a) == list(b)
    assert_allclose(list(a.values()), list(b.values()), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bochner.exceptions.ApproximationWarning")
def test_a_store_is_sorted_and_mapped_by_workers(client: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    folder = write_parts(table[["x", "y", "z"]], tmp_path / "rows")
    kernel = Matern(nu=0.5, length_scale=0.05)
    given: dict[str, Any] = {"kernel": kernel, "noise_variance": 0.04, "tune": None, "memory_limit": "60MB"}
    models = [
        SpatialRegressor(**given).fit(open_source(folder), target="z", store=tmp_path / name, dask=dask)
        for name, dask in (("here", None), ("there", client))
    ]
    at = table[["x", "y"]].iloc[:30] + 1e-3
    assert_allclose(models[1].predict(at), models[0].predict(at), rtol=1e-9)
    grid = make_grid(models[0], 0.1, bounds=(0, 0, 1, 1))
    map_to_file(models[0], grid, tmp_path / "a.tif")
    map_to_file(models[1], grid, tmp_path / "b.tif", dask=client)
    with rasterio.open(tmp_path / "a.tif") as a, rasterio.open(tmp_path / "b.tif") as b:
        assert_allclose(a.read(), b.read(), rtol=1e-6)
    assert np.isfinite(models[1].predict(at)).all()
