"""The exact kernel: universal kriging by one Cholesky factor of the rows."""

from __future__ import annotations

from typing import ClassVar

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import MemoryLimitError
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.memory import exact_bytes
from bochner.inference.fits.newton import Data, Mode, find_mode
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes import limits
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.linear_modes import double_precision
from bochner.kernels import Kernel
from bochner.resources import as_size


class ExactKernel(Scheme):
    """Nothing is approximated; O(n^3) time and O(n^2) memory."""

    name = "exact"
    exact: ClassVar[bool] = True

    def suits(self, case: Case) -> str | None:
        if case.has_areas:
            return f"{case.n_rows:,} rows, some of them means over areas"
        most = limits.MAX_EXACT_ROWS if case.dim <= 3 else limits.MAX_EXACT_ROWS_BEYOND
        if case.n_rows > most or not case.fits(exact_bytes(case.n_rows)):
            return None
        return f"{case.n_rows:,} distinct rows, at most {most:,}, so nothing need be approximated"

    def refuse(self, case: Case) -> None:
        needed = exact_bytes(case.n_rows)
        if not case.fits(needed):
            assert case.memory_limit is not None
            raise MemoryLimitError(
                f"the exact kernel of {case.n_rows:,} rows needs about {as_size(needed)}, more than "
                f"memory_limit={as_size(case.memory_limit)}; use features='auto', or raise the limit."
            )

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
