"""Learning: hyperparameters from observations, by whichever criterion was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import FallbackWarning, InputError, TuningWarning, warn
from bochner.families import Family
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.objective import Objective
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.learning.few import learned_of_few, variance_of
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses, distinct_responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning import limits
from bochner.inference.tuning.averaging import average, average_of_several, with_rivals
from bochner.inference.tuning.branches import integrated, is_in_extents
from bochner.inference.tuning.climb import Climb, climbed
from bochner.inference.tuning.fold_score import fold_score
from bochner.inference.tuning.integration import is_one_field
from bochner.inference.tuning.laplace_climb import by_laplace
from bochner.inference.tuning.laplace_integration import laplace_integrated
from bochner.inference.tuning.many_dimensions import select_many_dimensions
from bochner.inference.tuning.multiscale import select_multiscale
from bochner.inference.tuning.objectives import gaussian_objectives, laplace_objectives
from bochner.inference.tuning.open_fields import open_average
from bochner.inference.tuning.rare_cases import cases_and_others
from bochner.inference.tuning.refinement import refine_on_lattice
from bochner.inference.tuning.reweighting import Reweighted, first_weights, gaussian_task, settled
from bochner.inference.tuning.search import Search, score_objective
from bochner.inference.tuning.varying_amplitude import told_of_amplitude
from bochner.kernels import Kernel, Matern

UNTUNED = "the evidence could not be computed at any of the values tried, and the values begun from are kept"
UNTUNED_ADVICE = (
    "; maps and intervals are not to be relied on. Look for rows or covariates that are out of scale, or give a kernel "
    "of your own with tune=None."
)


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


Fixed = tuple[Average, tuple[Choice, ...]]  # hyperparameters that need no search, and what is told of them


def learn(task: Task, scheme: Scheme) -> Learned:
    """Learn what is not given."""
    if task.responses.family.reweighted:
        return _reweighted(task, scheme)
    return _learned(task, scheme, _reached(task, scheme))


def _reached(task: Task, scheme: Scheme) -> Climb | Fixed:
    """The best hyperparameters, before anything is averaged."""
    noise, choices = known_noise(task)
    few = _is_few(task, scheme)
    variance = variance_of(task) if few and task.gaussian else None
    fixed = _given(task, noise, choices) if not task.settings.learns else _degenerate(task, noise, variance)
    if fixed is None and few:
        fixed = learned_of_few(task, noise)
    if fixed is not None:
        return fixed
    climb = _by_evidence(task, scheme, noise)
    return climb if task.folds is None else _by_folds(task, scheme, climb)


def _is_few(task: Task, scheme: Scheme) -> bool:
    """Whether the exact evidence of one field is what a fit learns by."""
    s, domain = task.settings, task.domain
    plain = s.kernel is None and s.reml and task.folds is None and scheme.own_draw(task) is None
    places = (
        task.dim <= 2
        and not _of_unlike_units(task.obs.rows.coords)
        and not domain.last_is_time
        and domain.shared is None
        and not task.obs.rows.has_areas
    )
    most = limits.MAX_AVERAGING_ROWS if task.gaussian else limits.MAX_LAPLACE_GRID_ROWS
    free = not (scheme.adaptive or scheme.fixed_features)
    return plain and places and free and len(task.data) < min(most, limits.MAX_EXACT_TUNING_ROWS)


def _of_unlike_units(coords: FloatArray) -> bool:
    """Whether coordinates scatter so differently along their principal axes that they hardly share a unit."""
    sizes = np.linalg.svd(coords - coords.mean(axis=0), compute_uv=False)
    return bool(sizes[0] > limits.UNLIKE_UNITS * sizes[-1])


def _learned(task: Task, scheme: Scheme, reached: Climb | Fixed) -> Learned:
    """Averaged over what the data leave open, and told."""
    climb: Climb | None = None
    at_bounds: tuple[str, ...] = ()
    if isinstance(reached, tuple):
        found, told = reached
    else:
        climb = reached
        found, intervals = _averaged(task, scheme, climb)
        told, at_bounds = (*climb.choices, intervals, *_failure(climb)), climb.tuned.at_bounds
        if found.amplitude is not None:
            told = (*told, told_of_amplitude(found.amplitude, task.obs.rows.coords))
    if "noise_variance" in at_bounds and _no_own_effect(task, found):
        # that is an answer, not a failure to find one: counts without effects of rows, or exact measurements
        at_bounds = tuple(name for name in at_bounds if name != "noise_variance")
        text = f"none to speak of: the {task.settings.criterion} is largest without"
        told = (*told, Choice("noise", float(found.noise_variances[0]), text=text))
    learned = Learned(found, task.responses.family, (*known_noise(task)[1], *told), at_bounds)
    return learned if task.gaussian else _with_family(task, scheme, learned, climb)


def _failure(climb: Climb) -> tuple[Choice, ...]:
    """What to say where no values of the hyperparameters could be judged; nothing otherwise."""
    if not climb.tuned.failed:
        return ()
    warn(f"tuning failed: {UNTUNED}{UNTUNED_ADVICE}", TuningWarning)
    return (Choice("tuning", "failed", text=f"failed: {UNTUNED}"),)


def _reweighted(task: Task, scheme: Scheme) -> Learned:
    """Kernel and weights of the rows in turn, until these stay."""
    r, group = distinct_responses(task.responses)
    now = used = first_weights(r)
    for _ in range(limits.REWEIGHTING_ROUNDS if task.settings.learns else 1):
        used = now
        gaussian = gaussian_task(task, used.of_rows(group, task.responses.weight))
        reached = _reached(gaussian, scheme)
        now = settled(*_best(scheme, reached), r, used)
        change = np.abs(np.log(now.relative / used.relative))
        if np.quantile(change, limits.WATCHED_SHARE) < limits.SETTLED_ROUND:
            break
    if not task.settings.learns:  # values that were given do not follow the weights: these may settle at once
        used = now
    learned = _learned(gaussian, scheme, reached)  # only the last round needs the average
    values = now.family.parameters
    told = [Choice(name, values[name], "learned, with the weights of the rows") for name in r.family.unknown]
    gain = now.gain(used.relative, learned.average.pairs[0][1], r.weight)
    weights = used.of_rows(group, task.responses.weight)
    return replace(learned, family=now.family, choices=(*learned.choices, *told), reweighted=weights, gain=gain)


def _best(scheme: Scheme, reached: Climb | Fixed) -> tuple[Kernel, float]:
    """Kernel and noise variance that come first in the average."""
    if isinstance(reached, tuple):
        return reached[0].pairs[0]
    if reached.stack is not None and not scheme.fixed_features and not scheme.adaptive:
        return reached.stack.pairs[0]
    return reached.tuned.kernel, reached.tuned.noise_variance


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


def _given(task: Task, noise: float | None, told: Sequence[Choice]) -> Fixed:
    s, choices = task.settings, [Choice("tuning", None, text="none: the values given are kept")]
    kernel = Matern() if s.kernel is None else s.kernel
    at = task.scale.variance * 0.1 if noise is None else noise
    if s.kernel is None:
        choices.append(Choice("kernel", repr(kernel), "none was given and none is learned"))
    if s.noise_variance is None and not told:
        share = "a tenth of the variance of y" if task.gaussian else "no effect of single rows"
        choices.append(Choice("noise", float(at), f"{share}; none was given and none is learned"))
    return Average.single(kernel, at), tuple(choices)


def _degenerate(task: Task, noise: float | None, variance: float | None = None) -> Fixed | None:
    """A flat map, where the data do not differ in what the kernel is about."""
    obs, variance = task.obs, task.scale.variance if variance is None else variance
    size = float(np.mean(obs.y**2)) or 1.0
    one_place = False
    if variance <= 1e-20 * size:
        problem = "the response is constant (or follows the trend exactly)"
    elif not np.any(obs.rows.coords != obs.rows.coords[0]):
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
        return by_laplace(task, scheme, noise)
    many = task.dim > limits.MAX_GAP_DIMENSIONS and task.domain.shared is None
    if many and task.settings.kernel is None and len(task.obs) > limits.MAX_EXACT_TUNING_ROWS:
        return Climb(*select_many_dimensions(task, noise))
    objectives, told = gaussian_objectives(task, scheme)
    if len(objectives) == 1:
        climb = climbed(task, scheme, objectives, noise)
    elif task.settings.kernel is None and not many:
        climb = _multiscale(task, objectives, noise)
    else:
        climb = climbed(task, scheme, objectives, noise)
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
    tuned, told, stack = select_multiscale(coarse, fine, task)
    return Climb(fine, tuned, (told,), stack=stack)


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
    return replace(climb, search=search, tuned=tuned, choices=(*climb.choices, told), stack=None)


def _averaged(task: Task, scheme: Scheme, climb: Climb) -> tuple[Average, Choice]:
    """One set of hyperparameters, or several where the data do not pin them down."""
    best, n = Average.single(climb.tuned.kernel, climb.tuned.noise_variance), len(task.obs)
    if scheme.fixed_features:
        text = "at the best hyperparameters: the features are learned once"
        return best, Choice("intervals", 1, text=text)
    if climb.stack is not None and not scheme.adaptive:
        n_kernels = len(climb.stack.mass)
        if n_kernels == 1:
            return climb.stack, Choice("intervals", 1, text="at the best hyperparameters")
        return climb.stack, Choice("intervals", n_kernels, text=f"of a mixture of {n_kernels} kernels")
    told = f"{n:,} rows (fewer than {limits.MAX_AVERAGING_ROWS})"
    few = n < limits.MAX_AVERAGING_ROWS
    if not few and climb.search.prior:  # many rows that say little: presence of a few per cent
        few, told = True, f"{n:,} rows, which say as much as fewer than {limits.MAX_AVERAGING_ROWS} measurements would,"
    if not few or task.folds is not None or climb.tuned.failed:
        left = _left_open(task, scheme, climb) if not few else None
        return (best, Choice("intervals", 1, text="at the best hyperparameters")) if left is None else left
    if _integrable(task, scheme, climb):
        per_axis = None if climb.search.shared is not None else climb.per_axis  # the sphere has no axes of its own
        return integrated(task.settings.kernel, task.obs, climb.search, climb.tuned, per_axis, climb.each)
    if climb.laplace is not None and _on_grid(task, scheme, climb, climb.laplace):
        gridded = laplace_integrated(task.settings.kernel, climb.laplace, climb.search, climb.tuned, n)
        if gridded is not None:
            return gridded
    rare = _of_rare_cases(task, scheme, climb)
    if rare is not None:
        return rare
    if n >= limits.MAX_AVERAGING_ROWS and isinstance(climb.laplace, InformedLaplace):  # of all rows: too dear to repeat
        return best, Choice("intervals", 1, text="at the best hyperparameters")
    several = bool(climb.turned) and climb.turned[0].kernel == climb.tuned.kernel
    found = average_of_several(climb.search, climb.turned) if several else average(climb.search, climb.tuned)
    found = with_rivals(found, climb.tuned, climb.rivals)
    text = f"averaged over {len(found.mass)} sets of hyperparameters: {told} do not pin them down"
    return found, Choice("intervals", len(found.mass), text=text)


def _left_open(task: Task, scheme: Scheme, climb: Climb) -> tuple[Average, Choice] | None:
    """An average of more rows that say little; None where they say enough, or are too many to be asked exactly."""
    s = task.settings
    judged = task.gaussian and task.folds is None and s.reml and not climb.tuned.failed
    if not judged or not scheme.exact or len(task.obs) > limits.MAX_OPEN_ROWS:
        return None
    return open_average(climb.search, climb.tuned, task.obs, s.kernel, s.seed)


def _integrable(task: Task, scheme: Scheme, climb: Climb) -> bool:
    """Whether the hyperparameters are those of one Gaussian field, by the exact evidence: a grid can hold them all."""
    known = bool(task.obs.error.any()) or climb.search.noise_variance is not None
    freedom = task.obs.total - task.obs.n_trend
    return (
        task.gaussian
        and scheme.own_draw(task) is None
        and task.settings.reml
        and task.dim <= 3
        and is_one_field(climb.tuned.kernel)
        and (known or freedom >= limits.LEAST_FREEDOM)
    )


def _of_rare_cases(task: Task, scheme: Scheme, climb: Climb) -> tuple[Average, Choice] | None:
    """Hyperparameters of thousands of rows with few cases, integrated over as those of few rows are."""
    data, kernel = task.data, climb.tuned.kernel
    one_field = is_one_field(kernel) and len(kernel.theta) == 2 and task.dim <= 3
    if not isinstance(data, Responses) or not one_field or not scheme.exact or not task.settings.reml:
        return None
    part = cases_and_others(data, task.settings.seed)
    if part is None:
        return None
    objective = LaplaceObjective([part], ExactBound, reml=True)
    return laplace_integrated(task.settings.kernel, objective, climb.search, climb.tuned, len(task.obs))


def _on_grid(task: Task, scheme: Scheme, climb: Climb, laplace: LaplaceObjective) -> bool:
    """Whether the hyperparameters are those of one field with one range, of so few rows that a grid is affordable.

    A dispersion to be learned would be sought anew at each point, and one serves all sets in the end.
    """
    return (
        len(laplace.parts) == 1
        and not laplace.learns
        and laplace.largest <= limits.MAX_LAPLACE_GRID_ROWS
        and scheme.own_draw(task) is None
        and task.settings.reml
        and task.dim <= 3
        and is_one_field(climb.tuned.kernel)
        and (len(climb.tuned.kernel.theta) == 2 or is_in_extents(climb.tuned.kernel, task.scale.extent))
    )


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
    held = laplace
    if reml:
        held = LaplaceObjective([replace(data, family=laplace.family)], ExactBound, reml=False)
        held.starts = laplace.starts[:]
    value = held.settle(kernel, noise)
    return replace(learned, trend=None if reml else held.trend, log_likelihood=value)
