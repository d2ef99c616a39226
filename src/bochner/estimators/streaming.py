"""Streaming: a fit of rows that are read in parts, from the columns of a source to a fitted estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.estimators import limits
from bochner.estimators.checkpoint import Checkpoint
from bochner.estimators.storing import NOT_GAUSSIAN, put_rows, with_store
from bochner.estimators.table_fit import TableFit
from bochner.exceptions import BochnerError, ColumnError, InputError, MemoryLimitError, PartError, RowError
from bochner.families import Family, family_named
from bochner.families.base import refuse
from bochner.geo.crs import as_crs, is_geographic
from bochner.geo.lonlat import few_off_earth, is_plain_lonlat, lonlat_axes, off_earth
from bochner.inference import Climb, Domain, Fold, Model, Responses, RowSums, Settings, WavePlan, plan_waves
from bochner.layout import Given, Layout, Training
from bochner.layout.columns import FURTHER, place_columns, plain_selectors
from bochner.layout.encoding import ORDERS
from bochner.resources import as_size, memory_bytes
from bochner.sources import (
    ArraySource,
    Columns,
    DaskSource,
    Local,
    Reading,
    Runner,
    Sketch,
    Source,
    Wanted,
    cluster_at,
    current_cluster,
    open_source,
    share_held,
    sketch,
)
from bochner.sources import limits as source_limits
from bochner.sources.row_store import RowStore, StoreWriter
from bochner.spelling import check_columns


@dataclass(frozen=True)
class Work:
    """How a source is to be worked on: where its rows are sorted, where progress is noted, on which machines."""

    store: Any = None
    checkpoint: Any = None
    resume: bool = False
    dask: Any = None

    @contextmanager
    def runner(self, source: Source) -> Iterator[Runner]:
        """What computes the parts of a pass."""
        asked = None if getattr(self.dask, "status", None) == "closed" else self.dask  # a client of a fit that is over
        own = current_cluster() if asked is None and (self.dask is not None or hasattr(source, "frame")) else None
        with nullcontext(own or Local()) if asked is None else cluster_at(asked) as found:
            yield found


@dataclass(frozen=True)
class Request:
    """A source with the parts that its columns play.

    Attributes
    ----------
    source : Source
    wanted : Wanted
    table : tuple of str
        Columns of the model, in its order.
    nameless : bool
        Whether the columns have positions instead of names, as those of a matrix.
    crs : str or None
        CRS of the coordinates, where the source or the user says it.
    """

    source: Source
    wanted: Wanted
    table: tuple[str, ...]
    nameless: bool = False
    crs: Any = None

    @property
    def asked(self) -> tuple[Any, Any]:
        """Coordinates and covariates as an estimator has them."""
        coords, covariates = list(self.wanted.coords), list(self.wanted.covariates)
        if not self.nameless:
            return coords, covariates or None
        return [self.table.index(n) for n in coords], [self.table.index(n) for n in covariates] or None

    def training(self, columns: Columns) -> Training:
        """Columns as `fit` takes them."""
        roles = self.wanted.roles
        if self.nameless:
            X: Any = np.column_stack([columns[name] for name in self.table])
            given = {role: columns[name] for role, name in roles.items()}
        else:
            import pandas as pd

            X = pd.DataFrame({name: columns[name] for name in self.table})
            X.attrs[ORDERS] = dict(self.source.orders)
            given = {role: pd.Series(columns[name], name=name) for role, name in roles.items()}
        y = given.pop("target")
        return Training(X, y, Given(**given))


@dataclass(frozen=True)
class SourceRows:
    """The rows of a fit that were read in parts, by reference: so that they can be read again."""

    request: Request
    sample: Sketch
    work: Work


@dataclass(frozen=True)
class SketchWork:
    """The sample of a part."""

    wanted: Wanted
    share: float
    size: int

    def __call__(self, reading: Reading) -> Sketch:
        return sketch(reading, self.wanted, self.size, self.share)


@dataclass(frozen=True)
class SumWork:
    """The sums of a part, seen from some coefficients."""

    request: Request
    layout: Layout
    plan: WavePlan
    coef: FloatArray | None
    sample: Sketch

    def __call__(self, reading: Reading) -> RowSums:
        usable = self.request.wanted.usable(reading)
        self.sample.check(reading.number, reading.where, usable.columns)
        with told_of(reading, usable.rows):
            return self.plan.sums(laid_out(self.request, self.layout, self.plan.family, usable.columns), self.coef)


@dataclass(frozen=True)
class StoreWork:
    """The rows of a part, put into a store; their number."""

    request: Request
    layout: Layout
    plan: WavePlan
    sample: Sketch
    writer: StoreWriter

    def __call__(self, reading: Reading) -> int:
        usable = self.request.wanted.usable(reading)
        self.sample.check(reading.number, reading.where, usable.columns)
        with told_of(reading, usable.rows):
            rows = laid_out(self.request, self.layout, self.plan.family, usable.columns)
        return put_rows(self.writer, reading.number, rows, self.plan.noise_variance)


@contextmanager
def told_of(reading: Reading, rows: IntArray) -> Iterator[None]:
    """Within: an error names the part that it is of, and a row (of those in use) by where it stands in its file."""
    try:
        yield
    except RowError as error:
        row = reading.row_name(int(rows[error.rows[0]]))
        raise InputError(f"{reading.file}, {row}: {error.reasons[0]}; {str(error).partition('; ')[2]}") from error
    except BochnerError as error:
        raise type(error)(f"{reading.where}: {error}") from error


@dataclass(frozen=True)
class Door:
    """Refuses rows of a part that a family cannot have, or that are no place on Earth, by their positions.

    Attributes
    ----------
    family : Family
    roles : mapping of str to str
        Columns by what they are to the model.
    degrees : tuple of str or None
        Longitude and latitude, where the coordinates are these.
    """

    family: Family
    roles: Mapping[str, str]
    degrees: tuple[str, str] | None = None

    def __call__(self, columns: Columns) -> None:
        given = {role: columns[name] for role, name in self.roles.items() if role not in ("target", "groups")}
        Given(**given).checked(self.family, columns[self.roles["target"]], fit_intercept=False)
        if self.degrees is None or any(columns[name].dtype.kind != "f" for name in self.degrees):
            return
        pair = np.column_stack([columns[name] for name in self.degrees])
        if few_off_earth(pair):  # if many are, it is no misprint, and the placement says so
            message = "lon, lat are {lon}, {lat} in row {row}; needed is a place on Earth: correct or drop that row."
            refuse(off_earth(pair), message, lon=pair[:, 0], lat=pair[:, 1])


def laid_out(request: Request, layout: Layout, family: Family, columns: Columns) -> Responses:
    """Columns of a part as rows of a model."""
    return request.training(columns).responses(layout, family, whole=False)


def fit_source(
    estimator: Any, data: Any, y: Any, target: Any, known: Mapping[str, Any], predict_at: Any, work: Work
) -> Any:
    """Fit an estimator to a source; see `SpatialRegressor.fit`."""
    request = requested(estimator, data, y, target, known)
    family = family_named(estimator.family)
    if work.store is not None and not family.observes_eta:
        raise PartError(NOT_GAUSSIAN.format(name=family.name))
    told = identity(estimator, request)
    with work.runner(request.source) as runner:
        notes = Checkpoint.at(work.checkpoint, told, resume=work.resume)
        if notes is not None:
            check_unchanged(request, notes)
        sample = drawn(request, runner, notes)
        training = request.training(sample.columns)
        solve = None
        if not sample.whole:
            solve = Streamed(request, sample, runner, notes, work.store, told, work.resume)
        wanted = TableFit(request.asked, predict_at, solve=solve, crs=request.crs, row_name=None)
        estimator.learn_table(training.X, training.y, training.given, wanted)
    if not sample.whole:
        estimator._source = SourceRows(request, sample.marks_alone, work)
    elif work.store is not None:
        estimator.tell(Choice("store", None, text="none was made: so few rows are fitted in memory"))
    left_out = rows_left_out(sample)
    if left_out is not None:
        estimator.tell(left_out)
    if notes is not None:
        notes.clear()
    return estimator


def check_unchanged(request: Request, notes: Checkpoint) -> None:
    """Refuse to go on where parts that were read before a fit was stopped have changed since.

    Only files that were written to are read again, and only their parts that the sample has seen.
    """
    source = request.source
    if not source.divisible:
        return
    changed = notes.changed(part.file for part in source.parts)
    sample = notes.sketch[1]
    for number, part in enumerate(source.parts):
        if sample is not None and part.file in changed and str(number) in sample.marks:
            columns = request.wanted.complete(Reading(number, part.where, part.read(request.wanted.names), part))
            sample.check(number, part.where, columns)


def rows_left_out(sample: Sketch) -> Choice | None:
    """How many rows were left out, and why; rows that are amiss are named."""
    n_all, told = sample.n_rows + sample.n_missing + sample.n_amiss, []
    if sample.n_amiss:
        more = f"; and {sample.n_amiss - len(sample.amiss):,} more" if sample.n_amiss > len(sample.amiss) else ""
        told.append(f"{sample.n_amiss:,} of {n_all:,} rows are left out as invalid: {'; '.join(sample.amiss)}{more}")
    if sample.whole and sample.n_missing:  # of many rows the choice "rows" counts them
        told.append(f"{sample.n_missing:,} of {n_all:,} rows have a missing value and are left out")
    if not told:
        return None
    return Choice("rows left out", sample.n_missing + sample.n_amiss, text=". ".join(told))


def drawn(request: Request, runner: Runner, notes: Checkpoint | None = None) -> Sketch:
    """The sample of a source: its first pass."""
    source, wanted = request.source, request.wanted
    size = source_limits.HELD_ROWS
    share = share_held(source.n_rows if source.divisible else None, size)
    done, begun = (0, None) if notes is None else notes.sketch
    if notes is not None and notes.has_sample:
        assert begun is not None
        return begun
    keep = None if notes is None else notes.keep_sketch
    found: Sketch = runner.total(
        source, wanted.names, SketchWork(wanted, share, size), start=done, begun=begun, keep=keep
    )
    if not found.n_rows:
        raise InputError(f"{source.label} has no row without a missing value; check its columns.")
    if notes is not None:
        notes.finish_sketch(found)
    return found


@dataclass(frozen=True)
class Streamed:
    """Passes over a source until the model of all rows is found; a `Solve` of `table_fit`."""

    request: Request
    sample: Sketch
    runner: Runner
    notes: Checkpoint | None = None
    store: Any = None
    mark: str = ""
    resume: bool = False

    def __call__(
        self,
        layout: Layout,
        settings: Settings,
        responses: Responses,
        folds: Sequence[Fold] | None,
        domain: Domain | None,
    ) -> Model:
        notes = self.notes
        plan = None if notes is None else notes.plan
        if plan is None:
            plan = plan_waves(settings, responses, self.sample.n_rows, folds, domain)
            if notes is not None:
                notes.keep_plan(plan)
        climb = Climb(plan.start)
        if notes is not None and notes.climb is not None:
            climb = notes.climb
        while True:
            sums = self.summed(layout, plan, climb)
            climb, fit = climb.after(plan, sums)
            if fit is not None:
                model = plan.model(fit, sums.correction, max(climb.n_steps, 1))
                break
            if notes is not None:
                notes.keep_climb(climb)
        if self.sample.n_missing:
            model = _with_missing(model, self.sample)

        def sort(writer: StoreWriter) -> RowStore:
            return self.sorted(layout, plan, replace(writer, mark=self.mark))

        return with_store(model, plan, responses.rows.coords, self.sample.n_rows, self.store, sort)

    def sorted(self, layout: Layout, plan: WavePlan, writer: StoreWriter) -> RowStore:
        """One pass: all rows in a store; parts that an earlier run has put there are not read again."""
        done = writer.begin(resume=self.resume)
        if done is None:
            return writer.store()
        work = StoreWork(self.request, layout, plan, self.sample.marks_alone, writer)
        self.runner.total(self.request.source, self.request.wanted.names, work, start=done, begun=0)
        return writer.close()

    def summed(self, layout: Layout, plan: WavePlan, climb: Climb) -> RowSums:
        """One pass: the sums of all rows, seen from where Newton's method stands."""
        work = SumWork(self.request, layout, plan, climb.coef, self.sample.marks_alone)
        done, begun = (0, None) if self.notes is None else self.notes.sums
        keep = None if self.notes is None else self.notes.keep_sums
        names = self.request.wanted.names
        sums: RowSums = self.runner.total(self.request.source, names, work, start=done, begun=begun, keep=keep)
        return sums


