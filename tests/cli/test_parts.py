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


def test_blocks_are_held_out_of_a_folder(ok: Ok, folder: Path) -> None:
    import json

    told = json.loads(ok("validate", folder, *GIVEN, "--blocks", 2.5, "--folds", 3, "--json").out)
    single, blocks = told["tests"]
    assert told["n_rows"] == 1_200 and blocks["held_out"].startswith("blocks of 2.5")
    assert 0.25 < single["scores"]["rmse"] <= blocks["scores"]["rmse"] * 1.05 < 1.0
    assert single["distance"] < blocks["distance"]


def test_messy_files_are_fitted_in_parts(ok: Ok, run: Ok, folder: Path) -> None:
    """Decimal commas, semicolons and the encoding of Windows; an entry amiss is named, or left out."""
    table = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    messy = Path("messy")
    messy.mkdir()
    text = table.rename(columns={"temp": "température"}).to_csv(index=False, sep=";", decimal=",")
    lines = text.splitlines()
    lines[700] = "warm;" + lines[700].partition(";")[2]
    (messy / "a.csv").write_bytes("\n".join(lines).encode("cp1252"))
    given = ("--target", "température", *GIVEN[2:])
    refused = run("fit", messy, *given, "-o", "m.bochner")
    assert refused.code == 2 and "line 701: x is 'warm'" in refused.err and "--drop-bad" in refused.err
    done = ok("fit", messy, *given, "--drop-bad", "-o", "m.bochner")
    assert "decimal commas are read in x, y, température" in done.err and "CP1252" in done.err
    assert "1 of 1,200 rows are left out as invalid" in done.err and "line 701" in done.err
