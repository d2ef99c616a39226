"""Map formats by the ending of a file: what is refused. `tests/test_recipes.py` adds one and writes a map in it."""

from __future__ import annotations

import pytest

from bochner.exceptions import InputError
from bochner.maps.files import writers


def test_a_format_must_have_an_ending():
    with pytest.raises(InputError, match="the ending of a file with its point"):
        writers.register_writer(writers.WRITERS[".tif"], "tif")


def test_other_endings_are_refused_with_those_that_are_known(tmp_path):
    with pytest.raises(InputError, match=r"needed is one of .*\.tif"):
        writers.writer_for(tmp_path / "map.png")
