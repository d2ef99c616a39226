"""Checkpoint: what a fit of a source has done so far, in a folder, noted after every part.

Each note is one file that appears when it is complete, so a process may be killed at any moment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from bochner import archive
from bochner.exceptions import InputError
from bochner.inference import Climb, RowSums, WavePlan
from bochner.moments import DenseMoments, FourierSums
from bochner.sources import Columns, Sketch

archive.register(Climb, RowSums, WavePlan, Sketch, DenseMoments, FourierSums)

KIND = "checkpoint"


class Checkpoint:
    """Notes of one fit in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def at(cls, folder: Any, identity: str, *, resume: bool) -> Self | None:
        """Notes in a folder, begun anew, or gone on with if they are of the same fit; None without a folder."""
        if folder is None:
            if resume:
                raise InputError("resume was asked for without a checkpoint; name its folder: checkpoint='folder'.")
            return None
        notes, digest = cls(Path(folder)), hashlib.sha256(identity.encode()).hexdigest()
        found = notes._read("fit")
        if found is not None and resume and found["identity"] != digest:
            raise InputError(
                f"{folder} holds the progress of another fit (other parameters, columns or files); remove it, or give "
                f"another folder."
            )
        if found is None or not resume:
            if found is None and notes.folder.exists() and any(notes.folder.iterdir()):
                raise InputError(f"the checkpoint {folder} is a folder with other files; give one of its own.")
            notes.clear()
            notes.folder.mkdir(parents=True)
            notes._write("fit", {"identity": digest})
        return notes

    def clear(self) -> None:
        """Forget all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------------------ sample

    @property
    def has_sample(self) -> bool:
        """Whether the sample is complete."""
        return (self.folder / "sample").exists()

    @property
    def sketch(self) -> tuple[int, Sketch | None]:
        """Parts that the sample has seen, and the sample so far."""
        state = self._read("sample") or self._read("sketch")
        return (0, None) if state is None else (state["done"], _changed(state["sketch"], _as_text, object))

    def keep_sketch(self, done: int, sketch: Sketch) -> None:
        """Note a sample on its way."""
        self._write("sketch", {"done": done, "sketch": _changed(sketch, _as_text, str)})

    def finish_sketch(self, sketch: Sketch) -> None:
        """Note the sample of all rows."""
        self._write("sample", {"done": -1, "sketch": _changed(sketch, _as_text, str)})

    # ------------------------------------------------------------------------------- files

    def changed(self, files: Iterable[str]) -> set[str]:
        """Files that are not what they were when they were noted last; they are noted as they are now."""
        now = {file: _stamp(file) for file in dict.fromkeys(files) if os.path.isfile(file)}
        before = (self._read("files") or {"files": {}})["files"]
        self._write("files", {"files": now})
        return {file for file, stamp in now.items() if file in before and before[file] != stamp}

    # --------------------------------------------------------------------- plan, steps, sums

    @property
    def plan(self) -> WavePlan | None:
        """What was decided from the sample."""
        state = self._read("plan")
        return None if state is None else state["plan"]

    def keep_plan(self, plan: WavePlan) -> None:
        """Note what was decided."""
        self._write("plan", {"plan": plan})

    @property
    def climb(self) -> Climb | None:
        """Where Newton's method stands."""
        state = self._read("climb")
        return None if state is None else state["climb"]

    def keep_climb(self, climb: Climb) -> None:
        """Note a Newton step: its sums begin anew."""
        self._write("climb", {"climb": climb})
        (self.folder / "sums").unlink(missing_ok=True)

    @property
    def sums(self) -> tuple[int, RowSums | None]:
        """Parts that the pass on its way has seen, and their sums."""
        state = self._read("sums")
        if state is None or state["step"] != self._step:
            return 0, None
        return state["done"], state["sums"]

    def keep_sums(self, done: int, sums: RowSums) -> None:
        """Note the sums of the parts so far."""
        self._write("sums", {"done": done, "sums": sums, "step": self._step})

    @property
    def _step(self) -> int:
        climb = self.climb
        return 0 if climb is None else climb.n_steps

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / name
        return archive.read(path, KIND) if path.exists() else None

    def _write(self, name: str, state: dict[str, Any]) -> None:
        archive.write(self.folder / name, KIND, state)


def _stamp(file: str) -> str:
    told = os.stat(file)
    return f"{told.st_size}, {told.st_mtime_ns}"


def _changed(sketch: Sketch, change: Any, to: Any) -> Sketch:
    return replace(sketch, rows=change(sketch.rows, to), edges=change(sketch.edges, to))


def _as_text(columns: Columns, to: Any) -> Columns:
    """Columns of text as fixed-width arrays, which files hold, or as objects again."""
    return {n: v.astype(to) if v.dtype == object or v.dtype.kind == "U" else np.asarray(v) for n, v in columns.items()}
