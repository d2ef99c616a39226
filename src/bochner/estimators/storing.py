"""Storing: the rows of a source sorted by place, and the posterior that answers from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.estimators import limits
from bochner.exceptions import ApproximationWarning, PartError, warn
from bochner.inference import Model, Responses, WavePlan
from bochner.neighbours import nearest_sd
from bochner.posterior import CoefficientPosterior, Mixture, StoredPosterior
from bochner.random import generator
from bochner.sources import limits as source_limits
from bochner.sources.row_store import Cells, RowStore, StoreWriter

Sort = Callable[[StoreWriter], RowStore]
"""Passes over all rows and puts them into a store."""

NOT_GAUSSIAN = (
    "a store with family={name!r}: what waves leave is kriged from near rows, which is for Gaussian responses. Leave "
    "store out (waves alone; check() says what they leave), or fit the rows of a smaller region in memory."
)


def with_store(model: Model, plan: WavePlan, sample: FloatArray, n_rows: int, folder: Any, sort: Sort) -> Model:
    """The model, answering from a store of all rows where waves leave out too much; `sample` are some places."""
    if not plan.rough:
        if folder is None:
            return model
        told = Choice("store", None, text="none was made: the waves hold all that the rows can tell")
        return replace(model, choices=(*model.choices, told))
    if folder is None:
        warn(
            f"{model.n_frequencies:,} waves leave out more of this field than its rows can tell, and what they leave "
            f"out is carried as noise. Name a folder for the rows (store=, --store) to krige it from them.",
            ApproximationWarning,
        )
        return model
    posterior = model.posterior
    if not plan.family.observes_eta or not isinstance(posterior, CoefficientPosterior):
        raise PartError(NOT_GAUSSIAN.format(name=plan.family.name))
    n_trend = len(posterior.trend_coef)
    names = (*(f"trend{i}" for i in range(n_trend)), "y", "error")
    store = sort(StoreWriter(str(Path(folder).resolve()), cells_of(sample, n_rows), names))
    n_near = neighbours_needed(store, plan)
    stored = StoredPosterior(posterior, plan.kernel, store, n_near)
    text = f"{n_rows:,} rows sorted by place in {store.folder}: what waves leave is kriged from {n_near} near rows"
    return replace(
        model,
        mixture=Mixture([stored], model.mixture.mass, model.mixture.noise_variance),
        choices=(*(_kriged(one) for one in model.choices), Choice("store", store.folder, text=text)),
        kernel_error=None,  # that of the waves alone, which are the far field only
    )


def _kriged(choice: Choice) -> Choice:
    """What is said of the waves, where near rows answer for what they leave."""
    if choice.name != "n_frequencies":
        return choice
    told = str(choice).partition("; with rows that are read in parts")[0]
    return Choice(choice.name, choice.value, text=f"{told}; near rows answer for it")


def cells_of(sample: FloatArray, n_rows: int) -> Cells:
    """Cells of a store of so many rows, from the places of a sample."""
    box = (sample.min(axis=0), sample.max(axis=0))
    room = 1e-9 * np.maximum(box[1] - box[0], 1e-300)
    most = max(source_limits.STORE_CELL_ROWS * len(sample) / n_rows, 1.0)
    return Cells.over(sample, (box[0] - room, box[1] + room), most)


def put_rows(writer: StoreWriter, number: int, rows: Responses, noise_variance: float) -> int:
    """Put the rows of a part into a store; their number."""
    obs = rows.observations().with_weight()
    error = obs.copy_variance(noise_variance) / obs.weight
    writer.put(number, obs.rows.coords, [*obs.rows.trend.T, obs.y, error])
    return len(obs)


def neighbours_needed(store: RowStore, plan: WavePlan) -> int:
    """Rows that a place needs: twice as many would tell hardly more."""
    rng, counts = generator(0, "store probes"), store.counts
    cell = int(np.argsort(counts)[len(counts) // 2 :][0])  # of ordinary size
    low, high = (corner[cell] for corner in store.cells.boxes)
    rows = store.around(low - (high - low), high + (high - low))
    dim = len(low)
    targets = rng.uniform(low, high, size=(limits.STORE_PROBES, dim))
    coords, error = rows[:, :dim], rows[:, -1]
    k = limits.LEAST_NEAR_ROWS
    sd = nearest_sd(plan.kernel, error, coords, targets, k)
    while k < limits.MOST_NEAR_ROWS and 2 * k <= len(rows):
        more = nearest_sd(plan.kernel, error, coords, targets, 2 * k)
        if np.mean(more) > limits.NEAR_ENOUGH * np.mean(sd):
            return k
        k, sd = 2 * k, more
    return k
