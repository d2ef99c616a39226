"""Streams: fits of files that are read in parts, as a spec asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bochner import SpatialRegressor, estimate_fit, like
from bochner.cli._models import opened, unfitted
from bochner.cli._spec import Spec
from bochner.cli._terminal import note, status
from bochner.diagnostics import remember
from bochner.estimators.streaming import default_checkpoint, part_rows_of
from bochner.exceptions import InputError
from bochner.geo import read_places
from bochner.resources import memory_bytes
from bochner.sources import Source, open_source

LARGE_FILE = 200 * 10**6  # bytes


def streams(spec: Spec) -> bool:
    """Whether the data are read in parts: a folder, a large file, or because an option asks for it."""
    asked = spec.resume or spec.dask is not None or spec.memory_limit is not None or spec.store is not None
    return asked or _is_folder(spec.data) or (spec.data.is_file() and spec.data.stat().st_size > LARGE_FILE)


def fit_stream(spec: Spec, client: Any = None) -> SpatialRegressor:
    """Fit the model that a spec asks for, part by part, on the client of --dask if it is open; its cost is told."""
    for name in ("covariate", "error_sd", "layer", "fix_swapped"):
        if getattr(spec, name):
            raise InputError(
                f"--{name.replace('_', '-')} was given with data that are read in parts; change the files (add "
                f"columns, exchange coordinates; errors as variances, by SpatialRegressor.fit), or fit a smaller file."
            )
    known = {
        name: getattr(spec, name)
        for name in ("trials", "exposure", "offset", "groups")
        if getattr(spec, name) is not None
    }
    if spec.like is not None:
        given = [*known, *(name for name in ("coords", "covariates", "resume", "store", "dask") if getattr(spec, name))]
        if given:
            raise InputError(
                f"--{given[0]} was given with --like, whose model says what is fitted and where; leave it out."
            )
        with status("summing"):
            return like(opened(spec.like)).partial_fit(_opened(spec), target=spec.target)
    model = unfitted(spec).set_params(
        coords=list(spec.coords) or None,
        covariates=list(spec.covariates) or None,
        crs=spec.crs,
        memory_limit=spec.memory_limit,
    )
    source = _opened(spec)
    note(*source.notes, str(estimate_fit(source, target=spec.target, model=model, **known)))
    with status("learning"):
        model.fit(
            source,
            target=spec.target,
            predict_at=_wanted(spec),
            store=None if spec.store is None else str(spec.store),
            checkpoint=None if spec.output is None else default_checkpoint(spec.output),
            resume=spec.resume,
            dask=spec.dask if client is None else client,
            **known,
        )
        remember(model)
    left_out = model.choices_.get("rows left out")
    if left_out is not None:
        note(f"{left_out}.")
    return model


def _opened(spec: Spec) -> Source:
    rows = part_rows_of(memory_bytes(spec.memory_limit))
    return open_source(str(spec.data), part_rows=rows, drop_bad=spec.drop_bad)


def _wanted(spec: Spec) -> Any:
    return None if spec.predict_at is None else read_places(spec.predict_at).pair()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and path.suffix.lower() != ".zarr"
