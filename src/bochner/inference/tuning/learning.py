"""Learning: hyperparameters from observations, by whichever criterion was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import FallbackWarning, InputError, warn
from bochner.families import Family
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning import limits
from bochner.inference.tuning.averaging import average
from bochner.inference.tuning.fold_score import fold_score
from bochner.inference.tuning.many_dimensions import select_many_dimensions
from bochner.inference.tuning.multiscale import select_multiscale
from bochner.inference.tuning.objectives import gaussian_objectives, laplace_objectives
from bochner.inference.tuning.peaks import informed_starts
from bochner.inference.tuning.refinement import refine_on_lattice
from bochner.inference.tuning.reweighting import Reweighted, first_weights, gaussian_task, settled
from bochner.inference.tuning.search import Search, Tuned, score_objective, tune
from bochner.inference.tuning.selection import select_kernel
from bochner.kernels import Matern


@dataclass(frozen=True)
class Learned:
    """Hyperparameters with their masses, and what else was learned on the way."""

    average: Average
    family: Family
    choices: tuple[Choice, ...]
    at_bounds: tuple[str, ...] = ()
    trend: FloatArray | None = None  # that maximises the marginal likelihood, if that was asked for
    log_likelihood: float | None = None  # None: as the solver finds it
    reweighted: Reweighted | None = None  # weights of the rows, where outliers are expected, ...
    gain: float = 0.0  # ... and what the law of the family then adds to the Gaussian evidence


@dataclass(frozen=True)
class Climb:
    """The end of a search for hyperparameters."""

    search: Search
    tuned: Tuned
    choices: tuple[Choice, ...]
    laplace: LaplaceObjective | None = None  # of other families than the Gaussian


def learn(task: Task, scheme: Scheme) -> Learned:
    """Learn what is not given."""
    if task.responses.family.reweighted:
        return _reweighted(task, scheme)
    noise, choices = known_noise(task)
    climb: Climb | None = None
    at_bounds: tuple[str, ...] = ()
    fixed = _given(task, noise, choices) if not task.settings.learns else _degenerate(task, noise)
    if fixed is not None:
        found, told = fixed
    else:
        climb = _by_evidence(task, scheme, noise)
        if task.folds is not None:
            climb = _by_folds(task, scheme, climb)
        found, intervals = _averaged(task, scheme, climb)
        told, at_bounds = (*climb.choices, intervals), climb.tuned.at_bounds
    if "noise_variance" in at_bounds and _no_own_effect(task, found):
        # that is an answer, not a failure to find one: counts without effects of rows, or exact measurements
        at_bounds = tuple(name for name in at_bounds if name != "noise_variance")
        text = f"none to speak of: the {task.settings.criterion} is largest without"
        told = (*told, Choice("noise", float(found.noise_variances[0]), text=text))
    learned = Learned(found, task.responses.family, (*choices, *told), at_bounds)
    return learned if task.gaussian else _with_family(task, scheme, learned, climb)


def _reweighted(task: Task, scheme: Scheme) -> Learned:
    """Kernel and weights of the rows in turn, until these stay."""
    r = task.responses
    now = used = first_weights(r)
    for _ in range(limits.REWEIGHTING_ROUNDS if task.settings.learns else 1):
        used = now
        learned = learn(gaussian_task(task, used), scheme)
        now = settled(*learned.average.pairs[0], r, used)
        change = np.abs(np.log(now.relative / used.relative))
        if np.quantile(change, limits.WATCHED_SHARE) < limits.SETTLED_ROUND:
            break
    values = now.family.parameters
    told = [Choice(name, values[name], "learned, with the weights of the rows") for name in r.family.unknown]
    gain = now.gain(used.relative, learned.average.pairs[0][1], r.weight)
    return replace(learned, family=now.family, choices=(*learned.choices, *told), reweighted=used, gain=gain)


# ------------------------------------------------------------------------- nothing to learn


def known_noise(task: Task) -> tuple[float | None, tuple[Choice, ...]]:
    """Noise variance that was given, or that the family leaves no room to learn; None: to be learned."""
    given, family = task.settings.noise_variance, task.responses.family
    if given is not None or task.gaussian:
        return given, ()
    if family.has_dispersion:
        return 0.0, (Choice("noise", 0.0, "the dispersion of the family holds what scatters from row to row"),)
    if family.bounded_by_size and np.all(task.responses.size == 1):
        return 0.0, (Choice("noise", 0.0, "one trial a row cannot show an effect of its own"),)
    return (None if task.settings.learns else 0.0), ()


def _given(task: Task, noise: float | None, told: Sequence[Choice]) -> tuple[Average, tuple[Choice, ...]]:
    s, choices = task.settings, [Choice("tuning", None, text="none: the values given are kept")]
    kernel = Matern() if s.kernel is None else s.kernel
    at = task.scale.variance * 0.1 if noise is None else noise
    if s.kernel is None:
        choices.append(Choice("kernel", repr(kernel), "none was given and none is learned"))
    if s.noise_variance is None and not told:
        share = "a tenth of the variance of y" if task.gaussian else "no effect of single rows"
        choices.append(Choice("noise", float(at), f"{share}; none was given and none is learned"))
    return Average.single(kernel, at), tuple(choices)


def _degenerate(task: Task, noise: float | None) -> tuple[Average, tuple[Choice, ...]] | None:
    """A flat map, where the data do not differ in what the kernel is about."""
    variance, obs = task.scale.variance, task.obs
    size = float(np.mean(obs.y**2)) or 1.0
    one_place = False
    if variance <= 1e-20 * size:
        problem = "the response is constant (or follows the trend exactly)"
    elif len(np.unique(obs.rows.coords, axis=0)) == 1:
        problem, one_place = "all rows lie at one place", True
    else:
        return None
    if one_place and task.settings.noise_variance == 0:
        raise InputError(f"{problem} and noise_variance=0; there is nothing to learn. Give a noise variance.")
    warn(f"{problem}: the kernel cannot be learned, so its start values are kept and the map is flat.", FallbackWarning)
    small = max(variance, 1e-12 * size)
    kernel = Matern() if task.settings.kernel is None else task.settings.kernel
    first = next(iter(kernel.leaves()))
    flat = kernel.scaled(1e-6 * small / float(np.mean(first.diag(obs.rows.coords[:1]))))
    told = Choice("tuning", None, text=f"none: {problem}")
    return Average.single(flat, small if noise is None else noise), (told,)


# ------------------------------------------------------------------------------ by evidence


def _by_evidence(task: Task, scheme: Scheme, noise: float | None) -> Climb:
    if not task.gaussian:
        climbs, told = laplace_objectives(task, scheme)
        climb = _climb(task, climbs, noise)
        return replace(climb, choices=(told, *climb.choices), laplace=climbs[-1])
    many = task.dim > limits.MAX_GAP_DIMENSIONS and task.domain.shared is None
    if many and task.settings.kernel is None and len(task.obs) > limits.MAX_EXACT_TUNING_ROWS:
        return Climb(*select_many_dimensions(task, noise))
    objectives, told = gaussian_objectives(task, scheme)
    if len(objectives) == 1:
        climb = _climb(task, objectives, noise)
    elif task.settings.kernel is None and not many:
        climb = _multiscale(task, objectives, noise)
    else:
        climb = _climb(task, objectives, noise)
        refined = refine_on_lattice(climb.tuned, climb.search, task.obs, reml=task.settings.reml)
        climb = replace(climb, tuned=refined)
    if climb.tuned.by_all_rows:
        told = Choice("tuning", "lattice", text=f"{told}; then of all rows, on waves of a lattice")
    return replace(climb, choices=(told, *climb.choices))


def _multiscale(task: Task, objectives: Sequence[Objective], noise: float | None) -> Climb:
    # smooth fields without noise: each row is predicted from few others, whose systems can be solved
    coarse, fine = (
        Search(objective, task.scale, noise, least_noise=limits.LEAST_LOCAL_NOISE, shared=task.domain.shared)
        for objective in objectives
    )
    tuned, told = select_multiscale(coarse, fine, task)
    return Climb(fine, tuned, (told,))


def _climb(task: Task, objectives: Sequence[Objective], noise: float | None) -> Climb:
    """Tune by the first objective; the next, dearer ones start where it ended."""
    kernel, scale = task.settings.kernel, task.scale
    prior = len(task.obs) < limits.MAX_AVERAGING_ROWS and task.settings.reml
    shared = None if kernel is not None else task.domain.shared
    search = Search(objectives[0], scale, noise, prior, shared=shared)
    if kernel is None:
        toll = 0.0 if task.gaussian else 0.5 * np.log(task.obs.total)
        tuned, told = select_kernel(search, task.obs.total, task.dim, toll)
    else:
        at = noise if noise is not None else 0.1 * scale.variance
        starts = [(kernel, at), *informed_starts(kernel, scale, task.obs, at)]
        tuned = tune(search, kernel, starts)
        told = Choice("kernel", repr(kernel), given=True, text="as given; its values were learned")
    for objective in objectives[1:]:
        search = Search(objective, scale, noise, prior, shared=shared)
        tuned = search.maximise(tuned.kernel, tuned.noise_variance, 50)
    return Climb(search, tuned, (told,))


def _by_folds(task: Task, scheme: Scheme, climb: Climb) -> Climb:
    """Hyperparameters that predict held-out rows best, near those of the largest evidence."""
    start, family = climb.tuned, task.responses.family
    if climb.laplace is not None:
        climb.laplace.settle(start.kernel, start.noise_variance)
        family = climb.laplace.family
    score, name, n_folds = fold_score(task, scheme, family, start)
    search = Search(score_objective(score), task.scale, climb.search.noise_variance, shared=climb.search.shared)
    tuned = search.maximise(start.kernel, start.noise_variance, 20)
    if tuned.value < search.evaluate(start.kernel, start.noise_variance)[0]:
        tuned = start
    text = (
        f"{name} of {n_folds} held-out blocks, started at the {task.settings.criterion} optimum; "
        f"score {-score(tuned.kernel, tuned.noise_variance):.4g}"
    )
    told = Choice("tuning", "held-out blocks", text=text)
    return replace(climb, search=search, tuned=tuned, choices=(*climb.choices, told))


def _averaged(task: Task, scheme: Scheme, climb: Climb) -> tuple[Average, Choice]:
    """One set of hyperparameters, or several where the data do not pin them down."""
    best, n = Average.single(climb.tuned.kernel, climb.tuned.noise_variance), len(task.obs)
    if scheme.fixed_features:
        text = "at the best hyperparameters: the features are learned once"
        return best, Choice("intervals", 1, text=text)
    if n >= limits.MAX_AVERAGING_ROWS or task.folds is not None:
        return best, Choice("intervals", 1, text="at the best hyperparameters")
    found = average(climb.search, climb.tuned)
    text = (
        f"averaged over {len(found.mass)} sets of hyperparameters: {n} rows "
        f"(fewer than {limits.MAX_AVERAGING_ROWS}) do not pin them down"
    )
    return found, Choice("intervals", len(found.mass), text=text)


# ---------------------------------------------------------------------- what a family adds


def _no_own_effect(task: Task, found: Average) -> bool:
    """Whether rows were found to have no noise, or effect, of their own."""
    return bool(found.noise_variances[0] < limits.NO_OWN_EFFECT * task.scale.variance)


def _with_family(task: Task, scheme: Scheme, learned: Learned, climb: Climb | None) -> Learned:
    """With the dispersion, and the marginal likelihood with the trend at its maximum, where they can be had."""
    data, reml = task.data, task.settings.reml
    assert isinstance(data, Responses)
    kernel, noise = learned.average.pairs[0]
    laplace = laplace_objectives(task, scheme)[0][-1] if climb is None or climb.laplace is None else climb.laplace
    if laplace.learns:
        laplace.settle(kernel, noise)
        told = Choice("dispersion", laplace.family.dispersion, "learned by the evidence")
        learned = replace(learned, choices=(*learned.choices, told))
    learned = replace(learned, family=laplace.family)
    dear = reml and len(data) > limits.MAX_EXACT_TUNING_ROWS
    if dear or len(laplace.parts) > 1 or scheme.adaptive or scheme.own_draw(task) is not None:
        return learned
    held = LaplaceObjective([replace(data, family=laplace.family)], ExactBound, reml=False) if reml else laplace
    value = held.settle(kernel, noise)
    return replace(learned, trend=None if reml else held.trend, log_likelihood=value)
