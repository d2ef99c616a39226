"""Kriging of very many rows at once: by conjugate gradients, or from the nearest rows where these do not serve."""

from __future__ import annotations

from bochner.inference.fits.iterative import IterativeEngine, NearestEngine
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.average import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme, Solved
from bochner.inference.schemes.linear_modes import double_precision
from bochner.kernels import Kernel

DOUBLE = "conjugate gradients need float64"


class ConjugateGradients(Scheme):
    """The exact kernel on all rows; memory and time linear in their number, apart from FFTs."""

    name = "conjugate-gradients"

    def solve(self, task: Task, learned: Average) -> Solved:
        modes = [iterative_mode(k, s2, task.data) for k, s2 in learned.pairs]
        return Solved(scheme_of(modes[0]), modes, (*double_precision(task, DOUBLE), modes[0].solver))


class NearestRows(Scheme):
    """Every place is kriged from its nearest rows and some farther ones."""

    name = "nearest"

    def solve(self, task: Task, learned: Average) -> Solved:
        modes = [find_mode(task.data, NearestEngine(k, s2)) for k, s2 in learned.pairs]
        return Solved(self.name, modes, (*double_precision(task, DOUBLE), modes[0].solver))


def iterative_mode(kernel: Kernel, noise_variance: float, data: Data) -> Mode:
    """Mode by conjugate gradients on the rows; what only predictions need is made once, at the end."""
    return find_mode(data, IterativeEngine(kernel, noise_variance))


def scheme_of(mode: Mode) -> str:
    """Which of the two schemes a mode came from after all."""
    return NearestRows.name if mode.solver.value == "nearest rows" else ConjugateGradients.name
