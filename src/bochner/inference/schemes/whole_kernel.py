"""Schemes of the kernel itself: one Cholesky factor of the rows, conjugate gradients, or kriging from the nearest."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.fits.base import exact_bytes, iterative_bytes, nearest_bytes
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.folds import HeldOut, held_out_locally
from bochner.inference.fits.iterative import IterativeEngine, NearestEngine
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case, Scheme, Solved, double_precision
from bochner.kernels import Kernel
from bochner.random import generator
from bochner.validation import crps

MAX_EXACT_ROWS = 3_000  # rows; a dense factor of so many takes about a second
DOUBLE = "conjugate gradients need float64"


class ExactKernel(Scheme):
    """Nothing is approximated; O(n^3) time and O(n^2) memory."""

    name = "exact"
    exact: ClassVar[bool] = True

    def suits(self, case: Case) -> str | None:
        if case.has_areas:
            return f"{case.n_rows:,} rows, some of them means over areas"
        most = MAX_EXACT_ROWS if case.dim <= 3 else 5_000  # rows; beyond three dimensions no lattice is cheaper
        if case.n_rows > most or not case.fits(exact_bytes(case.n_rows)):
            return None
        return f"{case.n_rows:,} distinct rows, at most {most:,}, so nothing need be approximated"

    def refuse(self, case: Case) -> None:
        case.refuse_beyond(exact_bytes(case.n_rows), "the exact kernel of")

    def solve(self, task: Task, learned: Average) -> Solved:
        modes: list[Mode] = []
        for i, (k, s2) in enumerate(learned.pairs):
            known = learned.starts[i] if learned.starts else None
            modes.append(exact_mode(k, s2, task.data, modes[0].start if known is None and modes else known))
        asked = task.settings.n_frequencies
        unused = (
            ()
            if asked == "auto"
            else (Choice("n_frequencies", None, text=f"{asked} were asked for; the exact kernel uses none"),)
        )
        double = double_precision(task, "the exact kernel is factored in float64")
        return Solved(self.name, modes, (*unused, *double, modes[0].solver))


def exact_mode(kernel: Kernel, noise_variance: float, data: Data, start: FloatArray | None = None) -> Mode:
    """Mode with the exact kernel; its matrix is made once."""
    return find_mode(data, ExactEngine(kernel, noise_variance).of(data.rows), start=start)


class ConjugateGradients(Scheme):
    """The exact kernel on all rows; memory and time linear in their number, apart from FFTs."""

    name = "conjugate-gradients"

    def refuse(self, case: Case) -> None:
        case.refuse_beyond(iterative_bytes(case.n_rows, case.dim), "conjugate gradients on")

    def solve(self, task: Task, learned: Average) -> Solved:
        modes = [iterative_mode(k, s2, task.data) for k, s2 in learned.pairs]
        return Solved(scheme_of(modes[0]), modes, (*double_precision(task, DOUBLE), modes[0].solver))


class NearestRows(Scheme):
    """Every place is kriged from its nearest rows and some farther ones."""

    name = "nearest"

    def solve(self, task: Task, learned: Average) -> Solved:
        modes = [nearest_mode(k, s2, task.data) for k, s2 in learned.pairs]
        return Solved(self.name, modes, (*double_precision(task, DOUBLE), modes[0].solver))


def iterative_mode(kernel: Kernel, noise_variance: float, data: Data) -> Mode:
    """Mode by conjugate gradients on the rows; what only predictions need is made once, at the end."""
    return find_mode(data, IterativeEngine(kernel, noise_variance))


def nearest_mode(kernel: Kernel, noise_variance: float, data: Data) -> Mode:
    """Mode from the nearest rows alone."""
    return find_mode(data, NearestEngine(kernel, noise_variance))


def scheme_of(mode: Mode) -> str:
    """Which scheme a mode came from after all: few rows that do not settle are factored, of many the nearest asked."""
    return {"nearest rows": NearestRows.name, "dual": ExactKernel.name}.get(mode.solver.value, ConjugateGradients.name)


def may_be_nearest(task: Task) -> bool:
    """Whether waves are not what was asked for, and the nearest rows can be had."""
    ours = task.settings.features == "auto" and task.settings.n_frequencies == "auto"
    return ours and task.gaussian and not task.ordinary and nearest_bytes(len(task.obs)) <= task.settings.resources.room


def nearest_are_better(
    kernel: Kernel, noise_variance: float, obs: Observations, waves: Mode, seed: int, left: float = 0.0
) -> tuple[bool, str]:
    """Whether held-out rows are predicted better from the nearest of all others than by waves, and by how much.

    Neither can be told from the kernel alone: waves average noise away, and near rows follow a rough field. New
    observations hardly tell a surface that is known closely from one that is not. So waves are not taken that leave out
    far more variance, `left`, than the nearest rows leave unknown: four times as much is an sd of twice theirs.
    """
    test = np.sort(generator(seed, "held-out rows").choice(len(obs), min(1_000, len(obs) // 10), replace=False))
    fold = (np.setdiff1d(np.arange(len(obs)), test, assume_unique=True), test)
    held = held_out_locally(kernel, obs, noise_variance, [fold])
    near = _crps(held, obs, noise_variance)
    far = _crps(waves.fit.leave_out(obs, [fold]), obs, waves.noise_variance)
    told = f"CRPS of {len(test):,} held-out rows {near:.4g} from the nearest rows, {far:.4g} by waves"
    if left:
        told += f", which leave out a field of sd {np.sqrt(left):.2g}"
    unknown = float(np.median(held.variance))
    if near >= far and left > 4 * unknown:
        return True, f"{told}, and the nearest rows leave one of {np.sqrt(unknown):.2g} unknown"
    return near < far, told


def _crps(held: HeldOut, obs: Observations, noise_variance: float) -> float:
    """CRPS of held-out rows as new observations."""
    i = held.index
    sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[i])
    return crps(obs.y[i], held.mean, sd, sample_weight=obs.weight[i])
