"""A messy table on the command line: every bad row in one message, by its line; --drop-bad leaves them out."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import load
from bochner.cli import main


def table(n: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-6, -4, n), rng.uniform(7, 9, n)
    trials = rng.integers(20, 60, n)
    positive = rng.binomial(trials, 1 / (1 + np.exp(-np.sin(3 * lon) - lat + 8)))
    rows = [f"{a:.4f};{b:.4f};{t};{p}" for a, b, t, p in zip(lon, lat, trials, positive, strict=True)]
    return ["lon;lat;examined;positive", *(row.replace(".", ",") for row in rows)]


@pytest.fixture
def messy(tmp_path):
    lines = table()
    lines[4] = "-5,1;8,0;50;many"
    lines[9] = "-5,2;880;50;12"
    lines[20] = "-5,3;8,3;30;44"
    lines[30] = "-5,3;N/A;30;4"
    (tmp_path / "villages.csv").write_text("\n".join(lines), encoding="utf-16")
    return tmp_path


FIT = ("--target", "positive", "--trials", "examined", "--family", "binomial", "--kernel", "matern32")


def run(code: int, *arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert (ended.value.code or 0) == code


def test_bad_rows_are_refused_in_one_message(messy, capsys):
    run(2, "fit", messy / "villages.csv", *FIT, "-o", messy / "m.bochner")
    told = capsys.readouterr().err
    assert "3 of 60 rows amiss" in told and "--drop-bad" in told
    assert "line 5: positive is 'many'" in told
    assert "line 10: no place on Earth: -5.2, 880" in told
    assert "line 21: 44 in 'positive', of 30 in 'examined'" in told


def test_bad_rows_are_left_out_and_told_by_the_model(messy, capsys):
    run(0, "fit", messy / "villages.csv", *FIT, "--drop-bad", "-o", messy / "m.bochner")
    told = capsys.readouterr()
    assert "line 5" in told.err and "1 in lat" in told.err
    rows = load(messy / "m.bochner").choices_["rows left out"]
    assert rows.value == 56 and "line 21" in rows
    run(0, "report", messy / "m.bochner", "-o", messy / "r.html")
    assert "line 21" in (messy / "r.html").read_text()
