"""Registry: which classes may be written and read, in which version of their fields.

A frozen dataclass that changes its fields says so, and how to read what was written before::

    @dataclass(frozen=True)
    class Scale:
        SCHEMA: ClassVar[int] = 2  # 1: `extent` was called `size`

        @staticmethod
        def migrate(fields: dict[str, Any], version: int) -> dict[str, Any]:
            return {"extent": fields.pop("size"), **fields} if version < 2 else fields

A class that is no dataclass gives its fields by `as_dict` and is built by `from_dict`. One that has another name now,
or is now several, is read by a function of its old name (`register_renamed`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from bochner.archive.typed import check_types
from bochner.exceptions import ArchiveError

Fields = dict[str, Any]
FIRST_SCHEMA = 1  # of classes that declare none, and of all classes in files of format 1

_CLASSES: dict[str, type] = {}
_RENAMED: dict[str, Callable[[Fields], Any]] = {}


def register(*classes: type) -> None:
    """Allow frozen values to be written and read, each under the name of its class."""
    for cls in classes:
        known = _CLASSES.setdefault(cls.__name__, cls)
        if known is not cls:
            raise ArchiveError(
                f"two classes are called {cls.__name__}, of {known.__module__} and of {cls.__module__}; a file tells "
                f"classes by name: rename one."
            )


def register_renamed(name: str, build: Callable[[Fields], Any]) -> None:
    """Read values of a class that is gone: `build` makes what stands for it now from its fields."""
    _RENAMED[name] = build


def is_registered(value: Any) -> bool:
    """Whether a value is of a class that may be written."""
    return _CLASSES.get(type(value).__name__) is type(value)


def schema_of(cls: type) -> int:
    """Version of the fields of a class."""
    return int(getattr(cls, "SCHEMA", FIRST_SCHEMA))


def fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Fields that are written: all but private ones, which are made again."""
    if not dataclasses.is_dataclass(value):
        return iter(value.as_dict().items())
    return ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.startswith("_"))


def build(name: str, fields: Fields, schema: int | None) -> Any:
    """A value from the name of its class and its fields, as a file of some age has them."""
    if name in _RENAMED:
        return _RENAMED[name](fields)
    if name not in _CLASSES:
        raise ArchiveError(f"this version does not know the class {name!r}; upgrade bochner")
    cls = _CLASSES[name]
    fields = _migrated(cls, fields, schema)
    from_dict: Callable[[Fields], Any] | None = getattr(cls, "from_dict", None)
    if from_dict is not None and not hasattr(cls, "__dataclass_fields__"):
        return from_dict(fields)
    _check_fields(cls, fields)
    check_types(cls, fields)
    return cls(**fields)


def _migrated(cls: type, fields: Fields, schema: int | None) -> Fields:
    current = schema_of(cls)
    if schema is None:
        raise ArchiveError(f"it does not tell the schema of its {cls.__name__}; save it again")
    if schema == current:
        return fields
    if schema > current:
        raise ArchiveError(f"its {cls.__name__} has schema {schema} and this version knows {current}; upgrade bochner")
    migrate: Callable[[Fields, int], Fields] | None = getattr(cls, "migrate", None)
    if migrate is None:
        raise ArchiveError(f"its {cls.__name__} has schema {schema}, which this version no longer reads; fit it again")
    return migrate(fields, schema)


def _check_fields(cls: type, fields: Fields) -> None:
    known = {f.name: f for f in dataclasses.fields(cls) if f.init}
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ArchiveError(f"its {cls.__name__} has the field {unknown[0]!r}, which is not known; upgrade bochner")
    missing = [name for name, f in known.items() if name not in fields and _is_required(f)]
    if missing:
        raise ArchiveError(f"its {cls.__name__} lacks the field {missing[0]!r}; save it again")


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
