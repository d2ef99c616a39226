"""The lattice: few equispaced waves where they hold everything, else another way to the same kernel."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, KernelError, PartError, heard
from bochner.features import FourierMap, find_grid
from bochner.frequencies import Frequencies, Lattice, lattice_frequencies, measure_error
from bochner.inference.fits.base import check_columns, exact_bytes, kriging_bytes, max_columns
from bochner.inference.fits.fixed_effects import information_of
from bochner.inference.fits.iterative import IterativeFit
from bochner.inference.fits.iterative_system import MANY_CG_ROWS
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.settings import Average, Settings
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Case, Scheme, Solved, double_precision, linear_mode
from bochner.inference.schemes.whole_kernel import (
    MAX_EXACT_ROWS,
    ExactKernel,
    NearestRows,
    exact_mode,
    iterative_mode,
    may_be_nearest,
    nearest_are_better,
    nearest_mode,
    scheme_of,
)
from bochner.kernels import Kernel, OnAxes, Sum, spectral_terms, total_variance
from bochner.resources import as_size

MAX_LATTICE_WAVES = 2_500  # waves; their 5,000 columns have a factor of 200 MB in some seconds


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
        last = _why_no_iteration(task)
        waves, mode = waves_for(task, kernel, noise_variance, last), None
        if _rather_exact(task, waves.features):
            text = f"none: for {len(task.obs):,} rows the dense factor is cheaper than the waves needed"
            mode = exact_mode(kernel, noise_variance, task.data, start)
            return self._solved(task, ExactKernel.name, mode, Choice("n_frequencies", None, text=text))
        if waves.features is None and may_be_nearest(task) and any(isinstance(k, OnAxes) for k in _parts(kernel)):
            none = Choice(
                "n_frequencies", None, text="none: parts of the field that some axes alone know settle slowly"
            )
            return self._solved(task, NearestRows.name, nearest_mode(kernel, noise_variance, task.data), none)
        if waves.features is None:
            mode, choice = iterative_mode(kernel, noise_variance, task.data), waves.choice
            last = _no_products(mode)
            if last is not None and may_be_nearest(task):  # the heaviest waves, whatever they leave out
                with suppress(KernelError):
                    waves = waves_for(task, kernel, noise_variance, last)
            if waves.features is None:
                return self._solved(task, scheme_of(mode), mode, choice)
        m, choice = waves.features.frequencies.n, waves.choice
        linear = linear_mode(task, waves.features, noise_variance, start=start)
        if waves.left is not None and may_be_nearest(task):
            seed = task.settings.seed
            better, told = nearest_are_better(kernel, noise_variance, task.obs, linear, seed, waves.left)
            if better:
                none = Choice("n_frequencies", None, text=f"none: {last}; {told}")
                mode = mode or nearest_mode(kernel, noise_variance, task.data)
                return self._solved(task, NearestRows.name, mode, none)
            choice = Choice("n_frequencies", m, text=f"{m:,} waves of a lattice: {last}; {told}")
        return self._solved(task, self.name, linear, choice, m, waves.error)

    def _solved(
        self, task: Task, scheme: str, mode: Mode, waves: Choice, n_waves: int | None = None, error: float | None = None
    ) -> Solved:
        double = double_precision(task, "sums over a lattice, and conjugate gradients, need float64")
        return Solved(scheme, [mode], (waves, *double, mode.solver), n_waves, error)


def _parts(kernel: Kernel) -> tuple[Kernel, ...]:
    """Summands of a kernel."""
    return (*_parts(kernel.k1), *_parts(kernel.k2)) if isinstance(kernel, Sum) else (kernel,)


def _rather_exact(task: Task, waves: FourierMap | None) -> bool:
    """Whether a dense factor of the rows is cheaper than what else there is, and can be had.

    With more columns than rows these are solved in the rows too, after a product that takes seven times as long.
    """
    n, s = len(task.obs), task.settings
    ours = s.features == "auto" and s.n_frequencies == "auto"
    cheaper = n <= MAX_EXACT_ROWS if waves is None else ours and waves.n_columns > n
    return cheaper and exact_bytes(n) <= s.resources.room


def _why_no_iteration(task: Task, most: int = 300_000) -> str | None:
    """Why conjugate gradients on the rows cannot follow where waves do not suffice; None if they can.

    Of other families than the Gaussian they can on `most` rows: each Newton step is a fit.
    """
    if not task.gaussian and len(task.obs) > most:
        return f"with more than {most:,} rows of this family"
    needed, resources = kriging_bytes(task.obs.rows.coords), task.settings.resources
    if needed <= resources.room:
        return None
    which = "the memory_limit" if resources.memory_limit is not None else "is free"
    return f"conjugate gradients would need {as_size(needed)}, more than {which}"


def _no_products(mode: Mode) -> str | None:
    """Why the covariance of the rows could not even be multiplied, so that the nearest answer; None if it could."""
    return mode.fit.posterior.report.details.get("why") if isinstance(mode.fit, IterativeFit) else None


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


def waves_for(task: Task, kernel: Kernel, noise_variance: float, last: str | None) -> LatticeWaves:
    """Waves for the rows of a task, as `lattice_waves` has them."""
    n, noise = len(task.obs), noise_variance + task.noise_of_row
    told = None if isinstance(task.data, Observations) else information_of(task.data)[1]
    gridded = n > MANY_CG_ROWS and find_grid(task.obs.rows.coords) is not None
    box = task.covered_box
    return lattice_waves(task.settings, kernel, noise, n, box, last=last, information=told, on_grid=gridded)


def lattice_waves(
    settings: Settings,
    kernel: Kernel,
    noise_variance: float,
    n_rows: int,
    box: Box,
    *,
    last: str | None = None,
    information: float | None = None,
    on_grid: bool = False,
) -> LatticeWaves:
    """Waves that leave out less than the data can tell, if there are few enough of them.

    Of other families than the Gaussian the rows' `information` is known: waves may go that they say next to nothing
    about. `last` says why the waves must do, whatever they leave out, where nothing else can follow. Rows `on_grid`
    have the whole kernel for the price of FFTs, so the waves must do as well.
    """
    variance, extent = total_variance(kernel), box[1] - box[0]
    if settings.n_frequencies != "auto":
        m = int(settings.n_frequencies)
        check_columns(settings.resources.memory_limit, m)
        frequencies = lattice_frequencies(kernel, extent, n_frequencies=m, seed=settings.seed)
        choice = Choice("n_frequencies", m, given=True, text=f"{m:,} waves of a lattice: as asked")
        return _taken(settings, kernel, frequencies, box, choice)
    noise = max(noise_variance / variance, 1e-9)
    laplace, whole = information is not None, on_grid and last is None
    least = _allowed(np.zeros(1), n_rows, noise, laplace=laplace, whole=True)[0]  # the strictest that could be asked
    most = max_columns(settings.resources.memory_limit, 2 * MAX_LATTICE_WAVES) // 2
    try:
        frequencies = lattice_frequencies(kernel, extent, missing=least, maximum=most)
    except KernelError as problem:
        if last is not None:
            raise
        return LatticeWaves(None, _torus(str(problem)))
    left = np.maximum(1 - np.cumsum(frequencies.mass) / variance, 0.0)
    sufficient = left <= _allowed(frequencies.mass / variance, n_rows, noise, laplace=laplace, whole=whole)
    if information is not None:
        sufficient |= _untold(frequencies.mass, variance, information) <= 0.003
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
    text = f"{told}; {last}, so it is carried as noise of sd {np.sqrt(lost):.2g}"
    taken = _taken(settings, kernel, frequencies, box, Choice("n_frequencies", frequencies.n, text=text))
    return replace(taken, left=lost)


def _allowed(mass: FloatArray, n_rows: int, noise: float, *, laplace: bool, whole: bool) -> FloatArray:
    """Variance, relative to the kernel's, that the first 1, 2, ... waves may leave out.

    What the waves leave out is carried as independent variance r. In truth it is shared by the n / m rows of one wave
    length, so r n / m must be at most `unseen` of the noise; m is 30 at least, for lines of a periodic kernel are few.
    That is an error of the mean of 1 % of its sd, and more where Laplace's approximation errs by more.

    The surface of many rows is known far better than any new observation: then a share of the noise is the measure.
    `whole`: all of the kernel can be had otherwise, so it is also a small part of what stays unknown of the surface.
    """
    unseen, many = (1e-2, 20_000) if laplace else (1e-4, MANY_CG_ROWS)
    allowed = unseen * noise * np.minimum(1.0, np.maximum(np.arange(1, len(mass) + 1), 30) / n_rows)
    if n_rows <= many:
        return np.asarray(allowed)
    unknown = 0.03 * np.sum(mass / (1 + mass * n_rows / (2 * noise))) if whole else np.inf
    share = 0.05 if n_rows > MANY_CG_ROWS else 0.015
    return np.maximum(allowed, min(share * noise, 0.01, unknown))


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
