"""A sample of the cases of ``make fuzz``: every door answers, or raises an error that is meant."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.runner import GOOD, cases_of, run

N_CASES = 150


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of time and memory for a process there")
def test_every_door_answers_or_says_why_not():
    for name in ("geopandas", "rasterio", "xarray", "h5netcdf", "openpyxl"):
        pytest.importorskip(name)
    found = run(cases_of(N_CASES), seed=7)
    assert len(found) >= N_CASES
    bad = [case for case in found if case.outcome not in GOOD]
    assert not bad, bad
