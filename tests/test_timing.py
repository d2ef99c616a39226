"""The table of `make bench`: a ratio is told by what stands beside it, and labels of the picture do not touch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="a source distribution has no benchmarks")


@pytest.mark.parametrize(
    ("beside", "goal", "told", "verdict"),
    [
        ("RIVAL", 1.5, "2.0 times as fast", "at least 1.5 times: met"),
        ("LIMIT", 3.0, "200 % of the limit's speed", "at least 300 %: **missed**"),
        ("MEMORY", 5.0, "1/2.0 of the memory", "at least 1/5: **missed**"),
        ("WANTED", None, "50 % of the time wanted", "at most 100 %: met"),
        ("OURSELVES", None, "0.50 times its time", ""),
    ],
)
def test_a_ratio_is_told_by_what_stands_beside(beside, goal, told, verdict):
    from benchmarks.timing import rows

    row = rows.Row("a case", "10 rows", 1.0, "another", 2.0, getattr(rows, beside), goal)
    assert (row.told, row.verdict) == (told, verdict)


def test_the_table_has_a_cell_for_every_column():
    from benchmarks.timing.plan import Plan
    from benchmarks.timing.rows import Row, Score
    from benchmarks.timing.table import HEAD, as_markdown, cells

    row = Row("a case", "10 rows", 0.5, "another", 1_234.0, score=Score.of(np.ones(4), np.zeros(4)), clock="clock")
    assert len(cells(row)) == len(HEAD)
    assert "| 0.5 s | another | 1,234 s |" in as_markdown(Plan(quick=True), [row], [])


def test_slopes_are_those_of_the_largest_sizes():
    from benchmarks.timing.growth import Curve, as_lines

    curve = Curve("a task", "rows", [10, 20, 40], [1.0, 1.1, 4.4], 2)
    assert curve.slope == pytest.approx(2.0)
    assert as_lines([curve])[-1].endswith("| 2.00 | 2 |")


def test_labels_of_sizes_are_short_and_apart():
    from benchmarks.timing.growth import decimals, readable, short

    assert [short(n) for n in (250, 1_000, 12_500, 2e6)] == ["250", "1k", "12.5k", "2M"]
    sizes = [1_000 * 2**k for k in range(12)]
    assert len(readable(sizes)) <= 6 and readable(sizes)[0] == 1_000
    assert decimals(0.011, 0.06) == [0.02, 0.05]
    assert decimals(0.02, 30.0) == [0.1, 1.0, 10.0]


def test_rows_of_a_device_stand_beside_its_products_or_the_processor():
    spec = importlib.util.spec_from_file_location("gpu", BENCHMARKS / "gpu.py")
    assert spec is not None and spec.loader is not None
    gpu = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gpu)
    found = {"float64 s": 6.0, "float64 bare product s": 6.3, "fast s": 2.2, "fast bare product s": 1.1}
    dense = gpu.as_rows("dense", {"rows": 10, "frequencies": 4, "float64 s on all cores, from a fiftieth": 60, **found})
    assert [row["beside"] for row in dense] == ["limit", "limit", "processor"]
    (lattice,) = gpu.as_rows("lattice", {"columns": 9, "assembled, factorised, evidence s": 2, "bare Cholesky s": 1})
    assert (lattice["ours"], lattice["theirs"]) == (2, 1)
    parts = {
        "neighbours": {"likelihood with gradient, cuda ms": 5.0, "likelihood with gradient, cpu ms": 4.0},
        "predict": {"9 places, 4 columns, cuda s": 1.0, "9 places, 4 columns, cpu s (from a twentieth)": 40.0},
        "kriging": {"image, 9 rows, cuda s": 4.0, "image, 9 rows, cpu s": 6.0, "image, solver": "cg"},
        "agreement": {"quasi, mean": 1e-9},
    }
    rows = [row for part, numbers in parts.items() for row in gpu.as_rows(part, numbers)]
    assert [(row["case"], row["size"], row["ours"], row["theirs"]) for row in rows] == [
        ("likelihood with gradient on a GPU", "", 5e-3, 4e-3),
        ("mean and sd of dense waves on a GPU", "9 places, 4 columns", 1.0, 40.0),
        ("exact kriging of an image on a GPU", "9 rows", 4.0, 6.0),
    ]
