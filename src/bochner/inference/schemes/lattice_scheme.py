"""The lattice: few equispaced waves where they hold everything, else another way to the same kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, KernelError, PartError, heard
from bochner.features import FourierMap, find_grid
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, measure_error
from bochner.inference.fits.fixed_effects import information_of
from bochner.inference.fits.folds import HeldOut, held_out_locally
from bochner.inference.fits.iterative import IterativeFit, NearestEngine
from bochner.inference.fits.memory import check_columns, exact_bytes, kriging_bytes, max_columns, nearest_bytes
from bochner.inference.fits.newton import Mode, find_mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes import limits
from bochner.inference.schemes.base import Case, Scheme, Solved
from bochner.inference.schemes.exact_kernel import ExactKernel, exact_mode
from bochner.inference.schemes.iterative_kriging import NearestRows, iterative_mode, scheme_of
from bochner.inference.schemes.linear_modes import double_precision, linear_mode
from bochner.kernels import Kernel, spectral_terms, total_variance
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


Box = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class LatticeWaves:
    """Features, or None where the waves needed are too many; the choice, and the measured error of the kernel.

    `left` is the variance that the waves leave out where they had to do without being enough.
    """

    features: FourierMap | None
    choice: Choice
    error: float | None = None
    left: float | None = None


def lattice_waves(
    settings: Settings,
    kernel: Kernel,
    noise_variance: float,
    n_rows: int,
    box: Box,
    *,
    unseen: float = limits.UNSEEN,
    last: str | None = None,
    information: float | None = None,
    on_grid: bool = False,
) -> LatticeWaves:
    """Waves that leave out less than the data can tell, if there are few enough of them.

    What the waves leave out is carried as independent variance r. In truth it is shared by the n / m rows of one wave
    length, so r n / m must be at most `unseen` of the noise. Where the rows' `information` is known (other families),
    waves may go that they say next to nothing about. `last` says why the waves must do, whatever they leave out, where
    nothing else can follow. Rows `on_grid` have the whole kernel for the price of FFTs, so the waves must do as well.
    """
    variance, extent = total_variance(kernel), box[1] - box[0]
    if settings.n_frequencies != "auto":
        m = int(settings.n_frequencies)
        check_columns(settings.resources.memory_limit, m)
        frequencies = lattice_frequencies(kernel, extent, n_frequencies=m, seed=settings.seed)
        choice = Choice("n_frequencies", m, given=True, text=f"{m:,} waves of a lattice: as asked")
        return _taken(settings, kernel, frequencies, box, choice)
    noise = max(noise_variance, 1e-9 * variance) / variance
    level = unseen * noise
    least = level * min(1.0, limits.FEW_WAVES / n_rows)
    most = max_columns(settings.resources.memory_limit, 2 * limits.MAX_LATTICE_WAVES) // 2
    try:
        frequencies = lattice_frequencies(kernel, extent, missing=least, maximum=most)
    except KernelError as problem:
        if last is not None:
            raise
        return LatticeWaves(None, _torus(str(problem)))
    left = np.maximum(1 - np.cumsum(frequencies.mass) / variance, 0.0)
    allowed = _allowed(frequencies.mass / variance, n_rows, level, noise, unseen, surface=on_grid and last is None)
    sufficient = left <= allowed
    if information is not None:
        sufficient |= _untold(frequencies.mass, variance, information) <= limits.UNTOLD_SHARE
    enough = np.flatnonzero(sufficient)
    if len(enough):
        m = int(enough[0]) + 1
        text = f"{m:,} waves of a lattice: they leave out {left[m - 1]:.0e} of the variance"
        taken = _taken(settings, kernel, _first(frequencies, m), box, Choice("n_frequencies", m, text=text))
        # a lattice may be too coarse for a sharp peak of the spectrum
        if taken.error is not None and taken.error <= 2 * left[m - 1] + 1e-5:
            return taken
    told = f"{most:,} waves of a lattice would leave out {left[-1]:.0e} of the variance, more than the data can miss"
    if last is None:
        return LatticeWaves(None, _torus(told))
    lost = variance * float(left[-1])
    text = f"{told}; {last} it is carried as noise of sd {np.sqrt(lost):.2g}"
    taken = _taken(settings, kernel, frequencies, box, Choice("n_frequencies", frequencies.n, text=text))
    return replace(taken, left=lost)


def _allowed(mass: FloatArray, n_rows: int, level: float, noise: float, unseen: float, *, surface: bool) -> FloatArray:
    """Variance, relative to the kernel's, that the first 1, 2, ... waves may leave out.

    `surface`: all of the kernel can be had otherwise, so it is also a small part of what stays unknown of the surface.
    """
    allowed = level * np.minimum(1.0, np.maximum(np.arange(1, len(mass) + 1), limits.FEW_WAVES) / n_rows)
    unknown = limits.UNSEEN_SURFACE * np.sum(mass / (1 + mass * n_rows / (2 * noise))) if surface else np.inf
    # the surface of many rows is known far better than any new observation: the noise is the measure
    if n_rows > limits.MANY_ROWS:
        return np.maximum(allowed, min(limits.MANY_ROWS_NOISE * noise, limits.MANY_ROWS_VARIANCE, unknown))
    if n_rows > limits.MANY_COUNTS and unseen > limits.UNSEEN:
        return np.maximum(allowed, min(limits.MANY_COUNTS_NOISE * noise, limits.MANY_ROWS_VARIANCE))
    return np.asarray(allowed)


def _untold(mass: FloatArray, variance: float, information: float) -> FloatArray:
    """Variance that rows could explain beyond the first 1, 2, ... waves, of what stays unexplained.

    The two columns of a wave of mass a are known with precision a information / 2 each, beside that of their prior.
    """
    known = mass * information / 2
    explained, beyond = mass * known / (1 + known), max(variance - float(mass.sum()), 0.0)
    after = np.append(np.cumsum(explained[::-1])[::-1][1:], 0.0) + beyond * known[-1] / (1 + known[-1])
    return np.asarray(after / max(variance - float(explained.sum()), 1e-300))


def _torus(why: str) -> Choice:
    return Choice("n_frequencies", None, text=f"a torus of waves for the far field, neighbours for the near: {why}")


def _first(frequencies: Frequencies, m: int) -> Frequencies:
    lattice = frequencies.lattice
    if lattice is not None:  # lines in the spectrum lie on none
        lattice = Lattice(lattice.spacing, lattice.index[:m])
    return Frequencies(frequencies.omega[:m], frequencies.mass[:m], lattice)


def _taken(settings: Settings, kernel: Kernel, frequencies: Frequencies, box: Box, choice: Choice) -> LatticeWaves:
    missing = max(total_variance(kernel) - float(frequencies.mass.sum()), 0.0)
    error = measure_error(frequencies, kernel, box[1] - box[0], settings.seed).rms
    return LatticeWaves(FourierMap(frequencies, np.float64, missing, box), choice, error)
