"""Climbs: the best hyperparameters by one objective after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.choices import Choice
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning import limits
from bochner.inference.tuning.drift import beside_drift
from bochner.inference.tuning.first_rows import FirstRows, begun_on_some
from bochner.inference.tuning.guided_search import GuidedSearch
from bochner.inference.tuning.guided_selection import select_guided
from bochner.inference.tuning.lattice_search import Told
from bochner.inference.tuning.objectives import guiding_objective
from bochner.inference.tuning.peaks import informed_starts
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.selection import select_kernel
from bochner.inference.tuning.space_time import SpaceTime
from bochner.kernels import Kernel, Matern, Scale


@dataclass(frozen=True)
class Climb:
    """The end of a search for hyperparameters."""

    search: Search
    tuned: Tuned
    choices: tuple[Choice, ...]
    laplace: LaplaceObjective | None = None  # of other families than the Gaussian
    per_axis: Tuned | None = None  # the best with a length scale per axis, where no kernel was given
    stack: Average | None = None  # a mixture of kernels, or an amplitude, where one alone is not enough
    turned: tuple[Tuned, ...] = ()  # kernels of several forms, the best first, where none alone is averaged about
    each: tuple[Tuned, ...] = ()  # one length scale and every smoothness, where no kernel was given
    rivals: tuple[Tuned, ...] = ()  # those of other smoothness, by the evidence of all rows on waves


def climbed(task: Task, scheme: Scheme, objectives: Sequence[Objective], noise: float | None) -> Climb:
    """Tune by the first objective; the next, dearer ones start where it ended."""
    kernel, scale = task.settings.kernel, task.scale
    prior = len(task.obs) < limits.MAX_AVERAGING_ROWS and task.settings.reml
    prior_scale: Scale | None = None
    if not prior and isinstance(task.data, Responses) and not task.gaussian and task.settings.reml:
        told = Told.by(task.data, scale)
        prior, prior_scale = told.little, told.scale if told.little else None
    shared = None if kernel is not None else task.domain.shared
    guide = guiding_objective(task, objectives)
    averaged = prior and kernel is None and not task.gaussian and len(task.obs) >= limits.MIN_THINNED_ROWS
    dear = kernel is None and not task.gaussian and len(task.obs) > limits.MAX_EXACT_TUNING_ROWS
    enough = limits.AVERAGED_ENOUGH if averaged else limits.CHOSEN_ENOUGH if dear else limits.SCORED
    search = Search(objectives[0], scale, noise, prior, shared=shared, prior_scale=prior_scale, enough=enough)
    if guide is not None:
        # chosen among a few, it need not be known to the last digit; averaged about, not to the third
        enough = limits.SCORED
        if kernel is None and task.settings.reml:
            enough = limits.AVERAGED_ENOUGH if prior else limits.CHOSEN_ENOUGH
        guided = GuidedSearch(objectives[0], scale, noise, prior, shared=shared, guide=guide, enough=enough)
        search = guided if guided.trusted(Matern(nu=1.5) if kernel is None else kernel) else search
    # a likelihood is compared with other software to the last digit
    sampled = task.gaussian and len(objectives) > 1 and task.settings.reml
    enough = limits.SETTLED if sampled else limits.CLIMBED
    per_axis: Tuned | None = None
    turned: tuple[Tuned, ...] = ()
    each: tuple[Tuned, ...] = ()
    if kernel is None:
        toll = 0.0 if task.gaussian else 0.5 * np.log(task.obs.total)
        timed = SpaceTime.of(task, scheme, search, toll) if len(objectives) == 1 else None
        several = None if timed is None else timed.clearly
        if several is not None:
            turned, choice = several
            return Climb(search, turned[0], (choice,), turned=turned)
        if isinstance(search, GuidedSearch):
            selected = select_guided(search, task.obs.total, task.dim)
        else:
            begun = FirstRows()
            if isinstance(task.data, Responses) and len(objectives) == 1:
                first = Matern(nu=limits.SELECTED_SMOOTHNESS[0])
                begun = begun_on_some(search, task.data, first, task.settings.seed)
            selected = select_kernel(search, task.obs.total, task.dim, toll, begun=begun)
        tuned, choice, per_axis, turned = selected.tuned, selected.choice, selected.per_axis, selected.turned
        each = selected.each
        several = beside_drift(search, tuned, task.obs) if task.gaussian and len(objectives) == 1 else None
        if timed is not None and several is None:
            several = timed.beside(selected)
        if several is not None:
            turned, choice = several
            tuned, per_axis = turned[0], None
    else:
        tuned, choice = tune(search, kernel, given_starts(task, kernel, noise), tolerance=enough), as_given(kernel)
    for objective in objectives[1:]:
        search = Search(objective, scale, noise, prior, shared=shared, prior_scale=prior_scale)
        tuned = search.maximise(tuned.kernel, tuned.noise_variance, 50, enough)
    return Climb(search, tuned, (choice,), per_axis=per_axis, turned=turned, each=each)


def as_given(kernel: Kernel) -> Choice:
    return Choice("kernel", repr(kernel), given=True, text="as given; its values were learned")


def given_starts(task: Task, kernel: Kernel, noise: float | None) -> list[tuple[Kernel, float]]:
    at = noise if noise is not None else 0.1 * task.scale.variance
    return [(kernel, at), *informed_starts(kernel, task.scale, task.obs, at)]
