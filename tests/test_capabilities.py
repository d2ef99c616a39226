"""Checks of capabilities: a few of them run, a failure has its reason, and a run knows what was lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "capabilities.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no benchmarks")


@pytest.mark.parametrize("name", ["noise 0 interpolates", "groups are held out together", "own kernel by its name"])
def test_a_check_passes(name, tmp_path, monkeypatch):
    from benchmarks.capability import given, interfaces  # noqa: F401 - they register their checks
    from benchmarks.capability.registry import CHECKS, PASSED, outcome_of

    monkeypatch.chdir(tmp_path)
    found = outcome_of(CHECKS[name])
    assert found.outcome == PASSED, found.reason


def test_a_run_is_recorded_and_compared(tmp_path):
    base = tmp_path / "base.json"
    kept = {"outcome": "passed", "reason": "", "seconds": 1.0, "numbers": {}}
    base.write_text(json.dumps({"tune: None keeps values": {**kept, "numbers": {"bytes": 5.0}}, "tune: gone": kept}))
    given = ("--only", "tune: None", "tune: gone", "--compare", base, "--record", tmp_path / "now.json")
    done = subprocess.run([sys.executable, SCRIPT, *map(str, given)], capture_output=True, text=True)
    assert done.returncode == 1 and "1 of 1 checks passed" in done.stdout, done.stdout + done.stderr
    assert "2 capabilities lost" in done.stdout and "bytes was 5 and is not measured" in done.stdout
    assert json.loads((tmp_path / "now.json").read_text())["tune: None keeps values"]["outcome"] == "passed"


def test_what_passed_or_was_small_is_lost():
    from benchmarks.capability.registry import FAILED, PASSED, Outcome, losses

    before = {
        "kept": Outcome(PASSED, numbers={"s": 1.0}),
        "slower": Outcome(PASSED, numbers={"s": 1.0}),
        "broken": Outcome(PASSED),
        "known": Outcome(FAILED, "as ever"),
    }
    now = {
        "kept": Outcome(PASSED, numbers={"s": 1.9}),
        "slower": Outcome(PASSED, numbers={"s": 2.1}),
        "broken": Outcome(FAILED, "ValueError: no"),
        "known": Outcome(FAILED, "as ever"),
        "new": Outcome(FAILED, "not yet"),
    }
    assert losses(now, before, []) == ["slower: s was 1 and is 2.1", "broken: passed, and fails now: ValueError: no"]
    assert losses(now, before, ["slow"]) == ["slower: s was 1 and is 2.1"]
    assert losses(before, now, []) == []


def test_a_check_that_raises_fails_with_its_reason():
    from benchmarks.capability.registry import FAILED, Check, outcome_of

    def ask() -> None:
        raise ValueError("one is not\nmore than two")

    found = outcome_of(Check("a check", ask))
    assert (found.outcome, found.reason) == (FAILED, "ValueError: one is not more than two")
