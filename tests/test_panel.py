"""The panel of data sets: runs are recorded and go on, and a version that is worse is reported as such."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="a source distribution has no benchmarks")


@pytest.fixture
def panel(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import panel

    yield panel
    for name in ("panel", "panel_sets"):
        sys.modules.pop(name)


def runs(scores, cover=0.94, cpu=1.0, name="a", **other):
    record = {"name": name, "kind": "small", "family": "gaussian", "n": 600, "error": None, "data": 1.0}
    record |= {"cover": cover, "cover_new": 0.95, "cpu": cpu, "mb": 10.0, **other}
    return {(name, i): {**record, "seed": i, "surface": s, "score": 2 * s} for i, s in enumerate(scores)}


BEFORE = np.array([1.0, 2.0, 0.5, 1.5])


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (runs(BEFORE), "no worse"),
        (runs(BEFORE * [1.004, 0.99, 1.01, 1.0], cover=0.968, cpu=1.4), "no worse"),
        (runs(BEFORE * [1.06, 1.05, 1.06, 1.05]), "worse score"),
        (runs(BEFORE * [1.4, 0.7, 1.3, 0.8]), "no worse"),
        (runs(BEFORE, cover=0.92), "worse coverage"),
        (runs(BEFORE, cpu=1.6), "slower: a"),
    ],
)
def test_a_kind_is_worse_by_its_score_coverage_or_seconds(panel, after, verdict, capsys):
    status = panel.compare(runs(BEFORE), after)
    line = capsys.readouterr().out.splitlines()[1]
    assert line.endswith(f"  {verdict}")
    assert status == (verdict != "no worse")


def test_few_rows_may_take_as_long_as_their_limit(panel):
    few, other = {"n": 400}, {"n": 400, "family": "poisson"}
    for options, cpu, too_slow in ((few, 2.9, False), (few, 3.1, True), (other, 5.9, False), (other, 6.1, True)):
        before, after = runs([1.0], **options), runs([1.0], cpu=cpu, **options)
        assert panel.slower([(before["a", 0], after["a", 0])]) == too_slow


def test_the_whole_may_not_be_worse_and_a_new_failure_is_reported(panel, capsys):
    slightly = [runs(BEFORE * 1.01, name=name) for name in "ab"]
    both = [runs(BEFORE, name=name) for name in "ab"]
    assert panel.compare(both[0] | both[1], slightly[0] | slightly[1]) == 1
    assert "overall ratio 1.0100: worse" in capsys.readouterr().out
    failed = runs(BEFORE)
    failed["a", 0]["error"] = "ValueError"
    assert panel.compare(runs(BEFORE), failed) == 1
    assert "failed now, and not before: a" in capsys.readouterr().out


def test_runs_of_other_data_are_not_compared(panel):
    with pytest.raises(SystemExit, match="share no run of the same data"):
        panel.compare(runs(BEFORE), runs(BEFORE, data=1.1))


def test_a_run_is_saved_and_not_repeated(panel, monkeypatch, tmp_path, capsys):
    file = tmp_path / "runs.jsonl"
    options = {"only": "isotropic 30 weak", "quick": True, "seeds": "work", "jobs": 1, "data": None, "src": None}
    records = panel.run(Namespace(save=file, **options))
    assert list(records) == [("isotropic 30 weak", 0), ("isotropic 30 weak", 1)]
    assert all(r["error"] is None and 0 < r["surface"] < r["score"] * 2 for r in records.values())
    assert all(r["cpu"] > 0 and 0 <= r["cover"] <= 1 for r in records.values())
    written = file.read_text()
    assert [json.loads(line)["seed"] for line in written.splitlines()] == [0, 1]
    monkeypatch.setattr(panel, "process", None)  # nothing is left to run
    assert panel.run(Namespace(save=file, **options)) == records
    assert file.read_text() == written


def test_names_are_unique_and_a_seed_gives_the_same_rows(panel):
    sets = {s.name: s for s in panel.SETS}
    assert len(sets) == len(panel.SETS)
    for s in (s for s in sets.values() if s.n <= 60 and s.task is None):
        drawn, again = s.draw(1), s.draw(1)
        assert np.array_equal(drawn.y, again.y) and len(drawn.X) == len(drawn.y) == s.n
        assert len(drawn.new_X) == len(drawn.new_y) and np.isfinite(drawn.y).all()


@pytest.mark.parametrize("nu", [0.5, 1.0, 1.5, np.inf])
def test_waves_have_the_covariance_of_the_exact_field(panel, nu):
    from panel_sets import N_WAVES, frequencies, matern

    lag = np.array([[0.3, 0.1], [0.0, 1.0], [1.5, 1.0]])
    omega = frequencies(2, nu, np.random.default_rng(0))
    # a mean of N_WAVES cosines has standard error at most sqrt(1 / N_WAVES)
    found = np.cos(lag @ omega.T).mean(axis=1)
    assert np.allclose(found, matern(np.linalg.norm(lag, axis=1), nu), atol=4 / np.sqrt(N_WAVES))
