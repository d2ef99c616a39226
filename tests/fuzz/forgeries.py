"""Forgeries one by one: every array and every value of a model file, replaced by all that does not belong there."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from tests.fuzz.odd import some

Path = tuple[Any, ...]  # keys and positions that lead to a value of the manifest


def _negative(value: Any) -> Any:
    return -value - 1 if isinstance(value, (int, float)) else [value, value]


_GONE = object()
VALUES: dict[str, Any] = {
    "none": None,
    "true": True,
    "text": "hello",
    "minus one": -1,
    "zero": 0,
    "wide": 2**62,
    "vast": 10**400,
    "huge": 1e300,
    "tiny": 5e-324,
    "nan": {"float": "nan"},
    "infinite": {"float": "inf"},
    "list": [],
    "tuple": {"tuple": [1, 2, 3]},
    "map": {"map": {}},
    "array": {"array": "a0"},
    "type": {"dtype": "int8"},
    "kernel": {"class": "Matern", "fields": {}},
    "negative": _negative,
    "gone": _GONE,
}


@dataclass(frozen=True)
class Opened:
    """A model file in parts."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @classmethod
    def of(cls, data: bytes) -> Opened:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            manifest = json.loads(file.read("manifest.json"))
            arrays = {name: np.load(io.BytesIO(file.read(f"{name}.npy"))) for name in manifest["hashes"]}
        return cls(manifest, arrays)

    def file(self) -> bytes:
        """The parts as one file, with hashes that fit."""
        payload, buffer = {name: npy(array) for name, array in self.arrays.items()}, io.BytesIO()
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in payload.items()}
        with zipfile.ZipFile(buffer, "w") as file:
            file.writestr("manifest.json", json.dumps({**self.manifest, "hashes": hashes}))
            for name, data in payload.items():
                file.writestr(f"{name}.npy", data)
        return buffer.getvalue()

    def with_array(self, name: str, array: np.ndarray) -> Opened:
        """The same with another array."""
        return Opened(self.manifest, {**self.arrays, name: array})

    def with_value(self, path: Path, value: Any) -> Opened:
        """The same with another value somewhere in its state."""
        return Opened({**self.manifest, "state": _replaced(self.manifest["state"], path, value)}, self.arrays)


def forgeries(data: bytes) -> Iterator[tuple[str, Opened]]:
    """All forgeries of a file, with what they are."""
    opened = Opened.of(data)
    for name, array in opened.arrays.items():
        for what, bad in _bad_arrays(array).items():
            yield f"{_user(opened.manifest, name)}: {what}", opened.with_array(name, bad)
    for path in _paths(opened.manifest["state"]):
        for what, bad in VALUES.items():
            yield f"{_told(path)}: {what}", opened.with_value(path, bad)


def some_forgery(rng: Generator, opened: Opened) -> Opened:
    """One of them."""
    if rng.random() < 0.3:
        name = some(rng, sorted(opened.arrays))
        return opened.with_array(name, some(rng, list(_bad_arrays(opened.arrays[name]).values())))
    return opened.with_value(some(rng, list(_paths(opened.manifest["state"]))), some(rng, list(VALUES.values())))


def npy(array: Any) -> bytes:
    """An array as its file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _bad_arrays(array: np.ndarray) -> dict[str, np.ndarray]:
    own = np.atleast_1d(array)
    return {
        "negative": -array,
        "zero": np.zeros_like(array),
        "huge": np.full_like(array, 1e300) if array.dtype.kind == "f" else np.full_like(array, 2**62),
        "wide": np.full(array.shape, 2**62),
        "most negative": np.full(array.shape, -(2**63)),
        "tiny": np.full(array.shape, 5e-324),
        "one of it huge": _one(array, 1e300 if array.dtype.kind == "f" else 2**62),
        "one of it negative": _one(array, -7),
        "one of it zero": _one(array, 0),
        "text": array.astype("U8"),
        "true or false": array.astype(bool),
        "complex": array.astype(complex),
        "single": array.astype(np.float32),
        "bytes": array.astype(np.uint8),
        "dates": np.zeros(array.shape, dtype="M8[s]"),
        "short": own[..., :-1],
        "short of rows": own[:-1],
        "long": np.concatenate([own, own]),
        "wider": np.concatenate([own, own], axis=-1),
        "empty": np.zeros(0, dtype=array.dtype),
        "empty, of its columns": np.zeros((0, *array.shape[1:]), dtype=array.dtype),
        "a number": np.zeros((), dtype=array.dtype),
        "one more dimension": array[None],
        "transposed": np.ascontiguousarray(array.T[..., None]),
    }


def _one(array: np.ndarray, value: float) -> np.ndarray:
    out = np.array(array)
    out.flat[-1:] = value
    return out


def _paths(tree: Any, at: Path = ()) -> Iterator[Path]:
    """Paths to every value below a tree, inner ones too."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in items:
        yield (*at, key)
        yield from _paths(part, (*at, key))


def _replaced(tree: Any, path: Path, value: Any) -> Any:
    out = copy.deepcopy(tree)
    part = out
    for key in path[:-1]:
        part = part[key]
    if value is _GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value(part[path[-1]]) if callable(value) else copy.deepcopy(value)
    return out


def _user(manifest: dict[str, Any], name: str) -> str:
    """Where an array is used first."""
    found = (path for path in _paths(manifest["state"]) if path[-1] == "array" and _at(manifest["state"], path) == name)
    return _told(next(found, (name,)))


def _at(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _told(path: Path) -> str:
    return ".".join(str(key) for key in path if key not in ("map", "fields", "tuple", "array"))
