"""Estimate of a fit: memory, time and passes over a source, before the work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.estimators import limits
from bochner.estimators.constructor import settings_of
from bochner.estimators.fit_cost import fit_cost
from bochner.estimators.regressor import SpatialRegressor
from bochner.estimators.streaming import Request, requested
from bochner.exceptions import MemoryLimitError
from bochner.families import family_named
from bochner.features import FourierMap, Rows
from bochner.frequencies import RULES, lattice_frequencies
from bochner.inference.fits.base import column_bytes, max_columns
from bochner.inference.schemes.lattice_scheme import MAX_LATTICE_WAVES
from bochner.inference.schemes.rule_waves import MAX_RULE_WAVES
from bochner.kernels import Matern
from bochner.moments import dense_moments, fourier_sums
from bochner.random import generator
from bochner.resources import as_size, memory_bytes
from bochner.sources import Reading
from bochner.sources import limits as source_limits
from bochner.sources.sketch import row_keys


@dataclass(frozen=True)
class FitEstimate:
    """What a fit of a source will take.

    Attributes
    ----------
    n_rows : int
        Rows; where a source does not count them, as many as its size lets expect.
    n_parts : int
        Parts that it is read in.
    passes : int
        Times that all rows are read: one for the sample, one for the sums of Gaussian responses, or one for each of
        about eight Newton steps.
    n_columns : int
        Columns of the linear model, at most.
    memory_bytes : int
        Beyond what the process holds; does not grow with the rows.
    seconds : float
        Of reading and summing, by a trial on the first part, and of tuning and solving.
    in_memory : bool
        Whether the rows are so few that they are fitted as a table.
    """

    n_rows: int
    n_parts: int
    passes: int
    n_columns: int
    memory_bytes: int
    seconds: float
    in_memory: bool

    def __str__(self) -> str:
        if self.in_memory:
            took = f"about {self.seconds:,.0f} s and {as_size(self.memory_bytes)}"
            return f"{self.n_rows:,} rows: fitted in memory, {took}"
        return (
            f"{self.n_rows:,} rows in {self.n_parts:,} parts: {self.passes} passes, about {self.seconds:,.0f} s and "
            f"{as_size(self.memory_bytes)} (up to {self.n_columns:,} columns)"
        )


def estimate_fit(data: Any, y: Any = None, *, target: Any = None, model: Any = None, **known: Any) -> FitEstimate:
    """Memory, time and passes that a fit of a source would take, from a trial on its first part.

    Parameters
    ----------
    data, y, target
        As of `SpatialRegressor.fit`.
    model : SpatialRegressor, optional
        With the parameters of the fit; default: one with those given here by name.
    **known
        Parameters of `SpatialRegressor` (`coords`, `covariates`, `family`, `memory_limit`, ...), or columns of the
        source by role (`trials`, `exposure`, ...).

    Raises
    ------
    MemoryLimitError
        Where the fit would not stay within `memory_limit`; it says what to change.
    """
    roles = {k: known.pop(k) for k in list(known) if k in ROLES}
    estimator = SpatialRegressor(**known) if model is None else model
    settings = settings_of(estimator)
    request = requested(estimator, data, y, target, roles)
    limit = memory_bytes(estimator.memory_limit)
    n_rows, n_parts, reading, read_s = _counted(request)
    dim = len(request.wanted.coords)
    asked = settings.n_frequencies
    most = MAX_LATTICE_WAVES if dim <= 3 else MAX_RULE_WAVES
    columns = 2 * int(asked) if asked != "auto" else max_columns(limit, 2 * most)
    rows_at_once = max(len(next(iter(reading.columns.values()))), 1)
    part = rows_at_once * (limits.PART_ROW_BYTES + 8 * len(request.wanted.names))
    held = n_rows <= source_limits.HELD_ROWS
    sample = limits.SAMPLE_ROW_BYTES * min(n_rows, source_limits.HELD_ROWS)
    memory = int(part + max(column_bytes(columns), sample))  # it is tuned before the columns are summed
    if limit is not None and memory > limit:
        raise MemoryLimitError(
            f"the fit of {n_rows:,} rows would take about {as_size(memory)} ({as_size(part)} for a part of "
            f"{rows_at_once:,} rows; {as_size(sample)} for tuning on a sample, then {as_size(column_bytes(columns))} "
            f"for {columns:,} columns), more than memory_limit={as_size(limit)}; take fewer waves (n_frequencies), "
            f"smaller row groups, or raise the limit."
        )
    family = family_named(estimator.family)
    passes = 2 if family.observes_eta else 1 + limits.TYPICAL_STEPS
    read, sampled, summed = read_s / rows_at_once, *_trial(request, reading, columns, dim)
    per_row = max(read, sampled) + (passes - 1) * max(read, summed)  # reading overlaps computing
    seconds = n_rows * per_row + limits.TUNING_SECONDS + (passes - 1) * limits.SOLVE_SECONDS * (columns / 5_000) ** 3
    if held:
        n_trend = 1 + len(request.wanted.names) - dim - 1 - len(roles)
        searches, learns = estimator.kernel is None, settings.learns
        cost = fit_cost(n_rows, dim, max(n_trend, 1), family, learns=learns, searches=searches)
        memory, seconds = max(memory, cost.memory_bytes), cost.seconds
    return FitEstimate(n_rows, n_parts, 1 if held else passes, columns, memory, float(seconds), held)


ROLES = ("sample_weight", "trials", "exposure", "offset", "measurement_variance", "groups")


def _counted(request: Request) -> tuple[int, int, Reading, float]:
    """Rows and parts of a source, its first part, and the seconds that reading it takes."""
    source = request.source
    begin = time.perf_counter()
    if not source.divisible:
        readings = list(source.read(request.wanted.names))
        n = sum(len(next(iter(r.columns.values()))) for r in readings)
        return n, len(readings), readings[0], (time.perf_counter() - begin) / len(readings)
    part = source.parts[0]
    reading = Reading(0, part.where, part.read(request.wanted.names), part)
    seconds = time.perf_counter() - begin
    known = source.n_rows
    if known is None:
        first = len(next(iter(reading.columns.values())))
        known = first * len(source.parts)
        sizes = [getattr(p, "stop", 0) - getattr(p, "start", 0) for p in source.parts]
        if sizes[0]:  # parts of a text are as long as their bytes
            known = int(first * sum(sizes) / sizes[0])
    return known, len(source.parts), reading, seconds


def _trial(request: Request, reading: Reading, columns: int, dim: int) -> tuple[float, float]:
    """Seconds a row for the sample, and for the sums, by a trial on a few rows."""
    some = {name: values[: limits.TRIAL_SUM_ROWS] for name, values in request.wanted.complete(reading).items()}
    n = max(len(next(iter(some.values()))), 1)
    begin = time.perf_counter()
    row_keys(some, request.wanted.names)
    sampled = (time.perf_counter() - begin) / n
    numbers = [v for name, v in some.items() if name in request.wanted.coords and v.dtype.kind == "f"]
    if len(numbers) != dim or n < 2:
        return sampled, 0.0
    coords = np.column_stack(numbers)
    extent = np.maximum(np.ptp(coords, axis=0), 1e-300)
    rows = Rows(coords / extent, np.ones((n, 1)))
    weight, m = np.ones(n), max(columns // 2, 1)
    if dim <= 3:
        kernel = Matern(nu=0.5, length_scale=0.1)
        frequencies = lattice_frequencies(kernel, np.ones(dim), n_frequencies=m, seed=0)
        begin = time.perf_counter()
        fourier_sums(frequencies, rows, weight, weight)
    else:
        drawn = RULES["orthogonal"].draw(Matern(), m, dim, generator(0, "frequencies"))
        few = rows[slice(0, limits.TRIAL_DENSE_ROWS)]
        begin, n = time.perf_counter(), len(few)
        dense_moments(FourierMap(drawn), few, weight[:n], weight[:n])
    return sampled, (time.perf_counter() - begin) / n
