"""Selection of a kernel for many rows: smoothness, direction and sums of scales, judged in gaps.

The likelihood listens to neighbouring rows; a map is judged between them. So sums of scales are fitted to rows whose
predecessors lie as far off as data lie from the places to be predicted, and kernels are chosen by how well they
predict held-out rows that lie as those places do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.exceptions import InputError
from bochner.features import Grid, find_grid
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.local_folds import held_out_by_each, held_out_locally
from bochner.inference.observed.average import Average
from bochner.inference.observed.domain import Domain
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.objectives import likelihood_in
from bochner.inference.tuning.refinement import by_some_rows, refine_on_lattice
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.space_time import space_time_fields
from bochner.inference.tuning.stacking import Judged, gaps_of, likeness, stacking_weights
from bochner.inference.tuning.sums import fit_rough_sum, fit_sum
from bochner.inference.tuning.variance_factor import variance_factor
from bochner.inference.tuning.varying_amplitude import Law, varying_amplitude
from bochner.kernels import Kernel, Matern
from bochner.kernels.anisotropy import whitening
from bochner.neighbours import SharedOrder
from bochner.random import generator
from bochner.resources import side_by_side, small_systems
from bochner.validation import GapBlocks, crps
from bochner.validation.gaps import mirrored_gaps, share_in_gaps

ONE_FIELD = "one Matern field"
STRETCHED_FIELD = "one Matern field, far stretched"
SUM_OF_THREE = "a sum of short, middle and long Matern fields"


@small_systems()
def select_multiscale(coarse: Search, fine: Search, task: Task) -> tuple[Tuned, Choice, Average | None]:
    """Best of a single Matern field and a sum of a short, a middle and a long one; a mixture of kernels in gaps.

    `coarse` and `fine` hold the same likelihood on few and on many points; the first finds the neighbourhood, the
    second the values, and the evidence of all rows improves on them where it can be had. Where the wanted places lie
    in gaps, more candidates join, and those that predict such gaps well are stacked.
    """
    obs, seed = task.responses.observations().with_weight(), task.settings.seed
    if task.domain.groups is not None:
        task = replace(task, domain=replace(task.domain, groups=task.domain.groups[task.responses.weight > 0]))

    def one_field() -> tuple[Tuned, Tuned | None]:
        plain, far = _single(coarse, fine, lambda t: by_some_rows(t, task.obs, reml=task.settings.reml))
        plain = _among_its_own(plain, fine, task)
        far = None if far is None else _among_its_own(far, fine, task)
        return refine_on_lattice(plain, fine, task.obs, reml=task.settings.reml), far

    (single, stretched), folds = side_by_side(one_field, lambda: task_folds(obs, task.domain, seed, task.grid))
    candidates = [(ONE_FIELD, single)]
    if stretched is not None:
        candidates.append((STRETCHED_FIELD, stretched))
    axial = _axial(single, fine)
    if axial is not None:
        candidates.append(("one Matern field with a length scale along the Earth's axis", axial))
    if task.domain.last_is_time:
        candidates += space_time_fields(single, coarse, fine)
    shared = SharedOrder()
    wanted = wanted_places(obs, task.domain, seed)
    in_gaps = _may_be_stacked(task, obs, wanted)
    worth = limits.WORTH_IN_GAPS if in_gaps else limits.WORTH_LIKELIHOOD
    (several, gained), plain = side_by_side(
        lambda: fit_sum(single, fine.noise_variance, obs, folds, seed, shared, worth),
        lambda: _plain_fields(single, fine, obs, seed, shared) if in_gaps else [],
    )
    if several is not None:
        candidates.append((SUM_OF_THREE, several))
    if in_gaps:
        candidates += plain
        more_likely = gained >= limits.WORTH_LIKELIHOOD
        return _stacked(candidates, fine.noise_variance, task, obs, folds, wanted, single.by_all_rows, more_likely)
    held = held_out_by_each([(t.kernel, t.noise_variance) for _, t in candidates], obs, folds)
    held_out = [_law(tuned, one, obs) for (_, tuned), one in zip(candidates, held, strict=True)]
    scores = [crps(y, mean, sd, sample_weight=weight) for y, mean, sd, weight in held_out]
    # near rows hardly feel which way the field reaches further; where they tell neither apart, the likelihood does
    nats = 0.0 if axial is None else axial.value - single.value
    likelier = nats > limits.WORTH_LIKELIHOOD
    best = 1 if likelier and scores[1] < scores[0] * (1 + limits.WORTH_CRPS) else 0
    for i in range(1, len(candidates)):
        if scores[i] < scores[best] * (1 - limits.WORTH_CRPS):
            best = i
    told = "; ".join(f"{name} {score:.4g}" for (name, _), score in zip(candidates, scores, strict=True))
    name, tuned = candidates[best]
    factor = variance_factor(*held_out[best])
    noise = tuned.noise_variance * (factor if fine.noise_variance is None else 1.0)
    # chosen by what it predicts: a scale at its bound, or no noise, is then no fault to warn of
    by_all_rows = single.by_all_rows
    tuned = replace(
        tuned,
        kernel=tuned.kernel.scaled(factor),
        noise_variance=noise,
        at_bounds=(),
        by_all_rows=by_all_rows,
        calibration=factor,
    )
    known = _times(held[best], factor, fine.noise_variance, obs)
    average = _modulated(Average.single(tuned.kernel, noise), task, tuned, obs, folds, held=known)
    why = f"CRPS on rows held out as the places to be predicted lie ({told})"
    if several is None and best == 0:
        why = f"a sum of three is hardly more likely; {why}"
    elif best == 1 and likelier and scores[1] >= scores[0] * (1 - limits.WORTH_CRPS):
        why = f"more likely by {nats:.0f} nats, and no other is better in {why}"
    else:
        why = f"chosen by {why}"
    if factor != 1.0:
        why += f"; variances times {factor:.2f}, so that intervals hold of them what they say"
    return tuned, Choice("kernel", name, why), average


def _may_be_stacked(task: Task, obs: Observations, wanted: FloatArray) -> bool:
    """Whether the wanted places lie in gaps, of a table of space alone."""
    domain = task.domain
    of_space = domain.groups is None and domain.shared is None and not domain.last_is_time and 1 < task.dim <= 3
    many = len(obs) > limits.MAX_EXACT_TUNING_ROWS
    return of_space and many and share_in_gaps(*_in_pixels(task.grid, wanted, obs.rows.coords)) >= limits.GAPPY


def _plain_fields(
    single: Tuned, fine: Search, obs: Observations, seed: int, shared: SharedOrder
) -> list[tuple[str, Tuned]]:
    """Candidates that follow the data less: an isotropic exponential field, and a sum of two rough ones."""
    size = float(np.exp(np.mean(np.log(np.atleast_1d(single.kernel.length_scale)))))  # type: ignore[attr-defined]
    start = Matern(size, single.kernel.variance, nu=limits.ISOTROPIC_SMOOTHNESS)  # type: ignore[attr-defined]
    if isinstance(single.kernel.length_scale, tuple) and single.kernel.rotation is None:  # type: ignore[attr-defined]
        start = start.replace(length_scale=single.kernel.length_scale)  # type: ignore[attr-defined]
    plain = fine.maximise(start, single.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)
    rough = fit_rough_sum(single, fine.noise_variance, obs, seed, shared)
    return [("one exponential field", plain), ("a sum of two exponential fields", rough)]


def _stacked(
    candidates: list[tuple[str, Tuned]],
    noise_variance: float | None,
    task: Task,
    obs: Observations,
    folds: list[Fold],
    wanted: FloatArray,
    by_all_rows: bool,
    sum_is_likelier: bool,
) -> tuple[Tuned, Choice, Average | None]:
    """The heaviest of the candidates, what was decided, and the mixture, where one alone is not clearly enough.

    A sum that is likelier than the single field by more than its parameters can be by chance takes the place of it.
    """
    everything = np.arange(len(obs))
    wanted, coords = _in_pixels(task.grid, wanted, obs.rows.coords)
    masks = mirrored_gaps(wanted, coords, limits.ENOUGH_MIRRORS if len(obs) > limits.MANY_MIRRORED_ROWS else None)
    folds = folds + [(everything[~mask], everything[mask]) for mask in masks]
    held = held_out_by_each([(t.kernel, t.noise_variance) for _, t in candidates], obs, folds)
    index = held[0].index
    sds = [
        np.sqrt(h.variance + obs.copy_variance(t.noise_variance)[index])
        for (_, t), h in zip(candidates, held, strict=True)
    ]
    weight = obs.weight[index] * likeness(coords, folds, held[0], wanted)
    means = np.stack([h.mean for h in held])
    judged = Judged(obs.y[index], means, np.stack(sds), weight, gaps_of(coords, held[0]))
    credible = _credible(judged)
    if sum_is_likelier:
        credible = _without_nested(judged, credible, [name for name, _ in candidates])
    mass = np.zeros(len(candidates))
    mass[credible] = stacking_weights(judged.of(credible))
    factor = variance_factor(judged.y, *judged.moments(mass), weight)
    order = [int(i) for i in np.argsort(-mass, kind="stable") if mass[i] > 0]
    taken = [
        replace(
            t,
            kernel=t.kernel.scaled(factor),
            noise_variance=t.noise_variance * (factor if noise_variance is None else 1.0),
            at_bounds=(),
            by_all_rows=by_all_rows,
            calibration=factor,
        )
        for t in (candidates[i][1] for i in order)
    ]
    told = "; ".join(f"{n} {judged.crps(unit):.4g}" for (n, _), unit in zip(candidates, np.eye(len(mass)), strict=True))
    why = f"by CRPS on rows held out as the places to be predicted lie, in {judged.n_gaps:.0f} independent gaps ({told}"
    why += f"; together {judged.crps(mass):.4g})" if len(order) > 1 else ")"
    if factor != 1.0:
        why += f"; variances times {factor:.2f}, so that intervals hold of them what they say"
    noises = np.array([t.noise_variance for t in taken])
    found = Average(tuple(t.kernel for t in taken), noises, mass[order])
    known = _times(held[order[0]], factor, noise_variance, obs)
    average = _modulated(found, task, taken[0], obs, folds, weight, known)
    if len(order) == 1:
        return taken[0], Choice("kernel", candidates[order[0]][0], f"chosen {why}"), average
    names = ", ".join(f"{mass[i]:.0%} {candidates[i][0]}" for i in order)
    choice = Choice("kernel", "a mixture", text=f"a mixture of {names}: weighted {why}")
    return taken[0], choice, found if average is None else average


def _modulated(
    average: Average,
    task: Task,
    tuned: Tuned,
    obs: Observations,
    folds: list[Fold],
    weight: FloatArray | None = None,
    held: HeldOut | None = None,
) -> Average | None:
    """The kernels with an amplitude over space, by the first of them; None where one for all places serves as well."""
    of_space = task.domain.groups is None and not task.domain.last_is_time and task.dim <= 3
    if not of_space or not task.gaussian:
        return None
    held = held_out_locally(tuned.kernel, obs, tuned.noise_variance, folds) if held is None else held
    y, mean, sd, own_weight = _law(tuned, held, obs)
    found = varying_amplitude(tuned, obs, folds, held, (y, mean, sd, own_weight if weight is None else weight))
    return None if found is None else replace(average, amplitude=found)


def _credible(judged: Judged) -> IntArray:
    """Candidates whose variances need no more calibration than is allowed; all, if none is so."""
    low, high = limits.CALIBRATION_RANGE
    pairs = zip(judged.means, judged.sds, strict=True)
    factors = np.array([variance_factor(judged.y, mean, sd, judged.weight) for mean, sd in pairs])
    fair = np.flatnonzero((factors > low) & (factors < high))
    return fair if len(fair) else np.arange(len(factors))


def _without_nested(judged: Judged, kernels: IntArray, names: list[str]) -> IntArray:
    """Candidates without the single field, where a sum is one of them that gaps do not find clearly worse.

    The sum holds the single field as a special case, and thousands of rows found it more likely: a few gaps that cannot
    tell the two apart are no reason to go halfway back.
    """
    kept = [names[i] for i in kernels]
    if ONE_FIELD not in kept or SUM_OF_THREE not in kept:
        return kernels
    one, several = names.index(ONE_FIELD), names.index(SUM_OF_THREE)
    units = np.eye(len(names))
    lost, error = judged.loss(units[several], units[one])
    return kernels if lost > limits.NESTED_ERRORS * error else kernels[kernels != one]


def wanted_places(obs: Observations, domain: Domain, seed: int) -> FloatArray:
    """Some of the places to be predicted: those asked for, or all over the box."""
    rng = generator(seed, "wanted places")
    wanted = _everywhere(obs.rows.coords, rng) if domain.wanted is None else domain.wanted
    if len(wanted) > limits.MAX_WANTED_PLACES:
        wanted = wanted[rng.choice(len(wanted), limits.MAX_WANTED_PLACES, replace=False)]
    return wanted


def task_folds(obs: Observations, domain: Domain, seed: int, grid: Grid | None = None) -> list[Fold]:
    """Folds whose test rows lie as the wanted places lie; as a map of the whole box would, if none are given.

    Rows of a group are held out together: the gaps are then cut between the middles of the groups. Gaps of an image are
    cut in pixels, so that they are the same in every unit.
    """
    wanted, coords = _in_pixels(grid, wanted_places(obs, domain, seed), obs.rows.coords)
    if domain.groups is not None and len(np.unique(domain.groups)) >= limits.LEAST_GROUPS:
        return _group_folds(len(coords), domain.groups, seed)
    try:
        return list(GapBlocks(wanted, limits.N_GAP_FOLDS, random_state=seed).split(coords))
    except InputError:  # no shape to move: hold out single rows
        rows = generator(seed, "held-out rows").permutation(len(coords))
        return [(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 10)[: limits.N_GAP_FOLDS]]


def _in_pixels(grid: Grid | None, *places: FloatArray) -> tuple[FloatArray, ...]:
    """Places in pixels of a grid, equal distances to the last digit; as they are, where there is none."""
    return places if grid is None else tuple(np.round((some - grid.origin) / grid.step, 2) for some in places)


def _group_folds(n: int, groups: IntArray, seed: int) -> list[Fold]:
    """Whole groups held out, a tenth of them in each fold; each fold leaves gaps where it held groups out."""
    order = generator(seed, "held-out groups").permutation(np.unique(groups))
    n_parts = min(10, len(order))
    parts = [order[k::n_parts] for k in range(n_parts)]
    # few groups: all of them, so that the calibration does not rest on a handful
    n_folds = limits.N_GAP_FOLDS if len(order) >= limits.MANY_GROUPS else n_parts
    tests = [np.flatnonzero(np.isin(groups, part)) for part in parts[:n_folds]]
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


def _everywhere(coords: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Places over the whole box: the empty nodes of a grid, or uniform ones."""
    grid = find_grid(coords)
    if grid is None:
        return rng.uniform(
            coords.min(axis=0), coords.max(axis=0), size=(limits.MAX_WANTED_PLACES // 2, coords.shape[1])
        )
    taken = np.zeros(grid.shape, dtype=bool)
    at = grid.positions(coords)
    assert at is not None
    taken[tuple(at.T)] = True
    empty = np.argwhere(~taken)
    if len(empty) < 0.01 * taken.size:
        empty = np.argwhere(np.ones(grid.shape, dtype=bool))
    return grid.origin + grid.step * empty


def _axial(single: Tuned, fine: Search) -> Tuned | None:
    """On the sphere: a length scale of its own along the Earth's axis, so that zonal and meridional ones differ."""
    if fine.shared is None or len(fine.shared) != 3 or isinstance(single.kernel.length_scale, tuple):  # type: ignore[attr-defined]
        return None
    start = single.kernel.replace(length_scale=(single.kernel.length_scale,) * 3)  # type: ignore[attr-defined]
    found = fine.maximise(start, single.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)
    return found if found.value > single.value + 2 else None


def _single(coarse: Search, fine: Search, judge: Callable[[Tuned], float]) -> tuple[Tuned, Tuned | None]:
    """The likeliest field, and a likelier one that is stretched so far that it may follow the sampling, if any."""
    if coarse.shared is None and unlike(coarse.scale.extent):
        return _along_unlike_axes(coarse, fine, judge), None
    further = coarse.shared is not None and len(coarse.shared) > 3
    draft = _draft(coarse, lambda nu: _first(nu, coarse, further))
    far: Tuned | None = None
    for start in _wider(draft.kernel, coarse.scale.extent) if coarse.shared is None else ():
        wider = coarse.maximise(start, draft.noise_variance, limits.COARSE_ITERATIONS, limits.SETTLED)
        n_more = len(wider.kernel.theta) - len(draft.kernel.theta)
        if wider.value <= draft.value + 2 * n_more:
            continue
        if stretch(wider.kernel) <= limits.MAX_STRETCH:
            draft = wider
        else:
            far = wider
    single = fine.maximise(draft.kernel, draft.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)
    if far is None or far.value <= draft.value:
        return single, None
    return single, fine.maximise(far.kernel, far.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)


def _along_unlike_axes(coarse: Search, fine: Search, judge: Callable[[Tuned], float]) -> Tuned:
    """The likeliest field along axes in units of their own, or along a strip.

    Neighbours are near in the extents of the axes: they do not see how a field that hardly varies along one of them is
    contradicted by rows far away along it, and see little of one along a strip. So `judge` tells how likely fields are,
    and length scales stay in the ratio of the extents, or equal, unless others are likelier by more than chance.
    """
    extent = coarse.scale.extent
    along = tuple(extent.tolist())
    tied, finer = (replace(search, shared=(0,) * len(extent)) for search in (coarse, fine))
    equal = _draft(coarse, lambda nu: [Matern(nu=nu)])
    scaled = _draft(tied, lambda nu: [Matern(along, nu=nu)])
    draft, search = max(((equal, fine), (scaled, finer)), key=lambda pair: judge(pair[0]))
    ranges = np.atleast_1d(draft.kernel.length_scale) * np.ones(len(extent))  # type: ignore[attr-defined]
    starts = [tuple(ranges.tolist()), *(tuple((part * extent).tolist()) for part in limits.AXIS_STARTS)]
    climbs = [
        coarse.maximise(
            draft.kernel.replace(length_scale=start), draft.noise_variance, limits.COARSE_ITERATIONS, limits.SETTLED
        )
        for start in starts
    ]
    free = max(climbs, key=lambda t: t.value)
    if judge(free) > judge(draft) + 2 * (len(extent) - 1):
        draft, search = free, fine
    return search.maximise(draft.kernel, draft.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)


def _draft(coarse: Search, first: Callable[[float], list[Kernel]]) -> Tuned:
    """The likeliest field that some kernels of smoothness 1/2 and 3/2 lead to, its smoothness learned."""
    drafts = [tune(coarse, start, n_climbs=1) for nu in (0.5, 1.5) for start in first(nu)]
    rough = max(drafts, key=lambda t: t.value)
    return coarse.maximise(
        rough.kernel.replace(learn_nu=True), rough.noise_variance, limits.COARSE_ITERATIONS, limits.SETTLED
    )


def _among_its_own(found: Tuned, fine: Search, task: Task) -> Tuned:
    """A stretched field with a likelihood whose neighbours are near as it reaches: others tell little of it."""
    kernel = found.kernel
    if fine.shared is not None or not isinstance(kernel, Matern) or not isinstance(kernel.length_scale, tuple):
        return found
    lengths = np.array(kernel.length_scale)
    if lengths.max() < limits.HARDLY_STRETCHED * lengths.min() or found.failed:
        return found
    metric = lengths if kernel.rotation is None else whitening(kernel.length_scale, kernel.rotation)
    own = replace(fine, objective=likelihood_in(task, metric))
    return own.maximise(kernel, found.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)


def stretch(kernel: Kernel) -> float:
    """Ratio of the length scales along rotated axes; 1 where each axis has its own unit."""
    rotated = kernel.rotation is not None  # type: ignore[attr-defined]
    return float(np.max(kernel.length_scale) / np.min(kernel.length_scale)) if rotated else 1.0  # type: ignore[attr-defined]


def _first(nu: float, coarse: Search, further: bool) -> list[Kernel]:
    """Kernels to begin with: isotropic, unless the sphere has a further axis, time, in a unit of its own."""
    if not further:
        return [Matern(nu=nu)]
    extent = coarse.scale.extent
    return [Matern(tuple(float(part * side) for side in extent), nu=nu) for part in limits.AXIS_STARTS]


def _wider(kernel: Kernel, extent: FloatArray) -> list[Kernel]:
    """The kernel with a length scale for each axis, as depth has, or along rotated ones."""
    dim, starts = len(extent), []
    if dim == 3:
        starts = [
            kernel.replace(length_scale=tuple(float(part * side) for side in extent)) for part in limits.AXIS_STARTS
        ]
    if dim > 1:
        scale = float(np.exp(np.mean(np.log(np.atleast_1d(kernel.length_scale)))))  # type: ignore[attr-defined]
        stretch = np.exp(np.linspace(0.15, -0.15, dim))  # so that there is a direction to follow
        rotation = 0.4 if dim == 2 else (0.2, 0.2, 0.2)
        starts.append(kernel.replace(length_scale=tuple(float(scale * s) for s in stretch), rotation=rotation))
    return starts


def _law(tuned: Tuned, held: HeldOut, obs: Observations) -> Law:
    """What a candidate says of the held-out rows."""
    sd = np.sqrt(held.variance + obs.copy_variance(tuned.noise_variance)[held.index])
    return obs.y[held.index], held.mean, sd, obs.weight[held.index]


def _times(held: HeldOut, factor: float, noise_variance: float | None, obs: Observations) -> HeldOut | None:
    """The same by a kernel times a factor; None where it is not known without kriging again.

    Variances of field and noise times one factor leave means as they are.
    """
    alike = factor == 1.0 or (noise_variance is None and not obs.error.any())
    return replace(held, variance=factor * held.variance) if alike else None
