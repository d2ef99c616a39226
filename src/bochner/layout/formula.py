"""Formulas: `positive ~ elevation + gp(lon, lat)` to columns of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bochner.arrays import IntArray
from bochner.exceptions import ColumnError, InputError, MissingExtraError, RowError
from bochner.geo import limits as geo_limits
from bochner.geo.kinds import is_time
from bochner.layout import limits
from bochner.layout.formula_words import check_terms

FIELD = re.compile(r"\bgp\(([^()]*)\)")


@dataclass(frozen=True)
class Formula:
    """A response, the terms that enter linearly, and the coordinates of the field."""

    response: str
    terms: str  # right-hand side without the field and the intercept, in Wilkinson's notation
    coords: tuple[str, ...]
    intercept: bool
    text: str

    def __post_init__(self) -> None:
        check_terms(self.terms, self.text)

    @property
    def right(self) -> str:
        """Linear terms as they are built: with an intercept, which the model has of its own."""
        if not self.terms:
            return "1"
        return f"1 {self.terms}" if self.terms.startswith("-") else f"1 + {self.terms}"


@dataclass(frozen=True)
class Design:
    """Columns of a formula's linear terms, the same for new tables as for the one it was learned from.

    Attributes
    ----------
    formula : Formula
    levels : mapping of str to list
        Levels of each factor.
    transforms : mapping of str to nested lists
        Numbers that transforms have learned.
    variables : tuple of str
        Columns of the user's table that the linear terms read.
    """

    formula: Formula
    levels: Mapping[str, Any]
    transforms: Mapping[str, Any]
    variables: tuple[str, ...]

    @classmethod
    def learn(cls, formula: Formula, data: Any) -> Design:
        """Levels and transforms of a table."""
        matrix = _built(formula, lambda: _formulaic().model_matrix(formula.right, data, na_action="raise"), data)
        spec = matrix.model_spec
        levels = {
            name: [_number(v) for v in state["categories"]]
            for name, (_, state) in spec.encoder_state.items()
            if "categories" in state
        }
        transforms = {name: _as_list(state) for name, state in spec.transform_state.items()}
        variables = tuple(sorted(str(v) for v in spec.required_variables))
        design = cls(formula, levels, transforms, variables)
        design.__dict__["spec"] = spec  # what `spec` would build again
        return design

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns of the user's table that a prediction asks for, coordinates first."""
        coords = self.formula.coords
        return (*coords, *(name for name in self.variables if name not in coords))

    def frame(self, X: Any) -> Any:
        """Coordinates and linear terms of a table, as the columns that the model is fitted to."""
        table = as_table(X)
        frame = self.covariates(table)
        for name in self.formula.coords:
            if name in frame.columns:
                raise InputError(
                    f"the formula has {name!r} as a coordinate, in gp(...), and as a linear term. A field takes up "
                    f"most slopes by itself; for one all the same, write I({name}) in place of the term {name}."
                )
        for position, name in enumerate(self.formula.coords):
            dates = name in table.columns and is_time(table[name])
            frame.insert(position, name, table[name] if dates else np.asarray(column_of(table, name), dtype=float))
        return frame

    def columns(self, given: Mapping[str, Any], n: int) -> dict[str, Any]:
        """The same by name, from columns of numbers: arrays (n,), or numbers for all rows."""
        import pandas as pd

        table = pd.DataFrame({name: np.broadcast_to(values, (n,)) for name, values in given.items()})
        frame = self.frame(table)
        return {str(name): frame[name].to_numpy() for name in frame.columns}

    def covariates(self, data: Any) -> Any:
        """Data frame with one column for each coefficient; factors become indicators."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", _formulaic().errors.DataMismatchWarning)  # a level that the fit had not
            try:
                matrix = _built(self.formula, lambda: self.spec.get_model_matrix(data), data)
            except InputError:
                self._refuse_strangers(data)
                raise
        return matrix.drop(columns="Intercept")

    def _refuse_strangers(self, data: Any) -> None:
        """Refuse a level that the training rows have not, by its column and row."""
        for name in (name for name in self.variables if name in data.columns):
            factor = re.compile(rf"(C\()?`?{re.escape(name)}(`|\b)")
            levels = next((v for text, v in self.levels.items() if factor.match(text)), None)
            if levels is None:
                continue
            seen = data[name]
            rows = np.flatnonzero(~np.asarray(seen.isin(levels) | seen.isna()))
            _refuse_rows(name, seen, rows, levels)

    @cached_property
    def spec(self) -> Any:
        """Formulaic's own specification, built again on a table that has the same levels."""
        import pandas as pd

        height = max([limits.LEAST_DESIGN_ROWS, *(len(v) for v in self.levels.values())])
        table = {}
        for name in self.variables:
            pattern = rf"\b{re.escape(name)}\b"
            levels = next((v for factor, v in self.levels.items() if re.search(pattern, factor)), None)
            values = [1.0 + i for i in range(height)] if levels is None else levels
            table[name] = [values[i % len(values)] for i in range(height)]
        spec = type(self).learn(self.formula, pd.DataFrame(table)).spec
        for name, learned in self.transforms.items():
            spec.transform_state[name] = _as_dict(learned)
        return spec


