"""The lattice: few equispaced waves where they hold everything, else another way to the same kernel."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, KernelError, PartError, heard
from bochner.features import find_grid
from bochner.inference.fits.fixed_effects import information_of
from bochner.inference.fits.folds import HeldOut
from bochner.inference.fits.iterative import IterativeFit, NearestEngine
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.fits.memory import exact_bytes, kriging_bytes, nearest_bytes
from bochner.inference.fits.newton import Mode, find_mode
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.schemes import limits
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.exact_kernel import ExactKernel, exact_mode
from bochner.inference.schemes.iterative_kriging import NearestRows, iterative_mode, scheme_of
from bochner.inference.schemes.lattice_waves import Box, LatticeWaves, lattice_waves
from bochner.inference.schemes.linear_modes import double_precision, linear_mode
from bochner.kernels import Kernel, spectral_terms
from bochner.random import generator
from bochner.resources import as_size
from bochner.validation import crps


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
        if len(learned.pairs) == 1:
            return self._solve_one(task, *learned.pairs[0])
        with warnings.catch_warnings(), heard():
            warnings.simplefilter("ignore", ApproximationWarning)  # a kernel whose system does not settle leaves
            done: list[Solved] = []
            for k, s2 in learned.pairs:
                done.append(self._solve_one(task, k, s2, done[0].modes[0].start if done else None))
        kept = [i for i, one in enumerate(done) if one.scheme != NearestRows.name] or [0]
        first = done[kept[0]]
        choices = first.choices
        if len(kept) < len(done):
            text = f"{len(done) - len(kept)} of {len(done)} kernels left out: their systems do not settle"
            choices = (*choices, Choice("intervals", len(kept), text=text))
        modes = [mode for i in kept for mode in done[i].modes]
        return replace(first, modes=modes, choices=choices, kept=tuple(kept), kernel=learned.kernels[kept[0]])

    def _solve_one(self, task: Task, kernel: Kernel, noise_variance: float, start: FloatArray | None = None) -> Solved:
        n = len(task.obs)
        unseen = limits.UNSEEN if task.gaussian else limits.UNSEEN_BY_LAPLACE
        noise = noise_variance + task.noise_of_row
        last = _why_no_iteration(task)
        told = None if isinstance(task.data, Observations) else information_of(task.data)[1]
        box = task.covered_box
        gridded = n > limits.MANY_ROWS and find_grid(task.obs.rows.coords) is not None
        waves = lattice_waves(
            task.settings, kernel, noise, n, box, unseen=unseen, last=last, information=told, on_grid=gridded
        )
        if waves.features is not None and _rather_exact(task, waves.features.n_columns):
            text = f"none: {waves.features.n_columns // 2:,} waves have more columns than there are rows"
            mode = exact_mode(kernel, noise_variance, task.data, start)
            return self._solved(task, ExactKernel.name, mode, Choice("n_frequencies", None, text=text))
        if waves.features is not None:
            mode = linear_mode(task, waves.features, noise_variance, start=start)
            if waves.left is not None and _may_be_nearest(task):
                better, compared = _nearest_are_better(task, kernel, noise_variance, mode, waves.left, str(last))
                if better:
                    nearest = find_mode(task.data, NearestEngine(kernel, noise_variance))
                    return self._solved(task, NearestRows.name, nearest, compared)
                return self._solved(task, self.name, mode, compared, waves.features.frequencies.n, waves.error)
            return self._solved(task, self.name, mode, waves.choice, waves.features.frequencies.n, waves.error)
        if n <= limits.MAX_EXACT_ROWS and task.settings.resources.fits(exact_bytes(n)):
            text = f"none: for {n:,} rows the dense factor is cheaper than the waves needed"
            mode = exact_mode(kernel, noise_variance, task.data, start)
            return self._solved(task, ExactKernel.name, mode, Choice("n_frequencies", None, text=text))
        mode = iterative_mode(kernel, noise_variance, task.data)
        why, choice = _no_products(mode), waves.choice
        few = None if why is None or not _may_be_nearest(task) else _few_waves(task, kernel, noise, box, f"{why}, so")
        if few is not None and few.features is not None:
            other = linear_mode(task, few.features, noise_variance)
            better, choice = _nearest_are_better(task, kernel, noise_variance, other, few.left or 0.0, str(why))
            if not better:
                return self._solved(task, self.name, other, choice, few.features.frequencies.n, few.error)
        return self._solved(task, scheme_of(mode), mode, choice)

    def _solved(
        self, task: Task, scheme: str, mode: Mode, waves: Choice, n_waves: int | None = None, error: float | None = None
    ) -> Solved:
        double = double_precision(task, "sums over a lattice, and conjugate gradients, need float64")
        return Solved(scheme, [mode], (waves, *double, mode.solver), n_waves, error)


def _rather_exact(task: Task, n_columns: int) -> bool:
    """Whether a dense factor of the rows is cheaper than the waves that are needed, and can be had.

    With more columns than rows these are solved in the rows too, after a product that takes seven times as long.
    """
    ours = task.settings.features == "auto" and task.settings.n_frequencies == "auto"
    return ours and n_columns > len(task.obs) and exact_bytes(len(task.obs)) <= task.settings.resources.room


def _why_no_iteration(task: Task) -> str | None:
    """Why conjugate gradients on the rows cannot follow where waves do not suffice; None if they can."""
    if not task.gaussian and len(task.obs) > limits.MAX_LAPLACE_CG_ROWS:
        return f"with more than {limits.MAX_LAPLACE_CG_ROWS:,} rows of this family"
    needed, resources = kriging_bytes(task.obs.rows.coords), task.settings.resources
    if needed <= resources.room:
        return None
    which = "the memory_limit" if resources.memory_limit is not None else "is free"
    return f"conjugate gradients would need {as_size(needed)}, more than {which}, so"


def _few_waves(task: Task, kernel: Kernel, noise_variance: float, box: Box, last: str) -> LatticeWaves | None:
    """The heaviest waves, whatever they leave out; None if no lattice holds the kernel."""
    try:
        return lattice_waves(task.settings, kernel, noise_variance, len(task.obs), box, last=last)
    except KernelError:
        return None


def _no_products(mode: Mode) -> str | None:
    """Why the covariance of the rows could not even be multiplied, so that the nearest answer; None if it could."""
    return mode.fit.posterior.report.details.get("why") if isinstance(mode.fit, IterativeFit) else None


def _may_be_nearest(task: Task) -> bool:
    """Whether waves are not what was asked for, and the nearest rows can be had."""
    ours = task.settings.features == "auto" and task.settings.n_frequencies == "auto"
    return ours and task.gaussian and not task.ordinary and nearest_bytes(len(task.obs)) <= task.settings.resources.room


def _nearest_are_better(
    task: Task, kernel: Kernel, noise_variance: float, waves: Mode, left: float, last: str
) -> tuple[bool, Choice]:
    """Whether held-out rows are predicted better from the nearest of all others than by the waves, and by how much.

    New observations hardly tell a surface that is known closely from one that is not: waves that leave out far more
    than the nearest rows leave unknown have too large an sd, and are not taken.
    """
    obs, rng = task.obs, generator(task.settings.seed, "held-out rows")
    test = np.sort(rng.choice(len(obs), min(limits.MAX_COMPARED_ROWS, len(obs) // 10), replace=False))
    fold = (np.setdiff1d(np.arange(len(obs)), test, assume_unique=True), test)
    held = (held_out_locally(kernel, obs, noise_variance, [fold]), waves.fit.leave_out(obs, [fold]))
    noises = (noise_variance, waves.noise_variance)
    near, far = (held_out_crps(part, obs, noise) for part, noise in zip(held, noises, strict=True))
    why = last.removesuffix(", so")
    told = f"{why}; CRPS of {len(test):,} held-out rows {near:.4g} from the nearest rows, {far:.4g} by waves, which "
    told += f"leave out a field of sd {np.sqrt(left):.2g}"
    unknown = float(np.median(held[0].variance))
    if near < far:
        return True, Choice("n_frequencies", None, text=f"none: {told}")
    if left > limits.LEFT_OF_UNKNOWN * unknown:
        told += f", and the nearest rows leave one of {np.sqrt(unknown):.2g} unknown"
        return True, Choice("n_frequencies", None, text=f"none: {told}")
    n_waves = len(waves.fit.posterior.feature_coef) // 2
    return False, Choice("n_frequencies", n_waves, text=f"{n_waves:,} waves of a lattice: {told}")


def held_out_crps(held: HeldOut, obs: Observations, noise_variance: float) -> float:
    """CRPS of held-out rows as new observations."""
    i = held.index
    sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[i])
    return crps(obs.y[i], held.mean, sd, sample_weight=obs.weight[i])
