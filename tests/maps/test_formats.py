"""A map format of one's own: one file outside the package and one registration."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.maps import make_grid, map_to_file, predict_on_grid
from bochner.maps.files import writers
from tests.maps import surveys

TOY = '''
"""Maps as a line of JSON and an array."""

import json

import numpy as np

from bochner.maps.files.base import Writer


class NumbersWriter(Writer):
    """All bands in memory, then one file."""

    def __init__(self, path, grid, bands, dtype):
        self.path, self.names = path, [band.name for band in bands]
        self.values = np.full((len(bands), *grid.shape), np.nan, dtype)

    def write(self, window, values):
        row0, row1, col0, col1 = window
        self.values[:, row0:row1, col0:col1] = values

    def close(self, attributes):
        with open(self.path, "wb") as file:
            file.write(json.dumps({"bands": self.names, **attributes}).encode() + bytes([10]))
            np.save(file, self.values)
'''


@pytest.fixture
def numbers(tmp_path, monkeypatch):
    """The writer, registered for this test alone."""
    (tmp_path / "toy_numbers.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(writers, "WRITERS", dict(writers.WRITERS))
    import toy_numbers

    writers.register(toy_numbers.NumbersWriter, ".numbers")
    yield
    sys.modules.pop("toy_numbers", None)


def test_a_registered_writer_is_found_by_its_ending(numbers, tmp_path):
    model = surveys.gaussian()
    grid = make_grid(model)
    report = map_to_file(model, grid, tmp_path / "map.NUMBERS", dtype="float64", exceed=0.5)
    with open(report.path, "rb") as file:
        told, found = json.loads(file.readline()), np.load(file)
    assert told["bands"] == ["mean", "sd", "exceedance_0.5"] and told["family"] == "gaussian"
    for (row0, row1, col0, col1), values in predict_on_grid(model, grid, exceed=0.5):
        assert_allclose(found[:, row0:row1, col0:col1], values)


def test_a_format_must_have_an_ending(numbers):
    with pytest.raises(InputError, match="the ending of a file with its point"):
        writers.register(writers.WRITERS[".numbers"], "numbers")


def test_other_endings_are_refused_with_those_that_are_known(numbers, tmp_path):
    with pytest.raises(InputError, match=r"needed is one of .*\.numbers"):
        writers.writer_for(tmp_path / "map.png")
