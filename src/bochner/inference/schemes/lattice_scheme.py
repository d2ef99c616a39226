"""The lattice: few equispaced waves where they hold everything, else another way to the same kernel."""

from __future__ import annotations

from dataclasses import replace

from bochner.choices import Choice
from bochner.exceptions import PartError
from bochner.inference.fits.fixed_effects import information_of
from bochner.inference.fits.memory import exact_bytes, iterative_bytes
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.schemes import limits
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.exact_kernel import ExactKernel, exact_mode
from bochner.inference.schemes.iterative_kriging import iterative_mode, scheme_of
from bochner.inference.schemes.lattice_waves import lattice_waves
from bochner.inference.schemes.linear_modes import double_precision, linear_mode
from bochner.kernels import Kernel, spectral_terms
from bochner.resources import as_size


class LatticeScheme(Scheme):
    """Equispaced waves in one to three dimensions; the rows are passed over once, by non-uniform FFT."""

    name = "lattice"

    def suits(self, case: Case) -> str | None:
        if not case.kernel.stationary or case.dim > 3:
            return None
        return f"{case.n_rows:,} rows in {case.dim} dimension(s), where equispaced waves err least"

    def refuse(self, case: Case) -> None:
        if case.dim > 3:
            raise PartError(
                f"features='lattice' with {case.dim} coordinates; it needs 1 to 3. Use features='orthogonal'."
            )
        spectral_terms(case.kernel)

    def solve(self, task: Task, learned: Average) -> Solved:
        done = [self._solve_one(task, k, s2) for k, s2 in learned.pairs]
        return replace(done[0], modes=[mode for one in done for mode in one.modes])

    def _solve_one(self, task: Task, kernel: Kernel, noise_variance: float) -> Solved:
        n = len(task.obs)
        unseen = limits.UNSEEN if task.gaussian else limits.UNSEEN_BY_LAPLACE
        noise = noise_variance + task.noise_of_row
        last = _why_no_iteration(n, task.dim, task.settings.resources.memory_limit)
        told = None if isinstance(task.data, Observations) else information_of(task.data)[1]
        box = task.covered_box
        waves = lattice_waves(task.settings, kernel, noise, n, box, unseen=unseen, last=last, information=told)
        if waves.features is not None:
            mode = linear_mode(task, waves.features, noise_variance)
            return self._solved(task, self.name, mode, waves.choice, waves.features.frequencies.n, waves.error)
        if n <= limits.MAX_EXACT_ROWS and task.settings.resources.fits(exact_bytes(n)):
            text = f"none: for {n:,} rows the dense factor is cheaper than the waves needed"
            mode = exact_mode(kernel, noise_variance, task.data)
            return self._solved(task, ExactKernel.name, mode, Choice("n_frequencies", None, text=text))
        mode = iterative_mode(kernel, noise_variance, task.data)
        return self._solved(task, scheme_of(mode), mode, waves.choice)

    def _solved(
        self, task: Task, scheme: str, mode: Mode, waves: Choice, n_waves: int | None = None, error: float | None = None
    ) -> Solved:
        double = double_precision(task, "sums over a lattice, and conjugate gradients, need float64")
        return Solved(scheme, [mode], (waves, *double, mode.solver), n_waves, error)


def _why_no_iteration(n_rows: int, dim: int, memory_limit: int | None) -> str | None:
    """Why conjugate gradients on the rows cannot follow where waves do not suffice; None if they can."""
    if n_rows > limits.MAX_CG_ROWS:
        return f"with more than {limits.MAX_CG_ROWS:,} rows"
    needed = iterative_bytes(n_rows, dim)
    if memory_limit is not None and needed > memory_limit:
        return f"conjugate gradients would need {as_size(needed)}, more than the memory_limit, so"
    return None
