"""Model files of format 1, as the first version wrote them: they load, and predict what they predicted then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialClassifier, load

FOLDER = Path(__file__).parent / "data" / "format1"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
every_file = pytest.mark.parametrize("name", EXPECTED)


def rows(name: str) -> Any:
    """New rows of a model, as the table that it was fitted to."""
    new, columns = EXPECTED[name]["new"], EXPECTED[name]["columns"]
    if name == "areas":
        geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
        return geopandas.GeoDataFrame(geometry=[shapely.Point(*place) for place in new], crs="EPSG:32736")
    if columns:
        return pytest.importorskip("pandas").DataFrame(new, columns=columns)
    return np.array(new)


def answers(model: Any, new: Any) -> tuple[Any, Any]:
    """Mean and sd; of a classifier, the probabilities of the first two classes."""
    if isinstance(model, SpatialClassifier):
        return tuple(model.predict_proba(new).T[:2])
    predicted = model.predict(new, return_std=True)
    return predicted if isinstance(predicted, tuple) else (predicted["mean"], predicted["sd"])


@every_file
def test_old_files_predict_as_they_did(name):
    mean, sd = answers(load(FOLDER / f"{name}.bochner"), rows(name))
    # products with the covariance are sums over waves, by whichever library is installed: good to 1e-9 each
    close = 1e-8 if name == "conjugate_gradients" else 1e-12
    assert_allclose(mean, EXPECTED[name]["mean"], rtol=close, atol=close)
    assert_allclose(sd, EXPECTED[name]["sd"], rtol=1e-12, atol=1e-12)


@every_file
def test_old_files_saved_again_predict_the_same(name, tmp_path):
    """In the present format."""
    model, new = load(FOLDER / f"{name}.bochner"), rows(name)
    model.save(tmp_path / "again")
    for again, first in zip(answers(load(tmp_path / "again"), new), answers(model, new), strict=True):
        assert_allclose(again, first, rtol=1e-14)


def test_every_old_file_is_here():
    assert {path.stem for path in FOLDER.glob("*.bochner")} == set(EXPECTED)