def parse_formula(text: str) -> Formula:
    """Parts of a formula such as ``"positive ~ elevation + gp(lon, lat)"``."""
    sides = str(text).split("~")
    if len(sides) != 2 or not sides[0].strip():
        raise InputError(f"formula {text!r}; needed is 'response ~ terms + gp(coordinates)'.")
    fields = FIELD.findall(sides[1])
    if len(fields) != 1:
        raise InputError(
            f"formula {text!r} has {len(fields)} fields; needed is exactly one gp(...) that names the coordinates, "
            f"e.g. 'y ~ elevation + gp(lon, lat)'."
        )
    coords = tuple(name.strip() for name in fields[0].split(",") if name.strip())
    if not coords:
        raise InputError(f"formula {text!r}: gp() names no coordinates; write e.g. gp(lon, lat).")
    terms = _terms(sides[1])
    alone = [sign for sign, term in terms if FIELD.fullmatch(term)]
    if alone != ["+"]:
        raise InputError(
            f"formula {text!r}: gp(...) is part of another term; needed is a term of its own, added to them."
        )
    intercept = not any(pair in (("+", "0"), ("-", "1")) for pair in terms)
    kept = [pair for pair in terms if pair[1] not in ("0", "1") and not FIELD.fullmatch(pair[1])]
    rest = " ".join(f"{sign} {term}" for sign, term in kept).removeprefix("+ ")
    return Formula(sides[0].strip(), rest, coords, intercept, text)


def as_table(X: Any) -> Any:
    """A table with named columns, as pandas."""
    if not hasattr(X, "columns"):
        raise InputError(
            f"a formula needs a table with named columns, and X is a {type(X).__name__}; pass a data frame."
        )
    return X if hasattr(X, "iloc") or not hasattr(X, "to_pandas") else X.to_pandas()


def column_of(X: Any, value: Any) -> Any:
    """A column of a table by its name; anything that is no name as it is."""
    if not isinstance(value, str):
        return value
    if value not in as_table(X).columns:
        raise ColumnError(f"there is no column {value!r}; the table has {list(X.columns)}.")
    try:
        return np.asarray(X[value], dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"column {value!r} cannot be read as numbers ({error}); needed is one of numbers.") from error


def _terms(right: str) -> list[tuple[str, str]]:
    """Terms with their signs; what stands in brackets is not taken apart."""
    terms, depth, sign, start = [], 0, "+", 0
    for i, letter in enumerate([*right, "+"]):
        depth += (letter in "([{") - (letter in ")]}")
        if i == len(right) or (letter in "+-" and not depth):
            terms.append((sign, right[start:i].strip()))
            sign, start = letter, i + 1
    return [pair for pair in terms if pair[1]]


def _refuse_rows(name: str, seen: Any, rows: IntArray, levels: Sequence[Any]) -> None:
    """Raise if any row holds a level that the training rows have not."""
    if not len(rows):
        return
    told = ", ".join(repr(level) for level in levels[: geo_limits.LISTED_ROWS])
    raise RowError(
        f"{name!r} is {seen.iloc[rows[0]]!r} in row {int(rows[0])}, a level that the training rows have not; they have "
        f"{told}.",
        rows.tolist(),
        [f"{name!r} is {seen.iloc[row]!r}, an unknown level" for row in rows[: geo_limits.LISTED_ROWS]],
    )


def _refuse_dates(formula: Formula, data: Any) -> None:
    """Refuse dates among the linear terms, which are no numbers there."""
    for name in map(str, data.columns):
        kind = getattr(getattr(data[name], "dtype", None), "kind", "O")
        if kind in "mM" and re.search(rf"\b{re.escape(name)}\b", formula.terms):
            raise InputError(
                f"column {name!r} holds dates, which are no numbers in the terms {formula.terms!r} of a formula; make "
                f"days of them first: table['days'] = (table[{name!r}] - table[{name!r}].min()).dt.days, and write "
                f"days in place of {name}; or let the field vary in time: gp({', '.join(formula.coords)}, {name})."
            )


def _built(formula: Formula, build: Callable[[], Any], data: Any) -> Any:
    try:
        return build()
    except MissingExtraError:
        raise
    except Exception as error:  # formulaic's errors share no base
        _refuse_dates(formula, data)
        raise InputError(
            f"the terms {formula.terms!r} of the formula cannot be made from the table ({_line(error)}); check the "
            f"names of its columns, and that they have no missing values."
        ) from error


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _as_list(value: Any) -> Any:
    """What a transform has learned as lists and numbers: mappings, whose keys need not be names, as pairs."""
    if isinstance(value, Mapping):
        return ["pairs", [[_number(k), _as_list(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)) or np.ndim(value):
        return ["values", [_as_list(v) for v in value]]
    return _number(value)


def _as_dict(value: Any) -> Any:
    """Back from `_as_list`."""
    if not isinstance(value, (list, tuple)):
        return value
    kind, parts = value
    return {k: _as_dict(v) for k, v in parts} if kind == "pairs" else [_as_dict(v) for v in parts]


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError as error:
        raise MissingExtraError("formulas need formulaic; install it with: pip install 'bochner[formula]'") from error
    return formulaic


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
