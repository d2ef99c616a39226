"""Doors of model files: flipped bits, cut ends, forged manifests and arrays with hashes that fit, and bombs."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner import SpatialClassifier, SpatialRegressor, load
from bochner.kernels import Matern, SquaredExponential
from tests.fuzz.forgeries import Opened, npy, some_forgery
from tests.fuzz.odd import damaged, json_value, nested, rarely, some, write


def damaged_model(rng: Generator, folder: Path) -> None:
    """A model of which bytes are lost or changed is refused, or is the same model."""
    name, data = _model(rng)
    asked(name, write(folder, "bad.bochner", damaged(rng, data)), same=True)


def forged_model(rng: Generator, folder: Path) -> None:
    """A model that was changed by someone who knows the format: refused, or it predicts numbers."""
    name, data = _model(rng)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {entry: file.read(entry) for entry in file.namelist()}
    manifest = json.loads(parts["manifest.json"])
    if rarely(rng, 0.4):
        key = some(rng, sorted(manifest["hashes"]))
        parts[f"{key}.npy"] = npy(_odd_array(rng, np.load(io.BytesIO(parts[f"{key}.npy"]))))
        manifest["hashes"][key] = hashlib.sha256(parts[f"{key}.npy"]).hexdigest()
    for _ in range(int(rng.integers(1, 4)) if rarely(rng, 0.7) else 0):
        manifest = nested(rng, manifest, json_value) if rarely(rng, 0.3) else _in_state(rng, manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    asked(name, write(folder, "forged.bochner", _zipped(parts)))


def forged_value(rng: Generator, folder: Path) -> None:
    """One array, or one value of the manifest, that does not belong there."""
    name, data = _model(rng)
    asked(name, write(folder, "forged.bochner", some_forgery(rng, Opened.of(data)).file()))


def bomb(rng: Generator, folder: Path) -> None:
    """Sizes that would fill the memory: told, not made room for."""
    name, data = _model(rng)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {entry: file.read(entry) for entry in file.namelist()}
    manifest = json.loads(parts["manifest.json"])
    kind, method = int(rng.integers(4)), zipfile.ZIP_STORED
    if kind == 0:
        parts["manifest.json"] = parts["manifest.json"] + b" " * int(rng.integers(1, 4)) * 10**7
        method = zipfile.ZIP_DEFLATED
    elif kind == 1:
        key = some(rng, sorted(manifest["hashes"]))
        header = {"descr": "<f8", "fortran_order": False, "shape": (int(10 ** rng.integers(8, 14)),)}
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, header)
        parts[f"{key}.npy"] = buffer.getvalue()
        manifest["hashes"][key] = hashlib.sha256(parts[f"{key}.npy"]).hexdigest()
        parts["manifest.json"] = json.dumps(manifest).encode()
    elif kind == 2:
        depth = int(rng.integers(10, 100_000))
        parts["manifest.json"] = b"[" * depth + b"]" * depth
    else:
        parts |= {f"b{i}.npy": b"" for i in range(int(rng.integers(100, 3000)))}
    asked(name, write(folder, "bomb.bochner", _zipped(parts, method)))


def asked(name: str, path: Path, *, same: bool = False) -> None:
    """Load a model and ask it; `same`: its answers are those that it had."""
    model, (_, places, expected) = load(path), models()[name]
    found = answers(model, places)
    assert all(np.isfinite(part).all() for part in found), "a model that predicts no numbers"
    if same:
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)), "another model"


def answers(model: Any, places: Any) -> tuple[Any, ...]:
    """Means and standard deviations, or probabilities."""
    return (model.predict_proba(places),) if hasattr(model, "classes_") else model.predict(places, return_std=True)


def _in_state(rng: Generator, manifest: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(manifest, dict):
        return manifest
    return {**manifest, "state": nested(rng, manifest.get("state"), json_value)}


def _odd_array(rng: Generator, array: Any) -> Any:
    kind = int(rng.integers(7))
    if kind == 0:
        array = np.array(array, dtype=float, ndmin=1)
        array.flat[:1] = some(rng, (np.nan, np.inf, 1e300, -1.0))
        return array
    if kind == 1:
        return array[..., :-1] if array.ndim and array.shape[-1] else np.zeros(3)
    if kind == 2:
        return np.concatenate([np.atleast_1d(array)] * 2)
    if kind == 3:
        return array.T[..., None]
    if kind == 4:
        return array.astype(some(rng, ("U8", "f4", "i4", "c16", "bool")))
    return np.zeros(some(rng, ((0,), (), (0, 3), (2, 2), (1, 1, 1)))) if kind == 5 else -np.asarray(array, dtype=float)


def _zipped(parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()


def _model(rng: Generator) -> tuple[str, bytes]:
    name = str(some(rng, sorted(models())))
    return name, models()[name][0]


@cache
def models() -> dict[str, tuple[bytes, Any, tuple[Any, ...]]]:
    """Small models of several kinds: their files, places, and what they predict there."""
    import tempfile

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(25, 2)), rng.normal(size=25)])
    y, counts = np.sin(4 * X[:, 0]) + X[:, 2], rng.poisson(3, 25)
    known = {"tune": None, "noise_variance": 0.1, "covariates": [2]}
    made = {
        "exact": SpatialRegressor(Matern(0.3), features="exact", **known).fit(X, y),
        "averaged": SpatialRegressor(Matern(0.3), covariates=[2]).fit(X, y),
        "waves": SpatialRegressor(SquaredExponential(0.3), features="quasi", n_frequencies=12, **known).fit(X, y),
        "random": SpatialRegressor(Matern(0.3), features="monte-carlo", n_frequencies=9, **known).fit(X, y),
        "lattice": SpatialRegressor(Matern(0.5), features="lattice", n_frequencies=12, **known).fit(X, y),
        "nystroem": SpatialRegressor(Matern(0.5), features="nystroem", n_frequencies=8, **known).fit(X, y),
        "poisson": SpatialRegressor(Matern(0.5), family="poisson", **known).fit(X, counts),
        "binomial": SpatialRegressor(Matern(0.5), family="binomial", features="lattice", n_frequencies=9, **known).fit(
            X, np.minimum(counts, 5), trials=np.full(25, 5)
        ),
        "classifier": SpatialClassifier(Matern(0.5), tune=None, covariates=[2]).fit(X, np.where(y > 0, "a", "b")),
    }
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for kind, model in made.items():
            path = Path(name) / kind
            model.save(path)
            found[kind] = (path.read_bytes(), X[:3], answers(load(path), X[:3]))
    return found
