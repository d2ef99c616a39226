"""Formulas: `positive ~ elevation + gp(lon, lat)` to columns of a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bochner.exceptions import InputError, MissingExtraError

FIELD = re.compile(r"\bgp\(([^()]*)\)")


@dataclass(frozen=True)
class Formula:
    """A response, the terms that enter linearly, and the coordinates of the field."""

    response: str
    terms: str  # right-hand side without the field, in Wilkinson's notation
    coords: tuple[str, ...]
    intercept: bool
    text: str

    @property
    def right(self) -> str:
        """Linear terms as they are built: with an intercept, which the model has of its own."""
        return f"1 + {self.terms}" if self.terms else "1"


class Design:
    """Columns of a formula's linear terms, the same for new tables as for the one it was learned from."""

    def __init__(self, formula: Formula, data: Any) -> None:
        self.formula = formula
        self.spec = _built(
            formula, lambda: _formulaic().model_matrix(formula.right, data, na_action="raise")
        ).model_spec

    def covariates(self, data: Any) -> Any:
        """Data frame with one column for each coefficient; factors become indicators."""
        matrix = _built(self.formula, lambda: self.spec.get_model_matrix(data))
        return matrix.drop(columns="Intercept")

    def as_dict(self) -> dict[str, Any]:
        """What cannot be told from the formula: levels of factors, and numbers that transforms have learned."""
        levels = {
            name: [_number(v) for v in state["categories"]]
            for name, (_, state) in self.spec.encoder_state.items()
            if "categories" in state
        }
        transforms = {
            name: {k: _number(v) for k, v in state.items()} for name, state in self.spec.transform_state.items()
        }
        columns = sorted(str(v) for v in self.spec.required_variables)
        return {"levels": levels, "transforms": transforms, "columns": columns}

    @classmethod
    def from_dict(cls, formula: Formula, state: dict[str, Any]) -> Design:
        """The design of a saved model."""
        import pandas as pd

        height = max([2, *(len(v) for v in state["levels"].values())])
        table = {}
        for name in state["columns"]:
            levels = next((v for factor, v in state["levels"].items() if re.search(rf"\b{name}\b", factor)), None)
            values = [1.0 + i for i in range(height)] if levels is None else levels
            table[name] = [values[i % len(values)] for i in range(height)]
        design = cls(formula, pd.DataFrame(table))
        for name, learned in state["transforms"].items():
            design.spec.transform_state[name].update(learned)
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
    terms = [t.strip() for t in _without_field(sides[1]).split("+")]
    intercept = not any(t in ("0", "-1") for t in terms) and "- 1" not in sides[1] and "-1" not in sides[1]
    kept = [t for t in terms if t not in ("", "0", "1", "-1")]
    return Formula(sides[0].strip(), " + ".join(kept), coords, intercept, text)


def _without_field(right: str) -> str:
    rest = re.sub(r"-\s*1\b", "", FIELD.sub("", right))
    return re.sub(r"\+\s*(?=\+|$)", "", rest.strip()).strip("+ ")


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


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError as error:
        raise MissingExtraError("formulas need formulaic; install it with: pip install 'bochner[formula]'") from error
    return formulaic


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
