"""Rows sorted by place: a rough field is answered from its nearest rows, as kriging would."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor, load
from bochner.exceptions import ApproximationWarning, InputError, PartError
from bochner.kernels import Matern
from bochner.sources import ArraySource, limits, open_source
from bochner.sources.parquet_source import ParquetPart
from bochner.sources.row_store import Cells, StoreWriter

KERNEL = Matern(nu=0.5, length_scale=0.05)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """2,000 rows of an exponential field with little noise: x, y, response."""
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(2_000, 2))
    field = np.linalg.cholesky(KERNEL.covariance(places, places) + 1e-9 * np.eye(len(places))) @ rng.normal(size=2_000)
    return np.column_stack([places, field + 2 + 0.2 * rng.normal(size=2_000)])


def source(rows: np.ndarray) -> ArraySource:
    return ArraySource.of_matrix(rows[:, :2], rows[:, 2], part_rows=900)


def model() -> SpatialRegressor:
    # few waves: the far field alone
    return SpatialRegressor(KERNEL, noise_variance=0.04, tune=None, memory_limit="60MB")


@pytest.mark.filterwarnings("ignore::bochner.exceptions.ApproximationWarning")
def test_it_predicts_as_exact_kriging(rows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STORE_CELL_ROWS", 300)
    stored = model().fit(source(rows), target="y", store=tmp_path / "store")
    assert "near rows answer for it" in str(stored.choices_["n_frequencies"])
    assert not any("too few waves" in finding for finding in stored.check())
    exact = SpatialRegressor(KERNEL, noise_variance=0.04, tune=None, features="exact").fit(rows[:, :2], rows[:, 2])
    at = np.random.default_rng(1).uniform(size=(300, 2))
    mean, sd = stored.predict(at, return_std=True)
    known, true_sd = exact.predict(at, return_std=True)
    # of the sd, which the error of a neighbourhood is a part of
    assert np.sqrt(np.mean((mean - known) ** 2)) < 0.15 * true_sd.mean()
    np.testing.assert_allclose(sd, true_sd, rtol=0.05)
    one = stored.predict(at[:1], return_std=True)
    np.testing.assert_allclose([one[0][0], one[1][0]], [mean[0], sd[0]], rtol=1e-9)  # whatever else is asked
    stored.save(tmp_path / "m.bochner")
    np.testing.assert_array_equal(load(tmp_path / "m.bochner").predict(at), stored.predict(at))
    shutil.move(tmp_path / "store", tmp_path / "elsewhere")
    from bochner.sources import row_store

    row_store.forget()
    with pytest.raises(InputError, match="which is not there"):
        load(tmp_path / "m.bochner").predict(at)


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample holds 1,000 rows."""
    monkeypatch.setattr(limits, "HELD_ROWS", 1_000)


def test_without_a_store_it_is_told(rows: np.ndarray) -> None:
    with pytest.warns(ApproximationWarning, match="store="):
        model().fit(source(rows), target="y")


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_every_row_is_found_in_the_box_it_lies_in(dim: int, tmp_path: Path) -> None:
    """Cells follow the Morton curve, and each is a box that holds its rows."""
    rng = np.random.default_rng(dim)
    places = rng.uniform(size=(3_000, dim)) ** 3  # crowded in a corner
    cells = Cells.over(places[::3], (np.zeros(dim), np.ones(dim)), 20)
    assert np.all(np.diff(cells.first.astype(float)) > 0)
    low, high = cells.boxes
    own = cells.of(cells.keys(places))
    assert np.all((places >= low[own] - 1e-12) & (places <= high[own] + 1e-12))
    writer = StoreWriter(str(tmp_path / "store"), cells, ("value",))
    assert writer.begin() == 0
    for number, part in enumerate(np.array_split(np.arange(3_000), 4)):
        writer.put(number, places[part], [part.astype(float)])
    store = writer.close()
    assert store.counts.sum() == 3_000
    found = store.around(np.full(dim, 0.1), np.full(dim, 0.4))
    inside = np.flatnonzero(np.all((places >= 0.1) & (places <= 0.4), axis=1))
    np.testing.assert_array_equal(np.sort(found[:, -1]), inside)


KILLED = """
import os, signal, sys
import numpy as np
from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.sources import limits, open_source
from bochner.sources.parquet_source import ParquetPart
limits.HELD_ROWS = 1_000
load, calls = ParquetPart.load, []
def counted(self, names):
    calls.append(1)
    if len(calls) == 19:  # of 3 x 8: in the pass that sorts
        os.kill(os.getpid(), signal.SIGKILL)
    return load(self, names)
ParquetPart.load = counted
model = SpatialRegressor(Matern(nu=0.5, length_scale=0.05), noise_variance=0.04, tune=None, memory_limit="60MB",
                         coords=["x0", "x1"])
model.fit(open_source(sys.argv[1], part_rows=250), target="y", store=sys.argv[2], checkpoint=sys.argv[3])
"""


@pytest.mark.filterwarnings("ignore::bochner.exceptions.ApproximationWarning")
@pytest.mark.slow
def test_sorting_goes_on_where_it_was_killed(rows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the pass over the rows, by SIGKILL; then while their parts are merged; then after the store was complete."""
    table = pd.DataFrame(rows, columns=["x0", "x1", "y"])
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    data, store, notes = tmp_path / "rows.parquet", tmp_path / "store", tmp_path / "notes"
    done = subprocess.run([sys.executable, "-c", KILLED, data, store, notes], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    loads: list[str] = []
    load = ParquetPart.load
    monkeypatch.setattr(ParquetPart, "load", lambda self, names: loads.append(self.where) or load(self, names))

    def fit(**given: object) -> SpatialRegressor:
        return model().set_params(coords=["x0", "x1"]).fit(open_source(data, part_rows=250), target="y", **given)

    with monkeypatch.context() as broken:
        broken.setattr(StoreWriter, "_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fit(store=store, checkpoint=notes, resume=True)
    assert len(loads) <= 8 - 2 + 1  # two parts were sorted, one may be read again
    loads.clear()
    stored = fit(store=store, checkpoint=notes, resume=True)
    assert not loads and not notes.exists() and not (store / "parts").exists()
    whole = fit(store=tmp_path / "other")
    at = np.random.default_rng(1).uniform(size=(50, 2))
    for a, b in zip(stored.predict(at, return_std=True), whole.predict(at, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)


def test_few_rows_need_no_store(rows: np.ndarray, tmp_path: Path) -> None:
    found = model().fit(source(rows[:200]), target="y", store=tmp_path / "store")
    assert "none was made" in str(found.choices_["store"]) and not (tmp_path / "store").exists()


def test_another_family_is_refused_before_the_work(rows: np.ndarray, tmp_path: Path) -> None:
    counts = np.abs(np.round(rows))
    with pytest.raises(PartError, match="fit the rows of a smaller region in memory"):
        SpatialRegressor(family="poisson").fit(source(counts), target="y", store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
