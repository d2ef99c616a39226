"""What commands say while they work, where nobody watches a terminal."""

from __future__ import annotations

import time

import pytest

from bochner.cli._terminal import progress, status
from bochner.estimators import limits
from bochner.estimators.progress import SPOKEN


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(limits, "SHOWN_FROM", 0.1)


def test_long_work_says_now_and_then_that_it_goes_on(soon, capsys):
    with status("learning"):
        time.sleep(1.2)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 5  # after 0.1, 0.2, 0.4, 0.8 s
    assert lines[0] == "bochner: learning, 1 s so far"


def test_a_share_of_the_work_is_told(soon, capsys):
    with progress("mapping") as update:
        update(1, 4)
        time.sleep(0.5)
    assert "bochner: mapping, 25%, 1 s so far" in capsys.readouterr().err


def test_short_work_and_work_for_a_program_say_nothing(monkeypatch, capsys):
    with status("learning"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(limits, "SHOWN_FROM", 0.05)
    monkeypatch.setenv(SPOKEN, "lines")
    with status("learning"):
        time.sleep(0.3)
    assert "so far" not in capsys.readouterr().err