def requested(estimator: Any, data: Any, y: Any, target: Any, known: Mapping[str, Any]) -> Request:
    """The columns of a source, by the parts that they play."""
    if hasattr(estimator, "formula"):
        raise PartError("a formula with a source; name coords= and covariates= instead, or give a table in memory.")
    limit = memory_bytes(estimator.memory_limit)
    if isinstance(y, str):
        y, target = None, y if target is None else target
    source = open_source(data, y, part_rows_of(limit))
    if y is not None and not isinstance(source, (ArraySource, DaskSource)):
        raise InputError(
            f"y was given as a {type(y).__name__} beside {source.label}, whose rows are read in parts; name the column "
            f"to be modelled: target='name'."
        )
    names = source.names
    nameless = all(name == f"x{j}" for j, name in enumerate(n for n in names if n != "y"))
    column = _target(source, y, target)
    roles = {"target": column}
    for role, value in known.items():
        if value is None:
            continue
        if not isinstance(value, (str, int)):
            raise InputError(
                f"{role} is a {type(value).__name__}; of a source, needed is the name of its column: {role}='name'."
            )
        roles[role] = value if isinstance(value, str) else names[value]
    check_columns(list(roles.values()), names, source.label)
    taken = set(roles.values())
    coords, covariates = (
        None if part is None else [c if isinstance(c, str) else names[c] for c in part]
        for part in plain_selectors(estimator.coords, estimator.covariates)
    )
    linear = covariates or []
    coords = _coords(source, [n for n in names if n not in taken and n not in linear]) if coords is None else coords
    check_columns([*coords, *linear], names, source.label)
    twice = [n for n in (*coords, *linear) if n in taken]
    if twice:
        raise ColumnError(f"column {twice[0]!r} is the response or the like, and a coordinate or covariate; name one.")
    crs = source.crs if estimator.crs is None and set(coords[:2]) == set((source.coords or ())[:2]) else estimator.crs
    door = Door(family_named(estimator.family), roles, _degrees(coords, crs))
    wanted = Wanted(tuple(coords), tuple(linear), roles, source.sparse, source.drop_bad, door)
    used = [n for n in names if n in coords or n in linear] if nameless else [*coords, *linear]
    _check_parts(source, wanted, limit)
    return Request(source, wanted, tuple(used), nameless, crs)


