"""From a table to a fitted value: its columns, the rows that they make, what is odd about them, the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, unmasked
from bochner.choices import Choice
from bochner.estimators import limits
from bochner.estimators.constructor import settings_of
from bochner.estimators.crossvalidation import make_folds
from bochner.estimators.door import checked_training
from bochner.estimators.fit_cost import fit_cost
from bochner.estimators.fitted import Fitted
from bochner.estimators.progress import progress_logging
from bochner.estimators.summary import outliers_text
from bochner.exceptions import CheckWarning, InputError, warn
from bochner.families import family_named
from bochner.inference import Domain, Fold, Model, Responses, Settings, fit_model
from bochner.layout import Design, Encoding, Given, Layout, Training, bent, lay_out
from bochner.layout.columns import (
    called,
    encodable,
    named_columns,
    plain_selectors,
    resolve_columns,
    roles_of,
    table_names,
    told_of_axes,
    told_of_unused,
    unused_columns,
    used_part,
)
from bochner.layout.geography import agreed, crs_of, perhaps_degrees, spelled_out, support_of, without_geometry
from bochner.layout.row_names import RowName, by_label, by_place, by_position
from bochner.layout.sizes import copies_without_noise, odd_weights

Solve = Callable[[Layout, Settings, Responses, Sequence[Fold] | None, Domain | None], Model]
"""Rows that were laid out, a sample perhaps, to the model of all of them."""


@dataclass(frozen=True)
class TableFit:
    """What a fit asks of a table.

    Attributes
    ----------
    columns : (coords, covariates)
        As the user named them, or None.
    predict_at
        Where predictions will be wanted, if that is known.
    intercept : bool or None
        Whether there is one; None: as the estimator says.
    design : Design or None
        Columns that a formula makes of others.
    solve : Solve or None
        What gives the model, where the table is but a sample of its rows.
    crs
        In place of the estimator's own.
    row_name : callable or None
        What rows are called in warnings and findings, by position; None: by their coordinates, since their order is
        not the user's. By default, by the position in the table, and by its label in an index.
    """

    columns: tuple[Any, Any]
    predict_at: Any = None
    intercept: bool | None = None
    design: Design | None = None
    solve: Solve | None = None
    crs: Any = None
    row_name: RowName | None = by_position


@dataclass(frozen=True)
class _Laid:
    """A table as rows, with the columns that they were made of and what is to be told of them."""

    table: FloatArray
    coords: FloatArray  # as the table has them
    layout: Layout
    responses: Responses
    choices: tuple[Choice, ...]


def fit_table(estimator: Any, X: Any, y: Any, given: Given, wanted: TableFit) -> tuple[Fitted, Training]:
    """The fit as one page: the fitted value, and what it was given."""
    settings = settings_of(estimator)
    X, y = encodable(unmasked(X)), unmasked(y)
    laid = _laid_out(estimator, settings, X, y, given, wanted)
    if np.count_nonzero(laid.responses.weight) == 1 and settings.learns:
        raise InputError(
            "fit was given 1 sample (n_samples=1); learning a kernel needs at least 2. Give more rows, or a kernel "
            "with tune=None."
        )
    row_name = wanted.row_name
    if row_name is by_position:
        row_name = by_label(X) or by_position
    unit = _in_another_unit(settings, laid)
    if unit:
        warn(unit, CheckWarning)
    odd, weights = laid.layout.oddities(laid.table, laid.responses, row_name), odd_weights(laid.responses.weight)
    for finding in (*odd.alarms, *((weights,) if weights else ())):
        warn(finding, CheckWarning)
    layout, responses, model = _modelled(estimator, settings, laid, given, wanted)
    copied = _copied(settings, responses, model)
    if copied:
        warn(copied, CheckWarning)
    said = (
        *((unit,) if unit else ()),
        *((weights,) if weights else ()),
        *((copied,) if copied else ()),
        *odd.alarms,
        *odd.notes,
    )
    if model.outliers and row_name is not by_position:  # told now: later on nothing knows the names
        called = row_name or by_place(laid.coords, layout.columns.coord_names)
        said, model = (*said, outliers_text(model.outliers, called)), replace(model, outliers=())
    return Fitted(layout, model, said), Training(X, y, given)


def _laid_out(estimator: Any, settings: Settings, X: Any, y: Any, given: Given, wanted: TableFit) -> _Laid:
    """Columns by name or position, categories and dates as numbers, places on a plane or the sphere."""
    asked, design, roles = wanted.columns, wanted.design, roles_of(y, given)
    if design is None:
        asked = named_columns(X, spelled_out(X, asked[0]), asked[1], set(roles.values()))
    part = without_geometry(X, *asked, None) if design is None else design.frame(X)
    part = used_part(part, *asked)
    encoding = Encoding.learn(part, plain_selectors(*asked)[1] or ())
    table, y_values = checked_training(estimator, part, encoding, y)
    chosen = asked
    if encoding is not None:
        chosen = (asked[0], encoding.expanded([str(c) for c in plain_selectors(*asked)[1] or ()]))
    names = table_names(part, table.shape[1]) if encoding is None else encoding.expanded(encoding.names)
    columns = resolve_columns(names, *chosen)
    crs = agreed(crs_of(X, columns.coord_names), estimator.crs if wanted.crs is None else wanted.crs)
    layout, responses = lay_out(
        table,
        y_values,
        given,
        family_named(estimator.family),
        columns,
        fit_intercept=_has_intercept(estimator) if wanted.intercept is None else wanted.intercept,
        centred=settings.kernel is None or settings.kernel.stationary,
        crs=crs,
        support=None if design is not None else support_of(X, asked[0], crs),
        design=design,
        roles=roles,
        asked=plain_selectors(*asked),
        encoding=encoding,
    )
    told = [layout.placement.choice] if layout.placement.unit else []
    if crs is None and not told and perhaps_degrees(columns.coords_of(table), plain_selectors(*wanted.columns)[0]):
        told.append(_no_degrees(columns.coord_names, layout.placement.kind))
    if encoding is not None:
        told += encoding.choices
    if design is None:
        known = {*roles.values(), *(called(part, columns)[j] for j in (*columns.coords, *columns.covariates))}
        unused = unused_columns(X, *asked, known) or [name for name in called(part, columns) if name not in known]
        if unused:
            told.append(Choice("columns", tuple(unused), text=_unused_told(unused, layout, plain_selectors(*asked)[0])))
        if unused and asked[1] is None:
            ways = "Name those that are covariates, covariates=[...]; with covariates=[] the fit does not warn."
            warn(f"columns {told[-1]} {ways}", CheckWarning)
        if wanted.columns[0] is None and len(columns.coords) > 3:
            text, odd = told_of_axes(part, columns, table)
            told.append(Choice("columns", len(columns.coords), text=text))
            if odd:
                warn(text, CheckWarning)
    return _Laid(table, columns.coords_of(table), layout, responses, tuple(told))


def _in_another_unit(settings: Settings, laid: _Laid) -> str:
    """What to say of given length scales that are in metres, by their size, where places are in km; empty if none."""
    kernel, placement, n_places = settings.kernel, laid.layout.placement, laid.responses.rows.coords.shape[1]
    if kernel is None or settings.learns or not placement.unit:
        return ""
    of_space = n_places - (laid.coords.shape[1] - 2)  # what is neither, depth or time, stands behind
    lengths = [
        float(np.exp(theta))
        for h, theta in zip(kernel.hyperparameters, kernel.theta, strict=True)
        if h.role.is_range and min(h.axes(n_places)) < of_space
    ]
    extent = float(np.ptp(laid.responses.rows.coords[:, :of_space], axis=0).max())
    far = limits.FAR_TOO_LONG * extent
    if not lengths or not far < min(lengths) <= 1000 * far:  # in km far too long, in metres not
        return ""
    told = f"the length scale of the kernel is {min(lengths):,.0f} km, and the rows span {extent:,.4g} km"
    return (
        f"{told}: places that have a CRS are brought to km, and lengths are in km, too; if it was meant in metres, "
        f"write {min(lengths) / 1000:,.4g}."
    )


def _unused_told(unused: Sequence[str], layout: Layout, coords: Sequence[str | int] | None) -> str:
    """What to say of columns that are not used."""
    so_far = ", ".join(map(repr, coords or ["geometry"]))
    return told_of_unused(unused, None if layout.last_is_time else f"coords=[{so_far}, '{{}}']")


def _no_degrees(names: Sequence[str], kind: str) -> Choice:
    """What to say of coordinates that could be degrees by their numbers."""
    told = (
        f"{names[0]}, {names[1]} have no CRS and are taken as a plane, in their own unit; if they are degrees, say so"
    )
    return Choice("places", kind, text=f"{told}: crs='EPSG:4326' (--crs EPSG:4326).")


def _has_intercept(estimator: Any) -> bool:
    """What is no truth value is refused with the other parameters."""
    return bool(estimator.fit_intercept) if np.isscalar(estimator.fit_intercept) else True


def _modelled(
    estimator: Any, settings: Settings, laid: _Laid, given: Given, wanted: TableFit
) -> tuple[Layout, Responses, Model]:
    """The model of rows, with what was decided about their table, and the rows with their curves."""
    layout, responses = laid.layout, laid.responses
    settings = replace(settings, shrinks=layout.design is None and settings.reml)
    places = layout.wanted(wanted.predict_at)
    # blocks are laid out around the user's own origin, not around the middle of the data
    coords, at = responses.rows.coords + layout.centre, None if places is None else places + layout.centre
    groups = given.codes(len(responses))
    folds = make_folds(estimator.tune, coords, responses.y, at, settings.seed, groups, layout)
    domain = layout.domain(laid.coords, places, groups)
    with settings.resources.in_use(len(responses)):
        layout, responses, curves = bent(layout, responses, laid.table, settings, domain)
    settings = replace(settings, n_bends=layout.trend.n_bends)
    n_rows, dim, n_trend = len(responses), coords.shape[1], responses.rows.trend.shape[1]
    searches = estimator.kernel is None
    cost = fit_cost(n_rows, dim, n_trend, responses.family, learns=settings.learns, searches=searches)
    shown = progress_logging(estimator.verbose, cost.seconds, f"{n_rows:,} rows")
    with settings.resources.in_use(n_rows), shown:
        if wanted.solve is None:
            model = fit_model(settings, responses, folds, domain)
        else:
            model = wanted.solve(layout, settings, responses, folds, domain)
    return layout, responses, replace(model, choices=_told(model.choices, curves, laid.choices))


def _told(*parts: Sequence[Choice]) -> tuple[Choice, ...]:
    return tuple(choice for part in parts for choice in part)


def _copied(settings: Settings, responses: Responses, model: Model) -> str:
    """What to say where weights, taken for copies, left a noise that was to be learned at nothing; empty if not."""
    learned = settings.learns and settings.noise_variance is None and not responses.error.any()
    if not (responses.gaussian and learned):
        return ""
    return copies_without_noise(responses.weight, model.noise_variance, model.scale.variance)
