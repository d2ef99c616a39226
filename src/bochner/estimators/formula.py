"""Formulas: `positive ~ elevation + gp(lon, lat)` to columns of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.exceptions import InputError, MissingExtraError

FIELD = re.compile(r"\bgp\(([^()]*)\)")
LEAST_ROWS = 50  # of the table on which a saved design is built again: enough for any polynomial or spline


@dataclass(frozen=True)
class Formula:
    """A response, the terms that enter linearly, and the coordinates of the field."""

    response: str
    terms: str  # right-hand side without the field and the intercept, in Wilkinson's notation
    coords: tuple[str, ...]
    intercept: bool
    text: str

    @property
    def right(self) -> str:
        """Linear terms as they are built: with an intercept, which the model has of its own."""
        if not self.terms:
            return "1"
        return f"1 {self.terms}" if self.terms.startswith("-") else f"1 + {self.terms}"


class Design:
    """Columns of a formula's linear terms, the same for new tables as for the one it was learned from."""

    def __init__(self, formula: Formula, data: Any) -> None:
        self.formula = formula
        self.spec = _built(
            formula, lambda: _formulaic().model_matrix(formula.right, data, na_action="raise")
        ).model_spec

    def covariates(self, data: Any) -> Any:
        """Data frame with one column for each coefficient; factors become indicators."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", _formulaic().errors.DataMismatchWarning)  # a level that the fit had not
            matrix = _built(self.formula, lambda: self.spec.get_model_matrix(data))
        return matrix.drop(columns="Intercept")

    def as_dict(self) -> dict[str, Any]:
        """What cannot be told from the formula: levels of factors, and numbers that transforms have learned."""
        levels = {
            name: [_number(v) for v in state["categories"]]
            for name, (_, state) in self.spec.encoder_state.items()
            if "categories" in state
        }
        transforms = {name: _as_list(state) for name, state in self.spec.transform_state.items()}
        columns = sorted(str(v) for v in self.spec.required_variables)
        return {"levels": levels, "transforms": transforms, "columns": columns}

    @classmethod
    def from_dict(cls, formula: Formula, state: dict[str, Any]) -> Design:
        """The design of a saved model."""
        import pandas as pd

        height = max([LEAST_ROWS, *(len(v) for v in state["levels"].values())])
        table = {}
        for name in state["columns"]:
            levels = next(
                (v for factor, v in state["levels"].items() if re.search(rf"\b{re.escape(name)}\b", factor)), None
            )
            values = [1.0 + i for i in range(height)] if levels is None else levels
            table[name] = [values[i % len(values)] for i in range(height)]
        design = cls(formula, pd.DataFrame(table))
        for name, learned in state["transforms"].items():
            design.spec.transform_state[name] = _as_dict(learned)
        return design


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


def _terms(right: str) -> list[tuple[str, str]]:
    """Terms with their signs; what stands in brackets is not taken apart."""
    terms, depth, sign, start = [], 0, "+", 0
    for i, letter in enumerate([*right, "+"]):
        depth += (letter in "([{") - (letter in ")]}")
        if i == len(right) or (letter in "+-" and not depth):
            terms.append((sign, right[start:i].strip()))
            sign, start = letter, i + 1
    return [pair for pair in terms if pair[1]]


def _built(formula: Formula, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except MissingExtraError:
        raise
    except Exception as error:  # formulaic's errors share no base
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
