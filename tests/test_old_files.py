"""Model files of every format, as it was released: they load, and predict what they predicted then."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialClassifier, archive, load

FORMATS = range(1, archive.FORMAT + 1)


def data_folder(number: int) -> Path:
    """Where the files of a format are kept."""
    return Path(__file__).parent / "data" / f"format{number}"


def expected(number: int) -> dict[str, Any]:
    """What the files of a format predicted when they were written."""
    told = data_folder(number) / "predictions.json"
    return dict(json.loads(told.read_text(encoding="utf-8"))) if told.exists() else {}


EXPECTED = {(number, name): told for number in FORMATS for name, told in expected(number).items()}
every_file = pytest.mark.parametrize(("number", "name"), EXPECTED)
# Products by a grid of the torus or a non-uniform FFT: they agree to the precision that is asked of them.
ITERATIVE = {"conjugate_gradients": 1e-8}


def table(new: Any, columns: Any) -> Any:
    """New rows of a model, as the table that it was fitted to."""
    return pytest.importorskip("pandas").DataFrame(new, columns=columns) if columns else np.array(new, dtype=float)


def rows(number: int, name: str) -> Any:
    """New rows of a kept file."""
    told = EXPECTED[number, name]
    if name == "areas":
        geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
        return geopandas.GeoDataFrame(geometry=[shapely.Point(*place) for place in told["new"]], crs="EPSG:32736")
    return table(told["new"], told["columns"])


def answers(model: Any, new: Any) -> tuple[Any, Any]:
    """Mean and sd; of a classifier, the probabilities of the first two classes."""
    if isinstance(model, SpatialClassifier):
        return tuple(model.predict_proba(new).T[:2])
    predicted = model.predict(new, return_std=True)
    return predicted if isinstance(predicted, tuple) else (predicted["mean"], predicted["sd"])


@every_file
def test_old_files_predict_as_they_did(number, name):
    told, near = EXPECTED[number, name], ITERATIVE.get(name, 1e-12)
    mean, sd = answers(load(data_folder(number) / f"{name}.bochner"), rows(number, name))
    assert_allclose(mean, told["mean"], rtol=near, atol=near)
    assert_allclose(sd, told["sd"], rtol=near, atol=near)


@every_file
def test_old_files_saved_again_predict_the_same(number, name, tmp_path):
    """In the present format."""
    model, new = load(data_folder(number) / f"{name}.bochner"), rows(number, name)
    model.save(tmp_path / "again")
    for again, first in zip(answers(load(tmp_path / "again"), new), answers(model, new), strict=True):
        assert_allclose(again, first, rtol=1e-14)


@pytest.mark.parametrize("number", FORMATS)
def test_every_format_has_files_that_are_kept(number):
    """A new format is not released before its files are: see `write_old_files`."""
    assert {path.stem for path in data_folder(number).glob("*.bochner")} == set(expected(number)) != set()
    for path in data_folder(number).glob("*.bochner"):
        with zipfile.ZipFile(path) as file:
            assert json.loads(file.read("manifest.json"))["format"] == number
