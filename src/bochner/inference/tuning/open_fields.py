"""Averaging where many rows tell little: a weak field under noise leaves its range and smoothness open.

A thousand noisy rows may know no more of a field than a hundred exact ones would, and intervals of the surface are then
as wrong as the one kernel that was taken. What the map depends on is one number, h(theta): the log of the sd of the
field between the rows, given them. With C the posterior covariance of theta at its mode and g the gradient of h, h is
known to within sqrt(g' C g), and theta given h runs along C g. A few nodes of that line, weighed by the evidence there,
average over what a map would feel, in as many dimensions as theta may have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.objective import InformedObjective
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import bounds
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Matern
from bochner.random import generator


@dataclass(frozen=True)
class Glimpse:
    """Some of the rows, each as exact as all those that it stands for, and places between them."""

    obs: Observations
    rows: IntArray
    places: IntArray

    @classmethod
    def of(cls, obs: Observations, seed: int) -> Glimpse:
        """Of observations, by chance."""
        some = generator(seed, "glimpse").permutation(len(obs))
        n_rows, n_places = (min(n, len(obs) // 2) for n in limits.GLIMPSED)
        return cls(obs, some[:n_rows], some[n_rows : n_rows + n_places])

    @cached_property
    def coords(self) -> tuple[FloatArray, FloatArray]:
        """Of the rows and of the places."""
        return self.obs.rows.coords[self.rows], self.obs.rows.coords[self.places]

    def log_sd(self, kernel: Kernel, noise_variance: float) -> float:
        """Log of the sd of the field at the places, given the rows."""
        rows, places = self.coords
        errors = self.obs.copy_variance(noise_variance)[self.rows] / self.obs.weight[self.rows]
        errors = errors * len(self.rows) / len(self.obs)
        prior = kernel.diag(places)
        least = limits.GLIMPSED_LEAST * prior
        root = linalg.cholesky(kernel.covariance(rows, rows) + np.diag(errors + least.mean()), lower=True)
        known = linalg.solve_triangular(root, kernel.covariance(rows, places), lower=True)
        return 0.5 * float(np.log(np.mean(np.maximum(prior - np.sum(known**2, axis=0), least))))


@dataclass(frozen=True)
class Doubt:
    """How far h is open, as an sd, and the step in [theta, log noise variance] that goes with as much of it."""

    size: float
    step: FloatArray

    @classmethod
    def about(cls, glimpse: Glimpse, search: Search, kernel: Kernel, noise_variance: float) -> Doubt:
        """By the information of the rows at a kernel."""
        tied = search.tied(kernel)
        information = tied.T @ search.information_at(kernel, noise_variance) @ tied
        information += np.eye(len(information)) / limits.WIDEST**2
        point = _point(kernel, noise_variance)
        here = glimpse.log_sd(kernel, noise_variance)
        there = np.array([glimpse.log_sd(*_at(kernel, point + limits.CENTRAL_STEP * along)) for along in tied.T])
        slope = (there - here) / limits.CENTRAL_STEP
        moved = np.asarray(np.linalg.solve(information, slope))
        size = float(np.sqrt(max(float(slope @ moved), 0.0)))
        return cls(size, tied @ moved / max(size, limits.GLIMPSED_LEAST))


@dataclass(frozen=True)
class Side:
    """A node beside the mode: so many steps away, where the log evidence is less by so much."""

    at: tuple[Kernel, float]
    steps: float
    fall: float

    @property
    def sd(self) -> float:
        """Steps to one sd, by what the evidence has fallen; no more than one, nor than a bound leaves room for."""
        return min(self.steps / float(np.sqrt(max(2 * self.fall, limits.GLIMPSED_LEAST))), self.steps, 1.0)


def open_average(
    search: Search, best: Tuned, obs: Observations, given: Kernel | None, seed: int
) -> tuple[Average, Choice] | None:
    """Hyperparameters along what is open of them, and what is told of it; None where the rows tell enough."""
    objective = search.objective
    one_field = len(best.kernel.leaves()) == 1 and best.kernel.stationary
    if not one_field or not isinstance(objective, InformedObjective) or obs.rows.has_areas:
        return None
    kernel, learned = best.kernel.scaled(1 / best.calibration), search.noise_variance is None
    noise = best.noise_variance / (best.calibration if learned else 1.0)
    if given is None and isinstance(objective, ExactEvidence) and isinstance(kernel, Matern):
        kernel = kernel.replace(learn_nu=True)  # it was chosen among a few
    glimpse = Glimpse.of(obs, seed)
    if Doubt.about(glimpse, search, kernel, noise).size < limits.OPEN_SD:
        return None
    mode = replace(best, kernel=kernel, noise_variance=noise)
    again = (
        given is None and not best.by_all_rows
    )  # else all rows had the last word: neighbours see less of a weak field
    if again:
        search = search.with_prior()
        mode = search.maximise(kernel, noise, tolerance=limits.SETTLED)
    if mode.failed:
        return None
    doubt = Doubt.about(glimpse, search, mode.kernel, mode.noise_variance)
    if doubt.size < limits.OPEN_SD:
        return None
    # neighbours see little of a weak field that reaches far, and would leave more open than there is
    sides = _sides(replace(search, objective=ExactEvidence(obs, reml=True)), mode, doubt)
    if sides is None:
        return None
    low, high = sides
    size = doubt.size * (low.sd + high.sd) / 2
    average = _weighed(mode, low, high, best.calibration, learned=learned)
    if size < limits.OPEN_SD or len(average.mass) == 1:
        return None
    text = (
        f"averaged over {len(average.mass)} sets of hyperparameters: {len(obs):,} rows under their noise leave the sd "
        f"of the surface open by {size:.0%}"
    )
    if again and isinstance(mode.kernel, Matern):
        text += f"; about a smoothness of {mode.kernel.nu:.2g}, which is learned with a weak prior"
    return average, Choice("intervals", len(average.mass), text=text)


def _sides(search: Search, mode: Tuned, doubt: Doubt) -> tuple[Side, Side] | None:
    """To both sides of the mode, where the evidence has fallen by about as much as that of a Gaussian would.

    None where it cannot be had at the mode.
    """
    kernel, point = mode.kernel, _point(mode.kernel, mode.noise_variance)
    within = np.array(bounds(kernel, search.scale, search.least_noise)).T
    top, wanted = search.value(kernel, mode.noise_variance), limits.OPEN_NODE**2 / 2
    if top <= limits.FAILED_SEARCH:
        return None

    def side(sign: int) -> Side:
        steps, found = limits.OPEN_NODE, None
        for _ in range(limits.OPEN_TRIALS):
            end = np.clip(point + sign * steps * doubt.step, *within)
            there, noise = _at(kernel, end)
            noise = noise if search.noise_variance is None else search.noise_variance
            taken = float(sign * (end - point) @ doubt.step / (doubt.step @ doubt.step))  # less, at a bound
            found = Side((there, noise), max(taken, 0.0), top - search.value(there, noise))
            if found.fall < 2 * wanted:
                break
            steps *= max(float(np.sqrt(wanted / found.fall)), limits.OPEN_SHORTEST)
        assert found is not None
        return found

    return side(-1), side(1)


def _weighed(mode: Tuned, low: Side, high: Side, calibration: float, *, learned: bool) -> Average:
    """The three nodes with masses of the evidence, each over its part of the line."""
    log_mass = -np.array([0.0, low.fall, high.fall])
    width = np.array([(low.steps + high.steps) / 2, low.steps, high.steps])
    mass = width * np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    sets = [(mode.kernel, mode.noise_variance), low.at, high.at]
    kept = [i for i in range(3) if i == 0 or mass[i] > limits.LEAST_OPEN_MASS]
    kernels = tuple(sets[i][0].scaled(calibration) for i in kept)
    noises = np.array([sets[i][1] for i in kept]) * (calibration if learned else 1.0)
    return Average(kernels, noises, mass[kept] / mass[kept].sum())


def _point(kernel: Kernel, noise_variance: float) -> FloatArray:
    return np.r_[kernel.theta, np.log(max(noise_variance, 1e-300))]


def _at(kernel: Kernel, point: FloatArray) -> tuple[Kernel, float]:
    return kernel.with_theta(point[:-1]), float(np.exp(point[-1]))
