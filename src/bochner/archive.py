"""Archive: frozen values to one file and back, without pickle.

A file is a zip of ``.npy`` arrays and a ``manifest.json`` that holds the structure, the version
and a hash of every array. Only classes registered here are ever built when reading.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bochner._version import __version__
from bochner.exceptions import ArchiveError

FORMAT = 1
_CLASSES: dict[str, type] = {}


def register(*classes: type) -> None:
    """Allow frozen dataclasses to be written and read."""
    _CLASSES.update({c.__name__: c for c in classes})


def write(path: str | os.PathLike[str], kind: str, state: Mapping[str, Any]) -> None:
    """Write a state (nested dataclasses, mappings, sequences, arrays, plain values) to one file.

    The file appears under its name only when it is complete.
    """
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(dict(state), arrays)
    payload = {name: _npy(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "library": "bochner",
        "version": __version__,
        "kind": kind,
        "state": tree,
        "hashes": {name: hashlib.sha256(data).hexdigest() for name, data in payload.items()},
    }
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as file:
            file.writestr("manifest.json", json.dumps(manifest))
            for name, data in payload.items():
                file.writestr(f"{name}.npy", data)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read a state that `write` wrote; refuses what is damaged, foreign or of a newer format."""
    try:
        with zipfile.ZipFile(path) as file:
            manifest = json.loads(file.read("manifest.json"))
            if manifest.get("library") != "bochner" or manifest.get("kind") != kind:
                raise ArchiveError(f"{path} holds a {manifest.get('kind')!r}; needed is a bochner {kind}.")
            if manifest["format"] > FORMAT:
                raise ArchiveError(
                    f"{path} was written by bochner {manifest['version']} in format {manifest['format']}; this is "
                    f"{__version__}, which reads up to format {FORMAT}. Upgrade bochner."
                )
            arrays = {name: _checked(file.read(f"{name}.npy"), h, path) for name, h in manifest["hashes"].items()}
        return dict(_decode(manifest["state"], arrays))
    except (ArchiveError, OSError):
        raise
    except zipfile.BadZipFile as error:
        raise ArchiveError(
            f"{path} is not a complete bochner {kind} file; give one that `bochner fit` or `save` wrote."
        ) from error
    except Exception as error:  # damage shows in many ways: to the zip reader, to JSON, to numpy, to the classes
        raise ArchiveError(f"{path} is not a complete bochner {kind} file ({error!r}); save it again.") from error


def knows(value: Any) -> bool:
    """Whether a value can be written."""
    try:
        _encode(value, {})
    except ArchiveError:
        return False
    return True


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value  # in its own memory order, on which the last bit of a product may depend
        return {"array": name}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": np.dtype(value).name}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _CLASSES:
        fields = {
            f.name: _encode(getattr(value, f.name), arrays)
            for f in dataclasses.fields(value)
            if not f.name.startswith("_")
        }
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, tuple):
        return {"tuple": [_encode(v, arrays) for v in value]}
    if isinstance(value, list):
        return [_encode(v, arrays) for v in value]
    if isinstance(value, Mapping):
        return {"map": {str(k): _encode(v, arrays) for k, v in value.items()}}
    raise ArchiveError(f"a {type(value).__name__} cannot be saved; {value!r} is not a value that the format knows.")


def _decode(tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(tree, list):
        return [_decode(v, arrays) for v in tree]
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"array": name}:
            return arrays[name]
        case {"float": text}:
            return float(text)
        case {"dtype": name}:
            return np.dtype(name).type
        case {"tuple": items}:
            return tuple(_decode(v, arrays) for v in items)
        case {"map": items}:
            return {k: _decode(v, arrays) for k, v in items.items()}
        case {"class": name, "fields": fields} if name in _CLASSES:
            return _CLASSES[name](**{k: _decode(v, arrays) for k, v in fields.items()})
    raise ArchiveError(f"the file holds a part that this version does not know: {str(tree)[:80]}; upgrade bochner.")


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _checked(data: bytes, digest: str, path: Any) -> np.ndarray:
    if hashlib.sha256(data).hexdigest() != digest:
        raise ArchiveError(f"{path} is damaged: an array does not match its hash. Save the model again.")
    return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