def part_rows_of(memory_limit: int | None) -> int:
    """Rows that are read at once under a limit of memory."""
    if memory_limit is None:
        return source_limits.PART_ROWS
    return int(np.clip(memory_limit * limits.PART_SHARE / limits.PART_ROW_BYTES, 10_000, source_limits.PART_ROWS))


def identity(estimator: Any, request: Request) -> str:
    """What tells one fit from another: parameters, columns, and the parts of the source."""
    source = request.source
    parts = [(p.where, p.n_rows) for p in source.parts] if source.divisible else []
    params = {k: v for k, v in estimator.get_params(deep=False).items() if k not in ("n_jobs", "verbose")}
    return repr((type(estimator).__name__, params, request.wanted, parts, source.identity))


def _check_parts(source: Source, wanted: Wanted, limit: int | None) -> None:
    if limit is None or not source.divisible:
        return
    largest = max((part.n_rows or 0 for part in source.parts), default=0)
    needed = largest * (limits.PART_ROW_BYTES + 8 * len(wanted.names))
    if needed > limit:
        raise MemoryLimitError(
            f"a part of {source.label} has {largest:,} rows, or about {as_size(needed)}, more than memory_limit="
            f"{as_size(limit)}; write it with smaller row groups or partitions, or raise the limit."
        )


