"""Training rows: what `fit` is given, checked, and laid out for the first time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray, as_rows, box_of
from bochner.exceptions import InputError
from bochner.families import Family
from bochner.families.base import refuse
from bochner.geo import choose_placement
from bochner.inference import Responses
from bochner.layout import limits
from bochner.layout.columns import Columns
from bochner.layout.encoding import Encoding
from bochner.layout.formula import Design
from bochner.layout.geography import Support
from bochner.layout.layout import Layout
from bochner.layout.sizes import check_responses, checked_size
from bochner.layout.trend import Trend


@dataclass(frozen=True)
class Given:
    """What `fit` is given beside the table and the responses; each a number per row, or None."""

    sample_weight: Any = None
    trials: Any = None
    exposure: Any = None
    offset: Any = None
    measurement_variance: Any = None
    groups: Any = None

    def codes(self, n: int) -> IntArray | None:
        """Number of the group of each row, (n,); None without groups."""
        if self.groups is None:
            return None
        labels = np.asarray(self.groups, dtype=object).ravel()
        if len(labels) != n:
            raise InputError(f"groups has {len(labels):,} values; needed is one per row, {n:,}.")
        missing = np.array([v is None or v != v for v in labels])
        if missing.any():
            row = int(np.argmax(missing))
            raise InputError(
                f"groups is missing in {int(missing.sum()):,} rows, first in row {row}; name the group of each."
            )
        codes = np.unique(labels.astype(str), return_inverse=True)[1].astype(np.intp)
        if not codes.any():
            raise InputError(f"groups is {labels[0]!r} in every row; needed are at least two groups, or leave it out.")
        return codes

    def checked(self, family: Family, y: FloatArray, fit_intercept: bool) -> _Checked:
        """Arrays (n,), refused where a family cannot be what they say."""
        n = len(y)
        weight = _non_negative(self.sample_weight, n, "sample_weight", 1.0)
        error = _non_negative(self.measurement_variance, n, "measurement_variance", 0.0)
        shift = as_rows(self.offset, n, "offset", 0.0)
        size = checked_size(family, n, self.trials, self.exposure)
        assert shift is not None
        if not (weight > 0).any():
            raise InputError("every sample_weight is zero; at least one row must have a positive weight.")
        size = np.broadcast_to(1.0, (n,)) if size is None else size
        check_responses(family, y, size, weight, fit_intercept)
        return _Checked(weight, error, shift, size)


@dataclass(frozen=True)
class _Checked:
    weight: FloatArray
    error: FloatArray
    offset: FloatArray
    size: FloatArray


def lay_out(
    table: FloatArray,
    y: FloatArray,
    given: Given,
    family: Family,
    columns: Columns,
    *,
    fit_intercept: bool,
    centred: bool,
    crs: str | None = None,
    support: Support | None = None,
    design: Design | None = None,
    roles: dict[str, str] | None = None,
    asked: tuple[Any, Any] = (None, None),
    encoding: Encoding | None = None,
) -> tuple[Layout, Responses]:
    """Learn how rows lie and which trend they have; the training rows themselves, so laid out.

    `centred`: whether the model may work around the middle of the places (all but kernels with an origin).
    """
    known = given.checked(family, y, fit_intercept)
    coords, covariates = columns.coords_of(table), columns.covariates_of(table)
    counts = slice(None) if np.all(known.weight > 0) else known.weight > 0  # a slice makes no copy
    placement = choose_placement(coords[counts], crs, columns.coord_names)
    places = placement.forward(coords)
    low, high = box_of(places[counts])
    if not np.all(high / 2 - low / 2 < limits.MAX_EXTENT):
        raise InputError(
            f"the coordinates extend over {np.max(high - low):.1g}: squares of such distances are beyond what a double "
            f"holds. Give them in another unit."
        )
    centre = (low + high) / 2 if centred else np.zeros(places.shape[1])
    # the mean of a response that is measured itself is taken off, so that no digits are lost on it
    level_of = y - known.offset if family.additive else np.broadcast_to(0.0, (len(y),))
    trend = Trend.learn(covariates, level_of, known.weight, columns.covariate_names, fit_intercept)
    layout = Layout(columns, placement, centre, trend, crs, design, roles or {}, asked, encoding)
    level = np.broadcast_to(trend.level, (len(y),))
    offset = level if given.offset is None else known.offset + level
    rows = layout.rows_at(coords, covariates, support)
    return layout, Responses(family, rows, y, known.size, offset, known.weight, known.error)


@dataclass(frozen=True)
class Training:
    """What `fit` was given, by reference: so that rows can be laid out again without having been kept."""

    X: Any
    y: Any
    given: Given

    def responses(self, layout: Layout, family: Family, *, whole: bool = True) -> Responses:
        """Training rows as a layout that was learned from them has them; or a part of them, which may be all zeros."""
        y = np.asarray(self.y, dtype=np.float64).ravel()
        known = self.given.checked(family, y, layout.trend.intercept and whole)
        level = np.broadcast_to(layout.trend.level, (len(y),))
        offset = level if self.given.offset is None else known.offset + level
        table = np.asarray(layout.numbers(layout.frame(self.X)), dtype=np.float64)
        rows = layout.rows(table, layout.support(self.X))
        return Responses(family, rows, y, known.size, offset, known.weight, known.error)


def _non_negative(values: Any, n: int, name: str, default: float) -> FloatArray:
    array = as_rows(values, n, name, default)
    assert array is not None
    refuse(array < 0, f"{name} is {{value}} at row {{row}}; needed are numbers >= 0.", value=array)
    return array
