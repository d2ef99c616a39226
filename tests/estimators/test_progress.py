"""Progress: a line with the time left from the first second, on a terminal and nowhere else."""

from __future__ import annotations

import io
import logging
import time

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.estimators.fit_cost import fit_cost
from bochner.estimators.progress import duration, progress_logging
from bochner.families import FAMILIES
from bochner.kernels import Matern


class Terminal(io.StringIO):
    """Standard error that somebody watches."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch) -> Terminal:
    """In the body of a test: between its phases standard error is put back."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_a_long_fit_tells_the_time_left_at_once(monkeypatch):
    terminal = watched(monkeypatch)
    with progress_logging(0, 40.0, "31,000 rows"):
        time.sleep(0.1)
    assert "31,000 rows: reading the rows, 1 s so far, about 40 s left" in terminal.getvalue()


def test_the_line_is_wiped_at_the_end_even_after_an_error(monkeypatch):
    terminal = watched(monkeypatch)
    with pytest.raises(ZeroDivisionError), progress_logging(0, 40.0, "31,000 rows"):
        1 / 0  # noqa: B018
    assert terminal.getvalue().endswith(" \r")


def test_the_line_follows_the_stages(monkeypatch):
    terminal = watched(monkeypatch)
    with progress_logging(0, 40.0, "31,000 rows"):
        logging.getLogger("bochner").info("tuning: 3 evaluations")
        time.sleep(1.2)
    assert "learning the kernel" in terminal.getvalue()


def test_a_short_fit_says_nothing(monkeypatch):
    terminal = watched(monkeypatch)
    rng = np.random.default_rng(0)
    SpatialRegressor(Matern(), tune=None).fit(rng.uniform(size=(30, 2)), rng.normal(size=30))
    assert terminal.getvalue() == ""


def test_nothing_is_written_where_nobody_watches(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with progress_logging(0, 1000.0):
        pass
    assert stream.getvalue() == ""


def test_verbose_begins_with_an_estimate(monkeypatch):
    terminal = watched(monkeypatch)
    rng = np.random.default_rng(0)
    SpatialRegressor(Matern(), tune=None, verbose=1).fit(rng.uniform(size=(30, 2)), rng.normal(size=30))
    assert terminal.getvalue().startswith("bochner: 30 rows: about 1 s\n")


# of Student's errors a thousand rows, by the exact evidence, take longer than thirty thousand by neighbours
@pytest.mark.every_case
@pytest.mark.parametrize("family", [one for one in FAMILIES.values() if not one.reweighted], ids=lambda one: one.name)
def test_more_rows_take_longer(family):
    def told(n, **known):
        given = {"learns": True, **known}
        return fit_cost(n, 2, 1, family, **given)

    times = [told(n).seconds for n in (100, 1_000, 30_000, 300_000)]
    assert times == sorted(times) and times[0] < 4
    assert told(30_000, learns=False).seconds < told(30_000, searches=False).seconds < times[2]
    assert all(told(n, searches=False).seconds <= told(n).seconds for n in (100, 1_000, 30_000))
    held = [told(n).memory_bytes for n in (100, 2_800, 300_000)]
    assert held[0] < held[1] and held[2] > 300_000 * 1_000


def test_durations_in_words():
    assert [duration(s) for s in (0.2, 40, 150, 9000)] == ["1 s", "40 s", "2 min", "2.5 h"]