def _target(source: Source, y: Any, target: Any) -> str:
    if target is None and y is not None and "y" in source.names:
        return "y"
    if target is None:
        left = [n for n in source.names if n not in (source.coords or ())]
        if source.coords is not None and len(left) == 1:
            return left[0]
        raise InputError(f"no target was given; name the column of {source.label} to be modelled: target='name'.")
    if isinstance(target, str):
        return target
    if not -len(source.names) <= target < len(source.names):
        raise ColumnError(f"there is no column {target}; {source.label} has {len(source.names)} columns.")
    return source.names[target]


def _coords(source: Source, rest: list[str]) -> list[str]:
    """Coordinates where they were not named: those of the source, or by their names."""
    if source.coords is not None:
        return [n for n in source.coords if n in rest]
    places = place_columns(rest)
    if places:
        return [n for n in rest if n in places or FURTHER.fullmatch(n.lower())]
    if all(n.startswith("x") and n[1:].isdigit() for n in rest):
        return rest
    if "geometry" in rest:
        raise ColumnError(
            f"the places of {source.label} are a column of geometries, and target= is for columns of numbers; give the "
            f"two apart: fit(frame.drop(columns=TARGET), frame[TARGET])."
        )
    raise ColumnError(
        f"no coordinate columns were recognised in {source.label} (its columns are {list(source.names)}); name them: "
        f"coords=['x', 'y']."
    )


def _degrees(coords: Sequence[str], crs: Any) -> tuple[str, str] | None:
    """Longitude and latitude, where coordinates are in degrees by their names or their CRS."""
    if len(coords) < 2 or not (is_plain_lonlat(coords) if crs is None else is_geographic(as_crs(crs))):
        return None
    east, north = lonlat_axes(coords)
    return coords[east], coords[north]


def _with_missing(model: Model, sample: Sketch) -> Model:
    told = next(c for c in model.choices if c.name == "rows")
    text = f"{told}; {sample.n_missing:,} with a missing value are left out"
    changed = tuple(Choice(c.name, c.value, text=text) if c.name == "rows" else c for c in model.choices)
    return replace(model, choices=changed)


def default_checkpoint(output: Path) -> Path:
    """Folder beside a model file in which a fit notes its progress."""
    return output.with_name(f".{output.name}.checkpoint")
