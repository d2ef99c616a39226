"""Selection of a kernel for many rows: smoothness, direction and sums of scales, judged in gaps.

The likelihood listens to neighbouring rows; a map is judged between them. So sums of scales are fitted to rows whose
predecessors lie as far off as data lie from the places to be predicted, and kernels are chosen by how well they
predict held-out rows that lie as those places do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.choices import Choice
from bochner.inference.fits.folds import Fold, HeldOut
from bochner.inference.fits.local_folds import held_out_by_each, held_out_locally
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.inference.tuning.held_out_places import in_pixels, task_folds, wanted_places
from bochner.inference.tuning.search import Search, Tuned
from bochner.inference.tuning.single_field import axial_field, single_field
from bochner.inference.tuning.space_time import space_time_fields
from bochner.inference.tuning.stacking import Judged, gaps_of, likeness, stacking_weights
from bochner.inference.tuning.sums import fit_rough_sum, fit_sum
from bochner.inference.tuning.variance_factor import variance_factor
from bochner.inference.tuning.varying_amplitude import Law, varying_amplitude
from bochner.kernels import Matern
from bochner.neighbours import SharedOrder
from bochner.resources import side_by_side, small_systems
from bochner.validation import crps
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

    wanted = wanted_places(obs, task.domain, seed)
    (single, stretched), folds = side_by_side(
        lambda: single_field(coarse, fine, task), lambda: task_folds(obs, task.domain, seed, task.grid, wanted)
    )
    candidates = [(ONE_FIELD, single)]
    if stretched is not None:
        candidates.append((STRETCHED_FIELD, stretched))
    axial = axial_field(single, fine)
    if axial is not None:
        candidates.append(("one Matern field with a length scale along the Earth's axis", axial))
    if task.domain.last_is_time:
        candidates += space_time_fields(single, coarse, fine)
    shared = SharedOrder()
    in_gaps = _may_be_stacked(task, obs, wanted)
    worth = limits.WORTH_IN_GAPS if in_gaps else limits.WORTH_LIKELIHOOD
    (several, gained), plain = side_by_side(
        lambda: fit_sum(single, fine.noise_variance, obs, folds, seed, shared, worth, None if in_gaps else coarse),
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
    return of_space and many and share_in_gaps(*in_pixels(task.grid, wanted, obs.rows.coords)) >= limits.GAPPY


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
    wanted, coords = in_pixels(task.grid, wanted, obs.rows.coords)
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
