"""Archive: frozen values to one file and back, without pickle.

A file is a zip of ``.npy`` arrays and a ``manifest.json`` that holds the structure, the version of the library and of
every class, and a hash of every array. Only registered classes are ever built when reading. Format 1 had no versions of
classes: there, each has its first.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from bochner._version import __version__
from bochner.archive.bounded import check_digest, opened_file, read_array, read_manifest
from bochner.archive.registry import register, register_renamed
from bochner.archive.tree import Decoder, Encoder
from bochner.exceptions import ArchiveError
from bochner.outputs import completed, told_as_output

FORMAT = 2

__all__ = ["FORMAT", "knows", "read", "register", "register_renamed", "write"]


def write(path: str | os.PathLike[str], kind: str, state: Mapping[str, Any]) -> None:
    """Write a state (nested dataclasses, mappings, sequences, arrays, plain values) to one file.

    The file appears under its name only when it is complete.
    """
    encoder = Encoder()
    tree = encoder.encode(dict(state))
    payload = {name: _npy(array) for name, array in encoder.arrays.items()}
    manifest = {
        "format": FORMAT,
        "library": "bochner",
        "version": __version__,
        "kind": kind,
        "state": tree,
        "schemas": encoder.schemas,
        "hashes": {name: hashlib.sha256(data).hexdigest() for name, data in payload.items()},
    }
    with completed(Path(path)) as partial, told_as_output(path), _new_zip(partial) as file:
        file.writestr("manifest.json", json.dumps(manifest))
        for name, data in payload.items():
            file.writestr(f"{name}.npy", data)


def read(path: str | os.PathLike[str], kind: str, *, sha256: str | None = None, finite: bool = False) -> dict[str, Any]:
    """Read a state that `write` wrote; refuses what is damaged, foreign or of a newer format.

    Hashes within the file catch damage, not forgery: who changes an array can change its hash. Give the SHA-256 of the
    whole file where it must be the one that was meant. `finite`: whether arrays with NaN or infinity are refused.
    """
    incomplete = f"{path} is not a complete bochner {kind} file"
    with opened_file(path, kind) as whole:
        if sha256 is not None:
            check_digest(whole, sha256, path)
        return _read(whole, kind, path, incomplete, finite)


def _read(whole: BufferedReader, kind: str, path: Any, incomplete: str, finite: bool) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(whole) as file:
            manifest = read_manifest(file, os.fstat(whole.fileno()).st_size, path)
            _check(manifest, kind, path)
            hashes = manifest["hashes"].items()
            arrays = {name: read_array(file, name, digest, path, finite=finite) for name, digest in hashes}
        return dict(_decoded(manifest, arrays, incomplete))
    except ArchiveError:
        raise
    except zipfile.BadZipFile as error:
        raise ArchiveError(f"{incomplete}; give one that `bochner fit` or `save` wrote.") from error
    except Exception as error:  # damage shows in many ways: to the zip reader, to JSON, to numpy, to the classes
        raise ArchiveError(f"{incomplete} ({error!r}); save it again.") from error


def knows(value: Any) -> bool:
    """Whether a value can be written."""
    try:
        Encoder().encode(value)
    except ArchiveError:
        return False
    return True


def _check(manifest: Any, kind: str, path: Any) -> None:
    if manifest.get("library") != "bochner" or manifest.get("kind") != kind:
        raise ArchiveError(f"{path} holds a {manifest.get('kind')!r}; needed is a bochner {kind}.")
    version = manifest["format"]
    if type(version) is not int or version < 1:
        raise ArchiveError(f"{path} says that its format is {str(version)[:20]!r}; there are formats 1 to {FORMAT}.")
    if version > FORMAT:
        raise ArchiveError(
            f"{path} was written by bochner {manifest['version']} in format {manifest['format']}; this is "
            f"{__version__}, which reads up to format {FORMAT}. Upgrade bochner."
        )


def _decoded(manifest: Any, arrays: Mapping[str, np.ndarray], incomplete: str) -> Any:
    schemas = manifest["schemas"] if manifest["format"] > 1 else None
    try:
        return Decoder(arrays, schemas).decode(manifest["state"])
    except ArchiveError as error:
        raise ArchiveError(
            f"{incomplete} for bochner {__version__} (bochner {manifest['version']} wrote it): {error}."
        ) from error


def _new_zip(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(path, "w", zipfile.ZIP_STORED)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
