"""Odd values: what people, programs and attackers put where a number, a name or a table belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 0.5, -0.5, 1e-12, 1e12, 1e-300, 1e300, 5e-324, float("nan"), float("inf"), -float("inf"), 2**63),
    *(
        10**400,
        True,
        None,
        "3",
        "",
        "abc",
        [],
        (),
        {},
        [1.0, 2.0],
        np.float32(0.3),
        np.array(2.0),
        np.array([1.0, 2.0]),
    ),
)
TEXTS: tuple[str, ...] = (
    *("", " ", "x", "NA", "nan", "-", "=1+1", "@SUM(A1)", "+1", "1,5", "1.234,5", "12°34'N", "0x10", "1e999", "\x00"),
    *(
        "Ünïcödé",
        "名前",
        "\u202e",
        "a" * 300,
        "'",
        '"',
        "`",
        "\n",
        "\r",
        "\t",
        ";",
        "%s%n",
        "{0}",
        "../../x",
        "/dev/null",
    ),
    *("lon", "lat", "true", "2015-06-30", "30.6.2015", "matern32", "matern32(length_scale=-1)", "se+se", "EPSG:4326"),
    *("EPSG:0", "EPSG:32736", "utm", "20%", "101%", "5km", "0.05deg", "-3km", "0km", "1e-9deg", "gaps", "auto", "none"),
    *("exact", "quasi", "lattice", "binomial", "poisson", "evidence", "2GB", "-1MB", "local"),
)


def some(rng: Generator, values: Any) -> Any:
    """One of some values, as it is."""
    return values[int(rng.integers(len(values)))]


def rarely(rng: Generator, share: float = 0.1) -> bool:
    """True for a share of the calls."""
    return bool(rng.random() < share)


def number(rng: Generator) -> float:
    """A number of any size and sign."""
    return float(rng.normal() * 10.0 ** rng.integers(-8, 9))


def damaged(rng: Generator, data: bytes) -> bytes:
    """Bytes with some of them changed, cut out, doubled or cut off."""
    if not data:
        return data
    out = bytearray(data)
    kind = int(rng.integers(6))
    at = int(rng.integers(len(out)))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            out[int(rng.integers(len(out)))] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        out[at:] = b""
    elif kind == 2:
        del out[at : at + int(rng.integers(1, 40))]
    elif kind == 3:
        out[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 20))).astype(np.uint8))
    elif kind == 4:
        size = int(rng.integers(1, 60))
        out[at:at] = out[at : at + size]
    else:
        other = int(rng.integers(len(out)))
        for i in range(min(8, len(out) - max(at, other))):
            out[at + i] = out[other + i]
    return bytes(out)


def nested(rng: Generator, tree: Any, odd: Any) -> Any:
    """A tree of lists and mappings with one of its parts replaced, dropped or renamed."""
    if isinstance(tree, dict) and tree and not rarely(rng, 0.15):
        key = some(rng, list(tree))
        if rarely(rng, 0.1):
            return {k: v for k, v in tree.items() if k != key}
        if rarely(rng, 0.05):
            return {(str(odd(rng)) if k == key else k): v for k, v in tree.items()}
        return {k: (nested(rng, v, odd) if k == key else v) for k, v in tree.items()}
    if isinstance(tree, list) and tree and not rarely(rng, 0.15):
        at = int(rng.integers(len(tree)))
        if rarely(rng, 0.1):
            return tree[:at] + tree[at + 1 :]
        return [nested(rng, v, odd) if i == at else v for i, v in enumerate(tree)]
    return odd(rng)


def json_value(rng: Generator) -> Any:
    """A value that JSON holds."""
    pool: tuple[Any, ...] = (
        *(None, True, False, 0, 1, -1, 7, 2**70, 0.1, -1e300, 1e-300, float("nan"), float("inf"), "", "x", [], {}),
        *([1, 2], {"a": 1}, [[[]]], [None], {"class": "Matern", "fields": {}}, {"array": "a0"}, {"map": {}}),
        *({"tuple": []}, {"float": "nan"}, {"float": "x"}, {"dtype": "float64"}, {"dtype": "O"}, "a" * 1000),
    )
    return some(rng, pool) if rarely(rng, 0.8) else some(rng, TEXTS)


def write(folder: Path, name: str, data: bytes) -> Path:
    """A file of a case."""
    path = folder / name
    path.write_bytes(data)
    return path
