"""Bounded reading: every size is known, and allowed, before a byte of it is read.

Files are written without compression, so nothing in one can be larger than the file itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any

import numpy as np

from bochner.exceptions import ArchiveError

MANIFEST = "manifest.json"
MAX_MANIFEST = 8 * 2**20  # bytes, read into 400 MB at worst; those of models take 10 to 100 kB
MAX_ENTRIES = 100_000
KINDS = "biufcUSmM"  # dtypes that arrays of a file may have


@contextmanager
def opened_file(path: str | os.PathLike[str], what: str) -> Iterator[BufferedReader]:
    """A regular file, open for reading; a pipe would wait for ever, and a device may never end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        is_folder = stat.S_ISDIR(mode)
        raise ArchiveError(
            f"{path} is a {'folder' if is_folder else 'device or a pipe'}; needed is a bochner {what} file."
        )
    with open(path, "rb") as file:
        yield file


def check_digest(file: BufferedReader, sha256: str, path: Any) -> None:
    """Refuse a file whose SHA-256 is another."""
    wanted = str(sha256).strip().lower()
    if len(wanted) != 64 or any(letter not in "0123456789abcdef" for letter in wanted):
        raise ArchiveError(f"sha256={sha256!r}; needed are 64 hexadecimal digits, as `sha256sum {path}` prints them.")
    found = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    if found != wanted:
        raise ArchiveError(f"{path} is not the file that was meant: its SHA-256 is {found}, not {wanted}.")


def read_manifest(file: zipfile.ZipFile, n_bytes: int, path: Any) -> Any:
    """The manifest, once the sizes that the file tells of are allowed."""
    entries = file.infolist()
    if len(entries) > MAX_ENTRIES or len({entry.filename for entry in entries}) < len(entries):
        raise ArchiveError(f"{path} has {len(entries):,} entries, too many or some twice; bochner did not write it.")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
        raise ArchiveError(
            f"{path} is compressed or encrypted, which bochner never does; unpack it and zip it with -0."
        )
    if sum(entry.file_size for entry in entries) > n_bytes:
        raise ArchiveError(f"{path} tells of more than it can hold; it is damaged, or was made to harm.")
    size = file.getinfo(MANIFEST).file_size
    if size > MAX_MANIFEST:
        raise ArchiveError(f"{path} has a manifest of {size:,} bytes; up to {MAX_MANIFEST:,} are read.")
    return json.loads(file.read(MANIFEST))


def read_array(file: zipfile.ZipFile, name: str, digest: Any, path: Any, *, finite: bool) -> np.ndarray:
    """An array, if it matches its hash, is as large as it says, and holds numbers where numbers are needed."""
    data = file.read(f"{name}.npy")
    if hashlib.sha256(data).hexdigest() != digest:
        raise ArchiveError(f"{path} is damaged: an array does not match its hash. Save the model again.")
    array = _array(data, path)
    if finite and array.dtype.kind == "c":
        raise ArchiveError(f"{path} holds complex numbers in its array {name}, which no model has; fit it again.")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ArchiveError(f"{path} holds NaN or infinite values in its array {name}; fit the model again.")
    return array


def _array(data: bytes, path: Any) -> np.ndarray:
    """An array, unless its header tells of other data than follow it: numpy would make room for it first."""
    buffer = io.BytesIO(data)
    version = np.lib.format.read_magic(buffer)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ArchiveError(f"{path} holds an array of npy format {version}, which is not read; save the model again.")
    shape, by_columns, dtype = read(buffer)
    if dtype.kind not in KINDS or dtype.hasobject:
        raise ArchiveError(f"{path} holds an array of {dtype}; model files hold numbers and text.")
    n_items = math.prod(shape)
    impossible = min(shape, default=0) < 0 or (n_items == 0 and max(shape) > 2**31) or (dtype.itemsize == 0 < n_items)
    if impossible or n_items * dtype.itemsize != len(data) - buffer.tell():
        raise ArchiveError(f"{path} holds an array that is not as large as it says, {shape}; it is damaged.")
    return np.ndarray(shape, dtype, data, buffer.tell(), order="F" if by_columns else "C").copy(order="K")
