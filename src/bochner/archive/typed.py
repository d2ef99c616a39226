"""Typed fields: a value of a file has the type that its class declares, or is refused by name."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from bochner.exceptions import ArchiveError


def check_types(cls: type, fields: Mapping[str, Any]) -> None:
    """Refuse fields of a dataclass that are not of their declared types."""
    hints = _hints(cls)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise ArchiveError(
                f"its {cls.__name__} has a {_kind(value)} for the field {name!r}, which should be "
                f"{_told(hints[name])}; save it again"
            )


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Types of the fields; those that cannot be known here (imported for type checking alone) are not checked."""
    try:
        found = typing.get_type_hints(cls)
    except (NameError, TypeError):
        return {}
    return {field.name: found[field.name] for field in dataclasses.fields(cls) if field.name in found}


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if hint is None or hint is type(None):
        return value is None
    if origin is typing.Literal:
        return value in parts
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_dtype(value, parts)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return isinstance(value, (tuple, list)) and _fit_all(value, origin, parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and (len(parts) < 2 or all(_fits(v, parts[1]) for v in value.values()))
    return _is(value, hint) if isinstance(hint, type) else True


def _is(value: Any, hint: type) -> bool:
    if hint is float:  # a whole number, too, of those that a double can hold
        return isinstance(value, float) or (_is(value, int) and abs(value) < 2**1023)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if issubclass(hint, Mapping) or hint is dict:
        return isinstance(value, Mapping)
    if hint in (tuple, list):
        return isinstance(value, (tuple, list))
    return isinstance(value, hint)


def _fit_all(values: Sequence[Any], origin: Any, parts: tuple[Any, ...]) -> bool:
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return len(values) == len(parts) and all(_fits(v, p) for v, p in zip(values, parts, strict=True))
    return all(_fits(value, parts[0]) for value in values) if parts else True


def _fits_dtype(array: np.ndarray, parts: tuple[Any, ...]) -> bool:
    """Whether an array of numbers is one of numbers, and not of text; widths and signs are numpy's matter."""
    wanted = typing.get_args(parts[-1]) if parts else ()
    kinds = [np.dtype(one).kind for one in wanted if isinstance(one, type) and one is not np.generic]
    if not kinds or any(not issubclass(np.dtype(k).type, np.generic) for k in kinds):
        return True
    return any(array.dtype.kind in _ALIKE.get(kind, kind) for kind in kinds)


_ALIKE = {"f": "fiub", "i": "iub", "u": "iub", "b": "b", "c": "cfiub"}


def _kind(value: Any) -> str:
    return f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__


def _told(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
