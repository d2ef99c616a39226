"""Window notes: finished windows of a map beside its output, so that a map that was killed goes on; windows on Dask."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import Window
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.tally import Tally
from bochner.sources import cluster_at

Done = tuple[FloatArray, Tally]


def windows_of(
    work: GridMap, options: Mapping[str, Any], output: Path, *, resume: bool = False, dask: Any = None
) -> Iterator[tuple[Window, FloatArray]]:
    """Windows of a map with their bands: those noted by an earlier run, if asked for, and the others as computed.

    Every window is noted when it is done, where there is more than one.
    """
    windows = work.window_list
    notes = _Notes(folder_of(output), _identity(work, options)) if len(windows) > 1 or resume else None
    if notes is not None:
        notes.begin(resume=resume)
    work.begin()
    left = [w for w in windows if notes is None or not notes.has(w)]
    computed = _here(work, left) if dask is None else _there(work, options, left, dask)
    for window in windows:
        if notes is not None and notes.has(window):
            values, tally = notes.read(window)
            work.tally.add(tally)
        else:
            values, tally = next(computed)
            if notes is not None:
                notes.keep(window, values, tally)
        yield window, values
    work.finish()


def folder_of(output: Path) -> Path:
    """Folder beside an output that its windows are noted in."""
    return output.with_name(f".{output.name}.windows")


def forget_windows(output: Path) -> None:
    """Remove the notes of a map that is complete."""
    shutil.rmtree(folder_of(output), ignore_errors=True)


class _Notes:
    def __init__(self, folder: Path, identity: str) -> None:
        self.folder, self.identity = folder, identity

    def begin(self, *, resume: bool) -> None:
        told = self.folder / "map"
        if resume and told.exists() and told.read_text() != self.identity:
            raise InputError(
                f"{self.folder} holds windows of another map (another model, grid or options); remove it, or leave out "
                f"resume."
            )
        if not resume or not told.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            told.write_text(self.identity)

    def has(self, window: Window) -> bool:
        return self._path(window).exists()

    def read(self, window: Window) -> Done:
        with np.load(self._path(window), allow_pickle=False) as state:
            return state["values"], Tally(**json.loads(str(state["tally"])))

    def keep(self, window: Window, values: FloatArray, tally: Tally) -> None:
        path = self._path(window)
        partial = path.with_suffix(".partial")
        with open(partial, "wb") as file:
            np.savez(file, values=values, tally=np.array(json.dumps(asdict(tally))))
        os.replace(partial, path)

    def _path(self, window: Window) -> Path:
        return self.folder / ("-".join(map(str, window)) + ".npz")


def _here(work: GridMap, windows: list[Window]) -> Iterator[Done]:
    for window in windows:
        whole, work.tally = work.tally, Tally()
        values, own = work.compute(window), work.tally
        whole.add(own)
        work.tally = whole
        yield values, own


def _there(work: GridMap, options: Mapping[str, Any], windows: list[Window], dask: Any) -> Iterator[Done]:
    """Windows on the workers of a cluster, a few more in flight than there are workers."""
    with cluster_at(dask) as cluster:
        client = cluster.client
        shared = client.scatter((work.model, work.grid, dict(options)), broadcast=True, hash=False)
        ahead = 2 * max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
        pending = [client.submit(_window, shared, w, pure=False, retries=3) for w in windows[:ahead]]
        for i in range(len(windows)):
            values, tally = pending.pop(0).result()
            if i + ahead < len(windows):
                pending.append(client.submit(_window, shared, windows[i + ahead], pure=False, retries=3))
            work.tally.add(tally)
            yield values, tally


def _window(shared: tuple[Any, Any, dict[str, Any]], window: Window) -> Done:
    model, grid, options = shared
    work = GridMap(model, grid, **options)
    return work.compute(window), work.tally


def _identity(work: GridMap, options: Mapping[str, Any]) -> str:
    model = work.fitted.model
    told = (model.log_evidence, repr(model.kernel), work.grid.transform, work.grid.shape, [b.name for b in work.bands])
    plain = {k: repr(v) for k, v in options.items() if k not in ("within", "memory_limit")}
    return hashlib.sha256(repr((told, plain, work.window_list)).encode()).hexdigest()
