"""Kriging of very many rows at once: by conjugate gradients, or from the nearest rows where these do not serve."""

from __future__ import annotations

from bochner.exceptions import MemoryLimitError
from bochner.inference.fits.iterative import IterativeEngine, NearestEngine
from bochner.inference.fits.memory import iterative_bytes
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.exact_kernel import ExactKernel
from bochner.inference.schemes.linear_modes import double_precision
from bochner.kernels import Kernel
from bochner.resources import as_size

DOUBLE = "conjugate gradients need float64"


class ConjugateGradients(Scheme):
    """The exact kernel on all rows; memory and time linear in their number, apart from FFTs."""

    name = "conjugate-gradients"

    def refuse(self, case: Case) -> None:
        needed = iterative_bytes(case.n_rows, case.dim)
        if not case.fits(needed):
            assert case.memory_limit is not None
            raise MemoryLimitError(
                f"conjugate gradients on {case.n_rows:,} rows need about {as_size(needed)}, more than memory_limit="
                f"{as_size(case.memory_limit)}; use features='auto', or raise the limit."
            )

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
    """Which scheme a mode came from after all: few rows that do not settle are factored, of many the nearest asked."""
    return {"nearest rows": NearestRows.name, "dual": ExactKernel.name}.get(mode.solver.value, ConjugateGradients.name)
