"""Commands on data that are read in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bochner import load
from bochner.sources import limits

Ok = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of 1,200 rows, of which the sample holds 300."""
    monkeypatch.setattr(limits, "HELD_ROWS", 300)
    rng = np.random.default_rng(0)
    where = tmp_path / "rows"
    where.mkdir()
    for i in range(3):
        table = pd.DataFrame(rng.uniform(0, 10, size=(400, 2)), columns=["x", "y"])
        table["temp"] = np.sin(table.x) + np.cos(table.y / 2) + 0.3 * rng.normal(size=400)
        table.to_parquet(where / f"{i}.parquet", index=False)
    return where


GIVEN = ("--target", "temp", "--kernel", "matern32", "--features", "lattice", "--n-frequencies", 80)


def test_a_folder_is_fitted_mapped_and_told(ok: Ok, folder: Path) -> None:
    done = ok("fit", folder, *GIVEN, "-o", "m.bochner")
    assert "1,200 rows in 3 parts: 2 passes" in done.err
    assert "300 of 1,200 rows" in done.out or "30" in done.out
    assert not list(Path().glob(".*.checkpoint"))
    ok("map", "m.bochner", "--resolution", 0.5, "--resume", "-o", "m.tif")
    assert Path("m.tif").exists()


def test_sites_are_merged(ok: Ok, run: Ok, folder: Path) -> None:
    ok("fit", folder, *GIVEN, "-o", "all.bochner")
    for name in ("0", "1"):
        ok("fit", folder / f"{name}.parquet", "--target", "temp", "--like", "all.bochner", "-o", f"{name}.bochner")
    ok("merge", "0.bochner", "1.bochner", "-o", "both.bochner")
    both, one = load("both.bochner"), load("0.bochner")
    at = pd.DataFrame({"x": [5.0], "y": [5.0]})
    assert both.predict(at, return_std=True)[1] < one.predict(at, return_std=True)[1]
    refused = run("merge", "0.bochner", "-o", "none.bochner")
    assert refused.code == 2 and "at least two" in refused.err


def test_mistakes_are_told_before_the_work(run: Ok, folder: Path) -> None:
    done = run("fit", folder, "--target", "tmp", "-o", "m.bochner")
    assert done.code == 2 and "temp" in done.err
    done = run("fit", folder, *GIVEN, "--error-sd", "x", "-o", "m.bochner")
    assert done.code == 2 and "read in parts" in done.err
    done = run("fit", folder, "--target", "temp", "--memory-limit", "1MB", "--n-frequencies", 900, "-o", "m.bochner")
    assert done.code == 2 and "memory_limit" in done.err
