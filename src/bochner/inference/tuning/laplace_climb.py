"""The climb of other families: by parts of many rows first; then all of them on waves, or few with the exact kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bochner.choices import Choice
from bochner.families import Family
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import starts, unlike
from bochner.inference.tuning.climb import Climb, as_given, climbed, given_starts
from bochner.inference.tuning.lattice_search import LatticeSearch, field_gain
from bochner.inference.tuning.objectives import laplace_objectives
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.selection import best_per_axis, of_smoothness, select_kernel
from bochner.kernels import Kernel, Matern


def by_laplace(task: Task, scheme: Scheme, noise: float | None) -> Climb:
    """Other families: by parts of many rows first; then all of them on waves, or few with the exact kernel."""
    data = task.data
    assert isinstance(data, Responses)
    climbs, told = laplace_objectives(task, scheme)
    if told.value != "composite" or not task.settings.reml:
        climb = climbed(task, scheme, climbs, noise)
        return replace(climb, choices=(told, *climb.choices), laplace=climbs[-1])
    first = _first_climb(task, climbs[0], noise)
    one_range = not isinstance(getattr(first.kernel, "length_scale", None), tuple)
    if task.settings.kernel is None and one_range and len(data) >= limits.MIN_SUM_ROWS and not first.failed:
        summed = _near_and_far(task, climbs[1], first, noise)
        if summed is not None:
            return replace(summed, choices=(told, *summed.choices), laplace=climbs[1])
    shared = None if task.settings.kernel is not None else task.domain.shared
    search = LatticeSearch.of(data, task.scale, noise, climbs[0], shared)
    on_waves = _on_lattice(task, search, first)
    dense = scheme.exact and len(data) <= limits.MAX_DENSE_ENDING_ROWS
    if on_waves is None or _rather_by_parts(search, climbs[1], first, on_waves.tuned):
        climb = climbed(task, scheme, climbs[:1] if dense else climbs, noise)
        if not dense or climb.tuned.failed:
            return replace(climb, choices=(told, *climb.choices), laplace=climbs[-1])
        tuned, whole = _dense_ending(search, climbs[-1].family, climb.tuned.kernel, climb.tuned.noise_variance)
        climb = replace(climb, search=search.plain(whole), tuned=tuned, laplace=whole)
        return replace(climb, choices=(_by_all(data), *climb.choices))
    if dense and task.settings.kernel is None and not _rough_was_judged(on_waves):
        climb = _rough_on_the_exact_kernel(task, search, on_waves)
        if climb.tuned is not on_waves.tuned:
            return replace(climb, choices=(_by_all(data), *climb.choices))
        on_waves = climb
    text = f"Laplace evidence of all {len(data):,} distinct rows, on waves of a lattice; begun on parts of them"
    told = Choice("tuning", "lattice", text=text)
    return replace(on_waves, choices=(told, *on_waves.choices, *_unjudged(task, on_waves)))


def _by_all(data: Responses) -> Choice:
    text = f"Laplace evidence of the exact kernel, {len(data):,} distinct rows; begun on parts of them"
    return Choice("tuning", "exact", text=text)


def _dense_ending(
    search: LatticeSearch, family: Family, kernel: Kernel, noise_variance: float
) -> tuple[Tuned, LaplaceObjective]:
    """On by the evidence of all rows with the exact kernel; and that evidence."""
    assert search.responses is not None
    informed = InformedLaplace([search.responses], reml=True)
    informed.family = family
    ending = replace(search.plain(informed), enough=limits.CHOSEN_ENOUGH)
    tuned = ending.maximise(kernel, noise_variance, limits.DENSE_ENDING, limits.SETTLED)
    whole = LaplaceObjective([search.responses], ExactBound, reml=True)  # what is averaged about needs no information
    whole.family, whole.starts = informed.family, informed.starts
    return tuned, whole


def _rough_on_the_exact_kernel(task: Task, search: LatticeSearch, on_waves: Climb) -> Climb:
    """The roughest field, which waves do not hold, instead of theirs, unless these gain by more than their toll."""
    smooth, nu = on_waves.tuned, min(limits.SELECTED_SMOOTHNESS)
    assert on_waves.laplace is not None
    start = of_smoothness(smooth.kernel, nu)
    rough, whole = _dense_ending(search, on_waves.laplace.family, start, smooth.noise_variance)
    toll = _toll(task, search)
    if rough.failed:
        return on_waves
    if rough.value < smooth.value - toll:
        reason = f"{on_waves.choices[0]}; nu = {nu:g}, with the exact kernel, comes to {rough.value:.1f}"
        told = Choice("kernel", on_waves.choices[0].value, text=reason)
        return replace(on_waves, choices=(told, *on_waves.choices[1:]), rivals=(*on_waves.rivals, rough))
    per_axis = " per axis" if len(rough.kernel.theta) > 2 else ""
    text = (
        f"Matern with nu = {nu:g}: {rough.value:.1f} with the exact kernel; nu = {smooth.kernel.nu:g}, "  # type: ignore[attr-defined]
        f"on waves of a lattice, which differ by some tenths, comes to {smooth.value:.1f} and must gain {toll:.1f}"
    )
    told = Choice("kernel", f"matern {nu:g}{per_axis}", text=text)
    return replace(on_waves, search=search.plain(whole), tuned=rough, laplace=whole, choices=(told,), rivals=())


def _toll(task: Task, search: LatticeSearch) -> float:
    """What a field smoother than the roughest must gain.

    Where one smoothness must serve, the doubt is on the rough side: waves hold less of rough fields, and intervals of
    one taken to be too smooth are narrow.
    """
    return limits.SMOOTHER_TOLL if search.prior else 0.5 * float(np.log(task.obs.total))


def _near_and_far(task: Task, objective: LaplaceObjective, first: Tuned, noise: float | None) -> Climb | None:
    """A sum of a short and a long field, if by the finer evidence of parts it is worth its parameters.

    Households share what their village does not, and stands of trees what their county does not: one field then takes
    the short range, and places without rows around are predicted by the trend alone.
    """
    search = Search(objective, task.scale, noise, shared=task.domain.shared)
    nu = min(limits.SELECTED_SMOOTHNESS)
    single = search.maximise(first.kernel.replace(nu=nu), first.noise_variance, tolerance=limits.SETTLED)
    one: Any = single.kernel
    extent = float(task.scale.extent.max())
    short = one.replace(length_scale=min(float(one.length_scale), extent * limits.SHORT_START) / 2)
    long = one.replace(length_scale=extent * limits.LONG_START)
    share = limits.SUMMED_SHARE
    sums = [
        short.scaled(0.5) + long.scaled(0.5),
        *(other.scaled(share) + one.scaled(1 - share) for other in (short, long)),
    ]
    values = [search.evaluate(k, single.noise_variance)[0] for k in sums]
    if single.failed or max(values) <= single.value:  # the best single field gains by neither
        return None
    two = search.maximise(sums[int(np.argmax(values))], single.noise_variance, tolerance=limits.SETTLED)
    gain = two.value - single.value
    if two.failed or gain <= limits.WORTH_SUM:
        return None
    ranges = sorted(float(k.length_scale) for k in two.kernel.leaves())  # type: ignore[attr-defined]
    text = (
        f"sum of two Matern fields with nu = {nu:g}, of length scales {ranges[0]:.3g} and {ranges[1]:.3g}: it gains "
        f"{gain:.1f} > {limits.WORTH_SUM:g} over one"
    )
    return Climb(search, two, (Choice("kernel", "sum of two scales", text=text),))


def _first_climb(task: Task, objective: LaplaceObjective, noise: float | None) -> Tuned:
    """A kernel to begin from: the one given, or a Matern of middling smoothness.

    Along axes that may be in units of their own its length scales are in the ratio of the extents, if that is likelier.
    """
    search, kernel = Search(objective, task.scale, noise), task.settings.kernel
    if kernel is not None:
        return tune(search, kernel, given_starts(task, kernel, noise), tolerance=limits.SETTLED)
    first = Matern(nu=limits.SELECTED_SMOOTHNESS[0])
    equal = tune(search, first, tolerance=limits.SETTLED)
    extent = task.scale.extent
    if task.domain.shared is not None or not unlike(extent):
        return equal
    tied = replace(search, shared=(0,) * len(extent))
    along = tune(tied, first.replace(length_scale=tuple(extent.tolist())), tolerance=limits.SETTLED)
    return along if along.value > equal.value or equal.failed else equal


def _on_lattice(task: Task, search: LatticeSearch, first: Tuned) -> Climb | None:
    """The evidence of all rows chooses; None where the waves do not hold what it came to."""
    kernel = task.settings.kernel
    rivals: list[Tuned] = []
    candidates = [] if first.failed else [(first.kernel, first.noise_variance)]
    # on the link a field of variance 1 is middling, whatever working responses at the common mean vary by
    sizes = search.prior_scale or task.scale
    begun = search.begun([*candidates, *starts(first.kernel, sizes, search.noise_variance)])
    if begun is None:
        return None
    if kernel is None and isinstance(begun[0].length_scale, tuple):  # type: ignore[attr-defined]
        tuned, *rivals = best_per_axis(search, search.maximise(*begun), _toll(task, search))
        rivals = [t for t in rivals if not t.failed]
        nu = tuned.kernel.nu  # type: ignore[attr-defined]
        values = ", ".join(f"{t.kernel.nu:g} ({t.value:.1f})" for t in (tuned, *rivals))  # type: ignore[attr-defined]
        text = f"Matern with nu = {nu:g}, a length scale per axis, begun in the ratio of the extents: best of {values}"
        told = Choice("kernel", f"matern {nu:g} per axis", text=text)
    elif kernel is None:
        selected = select_kernel(search, task.obs.total, task.dim, _toll(task, search), begun)
        tuned, told = selected.tuned, selected.choice
        nu = tuned.kernel.nu  # type: ignore[attr-defined]
        rivals = [t for t in selected.isotropic if t.kernel.nu != nu and not t.failed]  # type: ignore[attr-defined]
    else:
        tuned = search.maximise(*begun)
        told = as_given(kernel)
    plan = search.plan(tuned.kernel)
    if tuned.failed or plan is None:
        return None
    assert isinstance(search.objective, LaplaceObjective)
    whole = search.at(plan, search.objective)
    return Climb(search.plain(whole), tuned, (told,), whole, rivals=tuple(rivals))


def _rough_was_judged(climb: Climb) -> bool:
    """Whether waves held the roughest field, too; else a smoother one was chosen by what waves can hold."""
    return _roughest_judged(climb) <= min(limits.SELECTED_SMOOTHNESS)


def _roughest_judged(climb: Climb) -> float:
    return min(float(t.kernel.nu) for t in (climb.tuned, *climb.rivals))  # type: ignore[attr-defined]


def _unjudged(task: Task, climb: Climb) -> list[Choice]:
    """What is told where the smoothness was chosen, and not among all."""
    if task.settings.kernel is not None or _rough_was_judged(climb):
        return []
    nu = _roughest_judged(climb)
    text = f"nu = {nu:g} is the roughest that was judged: waves of a lattice hold no rougher field of such a range"
    return [Choice("smoothness", nu, text=text)]


def _rather_by_parts(search: LatticeSearch, parts: LaplaceObjective, first: Tuned, found: Tuned) -> bool:
    """Whether a field too short for waves explains more of the rows than the one that waves have found.

    What it adds to the evidence of the parts, it adds to that of all rows in proportion.
    """
    if first.failed or search.holds(first.kernel):
        return False
    assert search.responses is not None
    tuned = Search(parts, search.scale, search.noise_variance).maximise(
        first.kernel, first.noise_variance, tolerance=limits.SETTLED
    )
    share = sum(len(part) for part in parts.parts) / len(search.responses)
    return not tuned.failed and field_gain(parts, tuned) / share > search.gain(found)
