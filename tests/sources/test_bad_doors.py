"""Bad input at every door: fit, partial_fit, a store, Dask. The error names the file, wherever the rows are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import ColumnError, InputError
from bochner.kernels import Matern
from bochner.sources import open_source
from bochner.sources.parquet_source import ParquetPart

from .conftest import FIXED, write_parts

distributed = pytest.importorskip("distributed")

MODEL: dict[str, Any] = {**FIXED, "coords": ["x", "y"]}
ROUGH: dict[str, Any] = {
    "kernel": Matern(nu=0.5, length_scale=0.05),
    "noise_variance": 0.04,
    "tune": None,
    "memory_limit": "60MB",
    "coords": ["x", "y"],
}


@pytest.fixture(scope="module")
def client() -> Any:
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as found:
        yield found


def truncate(folder: Path, table: pd.DataFrame) -> str:
    path = folder / "part-3.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    return r"part-3\.parquet cannot be read"


def another_schema(folder: Path, table: pd.DataFrame) -> str:
    table.iloc[:50].rename(columns={"z": "other"}).to_parquet(folder / "part-3.parquet")
    return r"part-3\.parquet has no column 'z'"


def all_missing(folder: Path, table: pd.DataFrame) -> str:
    table.iloc[:50].assign(z=np.nan).to_parquet(folder / "part-3.parquet")
    return r"every row of .*part-3\.parquet.* has a missing value, 'z'"


def empty(folder: Path, table: pd.DataFrame) -> str:
    for path in folder.iterdir():
        path.unlink()
    return r"the folder .*rows has no file"


FAULTS: tuple[Callable[[Path, pd.DataFrame], str], ...] = (truncate, another_schema, all_missing, empty)

Enter = Callable[[Any, Path, Any], Any]
DOORS: dict[str, Enter] = {
    "partial_fit": lambda data, home, client: SpatialRegressor(**MODEL).partial_fit(data, target="z"),
    "store": lambda data, home, client: SpatialRegressor(**ROUGH).fit(data, target="z", store=home / "store"),
    "dask": lambda data, home, client: SpatialRegressor(**MODEL).fit(data, target="z", dask=client),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_file_is_named(
    fault: Callable[[Path, pd.DataFrame], str], door: str, client: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    folder = write_parts(table, tmp_path / "rows")
    message = fault(folder, table)
    with pytest.raises(InputError, match=message):
        DOORS[door](str(folder), tmp_path, client)


@pytest.mark.parametrize("door", DOORS)
def test_a_file_that_changes_between_passes_is_named(
    door: str, client: Any, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the last pass of each door: of the sums, or of the rows that are sorted."""
    folder = write_parts(table, tmp_path / "rows")
    source = open_source(str(folder), part_rows=400)
    calls: list[str] = []
    load = ParquetPart.load
    before = len(source.parts) * (2 if door == "store" else 1)

    def changing(self: ParquetPart, names: Any) -> Any:
        calls.append(self.path)
        found = load(self, names)
        if len(calls) > before and "part-3" in self.path:
            found["z"] = found["z"] + 1
        return found

    monkeypatch.setattr(ParquetPart, "load", changing)
    with pytest.raises(InputError, match=r"part-3\.parquet.* changed between two passes .*\(values differ"):
        DOORS[door](source, tmp_path, client)


def test_a_file_that_changes_before_a_fit_goes_on_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    """Its part had been summed already; only the file that was written to is read again."""
    folder, notes = write_parts(table, tmp_path / "rows"), tmp_path / "notes"
    good = (folder / "part-4.parquet").read_bytes()
    (folder / "part-4.parquet").write_bytes(good[:4] + b"\xff" * 396 + good[400:])
    with pytest.raises(InputError, match=r"part-4\.parquet"):
        SpatialRegressor(**MODEL).fit(open_source(folder, part_rows=150), target="z", checkpoint=notes)
    (folder / "part-4.parquet").write_bytes(good)
    first = pd.read_parquet(folder / "part-1.parquet")
    first.assign(z=first.z + 1).to_parquet(folder / "part-1.parquet", row_group_size=150, index=False)
    with pytest.raises(InputError, match=r"part-1\.parquet.* changed between two passes"):
        SpatialRegressor(**MODEL).fit(open_source(folder, part_rows=150), target="z", checkpoint=notes, resume=True)
    first.to_parquet(folder / "part-1.parquet", row_group_size=150, index=False)
    model = SpatialRegressor(**MODEL)
    model.fit(open_source(folder, part_rows=150), target="z", checkpoint=notes, resume=True)
    assert np.isfinite(model.log_evidence_)


def test_a_frame_of_geometries_with_a_target_by_name_says_how_it_is_fitted():
    gpd = pytest.importorskip("geopandas")
    x = np.linspace(0, 1, 20)
    frame = gpd.GeoDataFrame({"z": x}, geometry=gpd.points_from_xy(x, x**2))
    model = SpatialRegressor(kernel=Matern(0.3, nu=1.5), tune=None, noise_variance=0.1)
    with pytest.raises(ColumnError, match="a column of geometries"):
        model.fit(frame, target="z")
    assert len(model.fit(frame.drop(columns="z"), frame["z"]).predict(frame.drop(columns="z"))) == 20
