"""Archive: classes that change, are renamed or come from the future; arrays that are stored once."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bochner import archive
from bochner.archive import registry
from bochner.exceptions import ArchiveError


@dataclass(frozen=True)
class Place:
    """As it was written first."""

    name: str
    x: float
    note: str = ""


@dataclass(frozen=True)
class Road:
    """Holds another class, and arrays."""

    start: Place
    coords: np.ndarray
    same: np.ndarray
    _cache: Any = None


def changed(name: str, schema: int = 2, *, with_migration: bool = True) -> type:
    """The class Place after `x` became `position`, a pair."""

    @dataclass(frozen=True)
    class Later:
        SCHEMA: ClassVar[int] = schema
        name: str
        position: tuple[float, float]

        if with_migration:

            @staticmethod
            def migrate(fields: dict[str, Any], version: int) -> dict[str, Any]:
                assert version == 1
                return {"name": fields["name"], "position": (fields["x"], 0.0)}

    Later.__name__ = name
    return Later


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Classes of these tests are known to them alone."""
    monkeypatch.setattr(registry, "_CLASSES", {})
    monkeypatch.setattr(registry, "_RENAMED", {})
    archive.register(Place, Road)


@pytest.fixture
def file(tmp_path):
    """A file with a place."""
    archive.write(tmp_path / "file", "test", {"place": Place("here", 2.0)})
    return tmp_path / "file"


def manifest_of(path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as opened:
        return dict(json.loads(opened.read("manifest.json")))


def rewritten(path, change) -> None:
    """Change the manifest of a file."""
    with zipfile.ZipFile(path) as opened:
        parts = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(parts["manifest.json"])
    change(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as opened:
        for name, data in parts.items():
            opened.writestr(name, data)


def put_in_place_of(old: type, new: type) -> None:
    registry._CLASSES.pop(old.__name__)
    archive.register(new)


def test_a_file_tells_the_schema_of_every_class(file):
    assert manifest_of(file)["schemas"] == {"Place": 1}
    assert manifest_of(file)["format"] == archive.FORMAT == 2
    assert archive.read(file, "test")["place"] == Place("here", 2.0)


def test_an_older_schema_is_migrated(file):
    put_in_place_of(Place, changed("Place"))
    place = archive.read(file, "test")["place"]
    assert place.name == "here" and place.position == (2.0, 0.0)


def test_format_1_is_read_as_first_schemas(file):
    def first_format(manifest: dict[str, Any]) -> None:
        manifest["format"] = 1
        del manifest["schemas"]

    rewritten(file, first_format)
    assert archive.read(file, "test")["place"] == Place("here", 2.0)
    put_in_place_of(Place, changed("Place"))
    assert archive.read(file, "test")["place"].position == (2.0, 0.0)


def test_a_newer_schema_is_refused(tmp_path):
    put_in_place_of(Place, later := changed("Place", 3))
    archive.write(tmp_path / "file", "test", {"place": later("here", (1.0, 2.0))})
    put_in_place_of(later, Place)
    with pytest.raises(ArchiveError, match=r"Place has schema 3 and this version knows 1; upgrade bochner"):
        archive.read(tmp_path / "file", "test")


def test_an_older_schema_without_migration_is_refused(file):
    put_in_place_of(Place, changed("Place", with_migration=False))
    with pytest.raises(ArchiveError, match=r"Place has schema 1, which this version no longer reads; fit it again"):
        archive.read(file, "test")


def test_a_class_with_a_new_name_is_found_by_its_old_one(file):
    registry._CLASSES.pop("Place")
    archive.register_renamed("Place", lambda fields: (fields["name"], fields["x"]))
    assert archive.read(file, "test")["place"] == ("here", 2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["fields"].update(colour=3), r"its Place has the field 'colour', which is not known; upgrade"),
        (lambda p: p["fields"].pop("x"), r"its Place lacks the field 'x'; save it again"),
        (lambda p: p.update({"class": "Popen"}), r"does not know the class 'Popen'; upgrade bochner"),
        (lambda p: p.pop("fields"), r"a part that this version does not know.*upgrade bochner"),
    ],
)
def test_what_does_not_fit_is_told_in_one_sentence(change, message, file):
    rewritten(file, lambda manifest: change(manifest["state"]["map"]["place"]))
    with pytest.raises(ArchiveError, match=message) as error:
        archive.read(file, "test")
    assert str(file) in str(error.value) and "\n" not in str(error.value)


def test_a_class_without_a_schema_is_refused(file):
    rewritten(file, lambda manifest: manifest["schemas"].clear())
    with pytest.raises(ArchiveError, match=r"does not tell the schema of its Place; save it again"):
        archive.read(file, "test")


def test_fields_with_defaults_may_be_missing(file):
    rewritten(file, lambda manifest: manifest["state"]["map"]["place"]["fields"].pop("note"))
    assert archive.read(file, "test")["place"] == Place("here", 2.0)


def test_an_array_is_stored_once(tmp_path):
    """However often it appears, and it is one object again when read; equal arrays stay apart."""
    coords = np.arange(6.0).reshape(3, 2)
    road = Road(Place("a", 0.0), coords, coords)
    archive.write(tmp_path / "file", "test", {"road": road, "again": [coords, (coords,)], "copy": coords.copy()})
    assert len(manifest_of(tmp_path / "file")["hashes"]) == 2
    state = archive.read(tmp_path / "file", "test")
    assert state["road"].coords is state["road"].same is state["again"][0] is state["again"][1][0]
    assert state["copy"] is not state["road"].coords
    assert_array_equal(state["copy"], coords)


def test_temporary_arrays_are_not_taken_for_each_other(tmp_path):
    """An id may be given again once its array is gone: arrays on the way are kept."""
    state = {"all": [np.full(3, float(i)) for i in range(50)]}
    archive.write(tmp_path / "file", "test", state)
    assert [float(a[0]) for a in archive.read(tmp_path / "file", "test")["all"]] == list(range(50))


def test_private_fields_are_not_written(tmp_path):
    road = Road(Place("a", 0.0), np.zeros(2), np.ones(2), _cache=object())
    archive.write(tmp_path / "file", "test", {"road": road})
    assert archive.read(tmp_path / "file", "test")["road"]._cache is None


def test_two_classes_of_one_name_are_refused():
    with pytest.raises(ArchiveError, match=r"two classes are called Place.*rename one"):
        archive.register(changed("Place"))
    archive.register(Place)  # the same again is no matter


def test_a_class_that_only_shares_a_name_is_not_written(tmp_path):
    with pytest.raises(ArchiveError, match="a Place cannot be saved"):
        archive.write(tmp_path / "file", "test", {"place": changed("Place")("x", (0.0, 0.0))})
