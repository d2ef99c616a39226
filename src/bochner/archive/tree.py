"""Tree: nested values as plain JSON, with arrays and classes told apart by tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bochner.archive.registry import FIRST_SCHEMA, build, fields_of, is_registered, schema_of
from bochner.exceptions import ArchiveError


@dataclass
class Encoder:
    """Turns values into a tree, and collects what the tree only names: arrays, and the schemas of classes."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    schemas: dict[str, int] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)

    def encode(self, value: Any) -> Any:
        """A value as nested lists, dicts and plain values."""
        if is_registered(value):
            name = type(value).__name__
            self.schemas[name] = schema_of(type(value))
            return {"class": name, "fields": {key: self.encode(part) for key, part in fields_of(value)}}
        if isinstance(value, np.ndarray):
            return {"array": self._name_of(value)}
        if isinstance(value, np.generic):
            return self.encode(value.item())
        if isinstance(value, float) and not np.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"dtype": np.dtype(value).name}
        if isinstance(value, tuple):
            return {"tuple": [self.encode(v) for v in value]}
        if isinstance(value, list):
            return [self.encode(v) for v in value]
        if isinstance(value, Mapping):
            return {"map": {str(k): self.encode(v) for k, v in value.items()}}
        raise ArchiveError(f"a {type(value).__name__} cannot be saved; {value!r} is not a value that the format knows.")

    def _name_of(self, array: np.ndarray) -> str:
        """Name under which an array is stored: once, however often it is met."""
        if id(array) not in self._names:
            name = f"a{len(self.arrays)}"
            # in its own memory order, on which the last bit of a product may depend; and kept, so that its id stays
            self.arrays[name], self._names[id(array)] = array, name
        return self._names[id(array)]


@dataclass(frozen=True)
class Decoder:
    """Turns a tree into values again."""

    arrays: Mapping[str, np.ndarray]
    schemas: Mapping[str, int] | None  # None: every class has its first

    def decode(self, tree: Any) -> Any:
        """The value that was encoded; classes are brought to their present schema."""
        if isinstance(tree, list):
            return [self.decode(v) for v in tree]
        if not isinstance(tree, dict):
            return tree
        match tree:
            case {"array": name}:
                return self.arrays[name]
            case {"float": text}:
                return float(text)
            case {"dtype": name}:
                return np.dtype(name).type
            case {"tuple": items}:
                return tuple(self.decode(v) for v in items)
            case {"map": items}:
                return {k: self.decode(v) for k, v in items.items()}
            case {"class": name, "fields": fields}:
                schema = FIRST_SCHEMA if self.schemas is None else self.schemas.get(name)
                return build(name, {k: self.decode(v) for k, v in fields.items()}, schema)
        raise ArchiveError(f"it holds a part that this version does not know: {str(tree)[:80]}; upgrade bochner")
