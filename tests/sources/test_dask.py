"""Dask: the same model on any number of workers, and when one of them dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.maps import make_grid, map_to_file
from bochner.sources import ArraySource, Part, open_source

from .conftest import FIXED, write_parts

distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")


def cluster(n: int) -> Any:
    return distributed.LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None)


def predicted(model: SpatialRegressor, places: pd.DataFrame) -> np.ndarray:
    return np.concatenate([*model.predict(places, return_std=True), [model.log_evidence_]])


@pytest.mark.parametrize(
    "n_workers", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_the_model_does_not_depend_on_the_workers(
    n_workers: int, table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path
) -> None:
    """A data frame, files, Newton steps; with other numbers of workers dense moments, too."""
    given = {**FIXED, "coords": ["x", "y"]}
    at = places[["x", "y"]]
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"family": "poisson", "noise_variance": 0.05},
        *([] if n_workers == 2 else [{"features": "orthogonal", "dtype": "float64"}]),
    )
    folder = write_parts(table, tmp_path / "rows")
    with cluster(n_workers) as workers, distributed.Client(workers) as client:
        for kind in kinds:
            target = "count" if "family" in kind else "z"
            source = ArraySource({n: table[n].to_numpy() for n in table})
            here = SpatialRegressor(**{**given, **kind}).fit(source, target=target)
            files = SpatialRegressor(**{**given, **kind}).fit(
                open_source(str(folder), part_rows=150), target=target, dask=client
            )
            assert_allclose(predicted(files, at), predicted(here, at), rtol=1e-9)
        frame = frames.from_pandas(table, npartitions=5)
        model = SpatialRegressor(**given).fit(frame, target="z")  # the client in use
        whole = SpatialRegressor(**given).fit(table[["x", "y"]], table["z"])
        assert_allclose(predicted(model, at), predicted(whole, at), rtol=1e-9)


@pytest.mark.slow
def test_a_killed_worker_costs_a_retry(table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path) -> None:
    """A worker that reads a certain part dies by SIGKILL, once."""
    mark = tmp_path / "died"

    class Deadly(Part):
        def __init__(self, part: Part, deadly: bool) -> None:
            self.part, self.deadly, self.where, self.n_rows = part, deadly, part.where, part.n_rows

        def load(self, names: Any) -> Any:
            if self.deadly and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return self.part.load(names)

    source = ArraySource({n: table[n].to_numpy() for n in table}, part_rows=250)
    given = {**FIXED, "coords": ["x", "y"]}
    whole = SpatialRegressor(**given).fit(source, target="z")

    class Dangerous(ArraySource):
        @property
        def parts(self) -> list[Part]:
            return [Deadly(part, i == 4) for i, part in enumerate(super().parts)]

    source = Dangerous({n: table[n].to_numpy() for n in table}, part_rows=250)
    with cluster(2) as workers, distributed.Client(workers) as client:
        model = SpatialRegressor(**given).fit(source, target="z", dask=client)
    assert mark.exists()
    at = places[["x", "y"]]
    assert_allclose(predicted(model, at), predicted(whole, at), rtol=1e-9)


@pytest.mark.slow
def test_a_map_on_workers_has_the_same_pixels(table: pd.DataFrame, tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    model = SpatialRegressor(**FIXED).fit(table[["x", "y"]].to_numpy(), table["z"])
    grid = make_grid(model, 0.01, bounds=(0, 0, 1, 1))
    map_to_file(model, grid, tmp_path / "here.tif", memory_limit="2MB")
    with cluster(2) as workers, distributed.Client(workers) as client:
        map_to_file(model, grid, tmp_path / "there.tif", memory_limit="2MB", dask=client)
    with rasterio.open(tmp_path / "here.tif") as a, rasterio.open(tmp_path / "there.tif") as b:
        assert_allclose(a.read(), b.read(), rtol=1e-6)


def test_a_bad_file_on_a_worker_is_named_here(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    table.iloc[:100].assign(z=np.nan).to_parquet(folder / "part-4.parquet")
    with cluster(1) as workers, distributed.Client(workers) as client:
        with pytest.raises(InputError, match=r"part-4\.parquet.* has a missing value"):
            SpatialRegressor(**FIXED, coords=["x", "y"]).fit(str(folder), target="z", dask=client)


def test_no_scheduler_is_told(table: pd.DataFrame) -> None:
    source = ArraySource({n: table[n].to_numpy() for n in table})
    with pytest.raises(InputError, match="'local', the address of a scheduler"):
        SpatialRegressor(**FIXED, coords=["x", "y"]).fit(source, target="z", dask=3)
