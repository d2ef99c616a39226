"""Selection of a kernel when the user names none: smoothness first, then one length scale per axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.choices import Choice
from bochner.inference.evidence.objective import JointObjective
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.first_rows import FirstRows
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel, Matern


@dataclass(frozen=True)
class Selected:
    """The kernel that was chosen and why, and the best one with a length scale per axis, where it was tried."""

    tuned: Tuned
    choice: Choice
    per_axis: Tuned | None = None
    turned: tuple[Tuned, ...] = ()  # of every smoothness, where length scales lie along turned axes
    isotropic: tuple[Tuned, ...] = ()  # the same with one length scale, where that is the choice
    each: tuple[Tuned, ...] = ()  # the same in any case, and with a length scale per axis as far as those were climbed
    margin: float = 0.0  # nats by which stretched length scales were chosen before others, at least


def select_kernel(
    search: Search,
    n_rows: float,
    dim: int,
    toll: float = 0.0,
    first: tuple[Kernel, float] | None = None,
    order: Sequence[float] = limits.SELECTED_SMOOTHNESS,
    begun: FirstRows | None = None,
) -> Selected:
    """Matern kernel of the best smoothness; per-axis length scales if the evidence pays for them.

    An added length scale must raise the objective by log(n) / 2 (Schwarz's criterion). A kernel smoother than the
    roughest must raise it by `toll`: of counts the evidence hardly sees smoothness, and a field taken to be too
    smooth has intervals too narrow, while the mean is the same either way. `first` is where to begin, if
    that is known; `order` is that in which smoothnesses are tried, and `begun` what climbs with the
    first of them on a part of the rows have found.
    """
    begun = begun or FirstRows()
    best: Tuned | None = None
    middle: Tuned | None = None
    drafted: Tuned | None = None
    found: dict[float, Tuned] = {}
    count = 0
    for nu in order:
        if best is None and first is not None:
            tuned = middle = search.maximise(first[0].replace(nu=nu), first[1])
        elif best is None:
            # the roughest pays no toll and mostly wins: the first to be climbed need not be climbed to the end
            tolerance = limits.DRAFTED if toll else limits.CLIMBED
            climbed = _climbed_on(search, begun.peaks, tolerance)
            tuned = drafted = climbed or tune(search, Matern(nu=nu), tolerance=tolerance)
        elif middle is not None:
            tuned = search.maximise(of_smoothness(middle.kernel, nu), middle.noise_variance)
        else:
            assert best is not None
            must = best.value - due(best, toll) + toll * (nu > min(limits.SELECTED_SMOOTHNESS))
            # a rough field with a toll to its favour may be the best so far and lie far out along a ridge
            near = _nearest(found, nu) if toll else best
            tuned = search.maximise(of_smoothness(near.kernel, nu), near.noise_variance, against=must)
        found[nu], count = tuned, count + tuned.n_evaluations
        if best is None or tuned.value - due(tuned, toll) > best.value - due(best, toll):
            best = tuned
    assert best is not None
    if toll and best is drafted and not best.failed:
        best = search.maximise(best.kernel, best.noise_variance)
        count += best.n_evaluations
    if toll and not best.failed and (begun.search is None or _may_scatter(begun.search, best)):
        instead = _scatter_as_field(search, best)
        count += instead.n_evaluations if instead is not best else 0
        if instead.value - due(instead, toll) > best.value - due(best, toll):
            best = found[instead.kernel.nu] = instead  # type: ignore[attr-defined]
    smoothness = best.kernel.nu  # type: ignore[attr-defined]
    reason = f"Matern with nu = {smoothness:g}: best of " + ", ".join(
        f"{nu:g} ({tuned.value:.1f})" for nu, tuned in sorted(found.items()) if not tuned.failed
    )
    if best.failed:
        choice = Choice("kernel", f"matern {smoothness:g}", "none could be judged")
        return Selected(replace(best, n_evaluations=count), choice)
    if toll:
        reason += f"; a smoother one than {min(limits.SELECTED_SMOOTHNESS):g} must gain {toll:.1f}"
    split = None
    price = 0.5 * (search.n_scales(dim) - 1) * float(np.log(n_rows))
    # an evidence that is dear (of other families, with a toll) is first asked whether to climb at all
    if dim > 1 and not (toll and _alike(search, best, dim, price)):
        # of few Gaussian rows length scales per axis are averaged over, whether they pay or not
        split = _per_axis(search, best, dim, None if search.prior and not toll else best.value + price)
        count += split.n_evaluations
    if dim > 1 and (toll or not search.prior):  # else all of them are averaged over
        in_extents = _in_extents(search, best, dim)
        if in_extents is not None and (split is None or split.value <= in_extents.value + price):
            gain = in_extents.value - best.value
            together, *_ = apart = best_per_axis(_keeping_ratios(search, dim), in_extents, toll)
            told = f"{reason}; length scales in the ratio of the extents of the axes gain {gain:.1f}"
            choice = Choice("kernel", f"matern {together.kernel.nu:g} in extents", text=told)  # type: ignore[attr-defined]
            count += sum(t.n_evaluations for t in apart)
            each = (*found.values(), *apart)
            return Selected(replace(together, n_evaluations=count), choice, together, each=each, margin=gain)
    short = np.inf  # of what turned axes would have to reach
    if dim == 2 and split is not None and not toll and search.shared is None and first is None:
        more = float(np.log(n_rows))  # of two more than one length scale
        least = max(best.value, split.value - more / 2) + more
        turned, value = _turned(search, best, least)
        short = least - value
        if turned:
            gain, each = turned[0].value - best.value, tuple(found.values())
            count += sum(t.n_evaluations for t in turned)
            choice = told_of_turned(turned[0], gain, more)
            return Selected(replace(turned[0], n_evaluations=count), choice, None, turned, each=each, margin=-short)
    if split is not None:
        if split.value > best.value + price:
            margin = min(split.value - best.value - price, short)
            told = f"{reason}; one length scale per axis gains {split.value - best.value:.1f} > {price:.1f}"
            apart = best_per_axis(search, split, toll)
            split, n_more = apart[0], sum(t.n_evaluations for t in apart if t is not split)
            now = split.kernel.nu  # type: ignore[attr-defined]
            if now != smoothness:
                told += f", and then nu = {now:g} is best ({split.value:.1f})"
            choice = Choice("kernel", f"matern {now:g} per axis", text=told)
            split = replace(split, n_evaluations=count + n_more)
            return Selected(split, choice, split, each=(*found.values(), *apart), margin=margin)
        reason += f"; one length scale per axis gains {max(split.value - best.value, 0):.1f}, less than {price:.1f}"
    elif dim > 1:
        reason += f"; one length scale per axis would gain less than {price:.1f}"
    choice = Choice("kernel", f"matern {smoothness:g}", text=reason)
    one = tuple(found.values())
    each = one if split is None else (*one, split)
    return Selected(replace(best, n_evaluations=count), choice, split, isotropic=one, each=each)


def _nearest(found: dict[float, Tuned], nu: float) -> Tuned:
    """The kernel most like one of another smoothness: of those that could be judged, if any could."""
    judged = {other: tuned for other, tuned in found.items() if not tuned.failed} or found
    return judged[min(judged, key=lambda other: abs(np.log(other / nu)))]


def _climbed_on(search: Search, begun: Sequence[Tuned], tolerance: float) -> Tuned | None:
    """The best of climbs from the ends of others; None, where there are none or all fail."""
    found: list[Tuned] = []
    for start in begun:
        before = max(found, key=lambda t: t.value) if found else None
        found.append(search.maximise(start.kernel, start.noise_variance, tolerance=tolerance, against=before))
    best = max(found, key=lambda t: t.value) if found else None
    return None if best is None or best.failed else best


def told_of_turned(best: Tuned, gain: float, more: float) -> Choice:
    """What is told of turned axes that gain so many nats, more than they have to."""
    nu = best.kernel.nu  # type: ignore[attr-defined]
    text = f"Matern with nu = {nu:g} along turned axes, which gain {gain:.1f} > {more:.1f}"
    return Choice("kernel", f"matern {nu:g} turned", text=text)


def _scatter_as_field(search: Search, best: Tuned) -> Tuned:
    """Another climb, from a rough field that leaves no dispersion: what scatters is either, and each is a peak."""
    joint = search.objective
    hidden = search.hidden(best.kernel, best.noise_variance)
    if not isinstance(joint, JointObjective) or not len(hidden) or hidden[0] < np.log(limits.SCATTERED):
        return best
    kernel: Any = best.kernel
    rough = kernel.replace(nu=min(limits.SELECTED_SMOOTHNESS), variance=kernel.variance + float(np.exp(hidden[0])))
    back = float(hidden[0] + np.log(limits.BACK_SHARE))
    rival = search.rival(best) if rough.nu == kernel.nu else Rival(best.value, dear=True)
    against = replace(rival, elsewhere=rough.nu == kernel.nu, back=back)
    joint.arrived(rough, best.noise_variance, joint.hidden_bounds()[:, 0] + np.log(2))
    found = search.maximise(rough, best.noise_variance, against=against)
    joint.arrived(best.kernel, best.noise_variance, hidden)
    return found


def _may_scatter(some: Search, best: Tuned) -> bool:
    """Whether what scatters may be a rough field, by some of the rows: not if they find no such peak, or far below.

    Of a field that reaches no farther than to the next rows they say nothing.
    """
    reach = np.min(np.asarray(best.kernel.length_scale) / some.scale.extent)  # type: ignore[attr-defined]
    if reach < limits.SEEN_SPACINGS * some.scale.spacing:
        return True
    there = some.maximise(best.kernel, best.noise_variance, tolerance=limits.DRAFTED)
    before = some.hidden(there.kernel, there.noise_variance)
    instead = _scatter_as_field(some, there)
    if there.failed or instead is there:  # they see no scatter
        return True
    after = some.hidden(instead.kernel, instead.noise_variance)
    has_come_back = len(after) > 0 and after[0] > before[0] + np.log(limits.BACK_SHARE)
    return not has_come_back and instead.value > there.value - limits.GUIDED_DOUBT


def best_per_axis(search: Search, split: Tuned, toll: float) -> tuple[Tuned, ...]:
    """Those of every smoothness, the best first: one range for all axes, which chose the first, misleads."""
    found, best = [split], split
    for nu in limits.SELECTED_SMOOTHNESS:
        if nu == split.kernel.nu:  # type: ignore[attr-defined]
            continue
        must = best.value - due(best, toll) + toll * (nu > min(limits.SELECTED_SMOOTHNESS))
        found.append(search.maximise(of_smoothness(split.kernel, nu), split.noise_variance, against=must))
        best = max(best, found[-1], key=lambda t: t.value - due(t, toll))
    return tuple(sorted(found, key=lambda t: due(t, toll) - t.value))


def of_smoothness(kernel: Kernel, nu: float) -> Kernel:
    """A Matern kernel of another smoothness that falls off about as far away: rough ones do so in a longer tail."""
    ratio = (kernel.nu / nu) ** limits.TAIL_POWER  # type: ignore[attr-defined]
    scale = ratio * np.asarray(kernel.length_scale)  # type: ignore[attr-defined]
    return kernel.replace(nu=nu, length_scale=tuple(scale.tolist()) if scale.ndim else float(scale))


def due(tuned: Tuned, toll: float) -> float:
    """What a kernel has to pay for being smoother than the roughest."""
    return toll if tuned.kernel.nu > min(limits.SELECTED_SMOOTHNESS) else 0.0  # type: ignore[attr-defined]


def _turned(search: Search, best: Tuned, least: float) -> tuple[tuple[Tuned, ...], float]:
    """Two length scales along axes of any direction, for every smoothness, the best first, and what one reaches.

    None where the axes are unlike, where with the same smoothness the objective does not reach `least`, or where the
    direction is that of an axis.
    """
    extent = search.scale.extent
    if unlike(extent):
        return (), -np.inf
    scale = float(best.kernel.length_scale)  # type: ignore[attr-defined]
    starts = [
        best.kernel.replace(length_scale=(limits.TURNED_START * scale, scale / limits.TURNED_START), rotation=angle)
        for angle in limits.TURNED_ANGLES
    ]
    start = max(starts, key=lambda k: search.rank(k, best.noise_variance))
    found = [search.maximise(start, best.noise_variance, against=least)]
    angle = float(found[0].kernel.rotation)  # type: ignore[attr-defined]
    if found[0].value <= least or abs(np.sin(2 * angle)) < limits.TURNED_LEAST:
        return (), found[0].value
    for nu in limits.SELECTED_SMOOTHNESS:
        if nu != best.kernel.nu:  # type: ignore[attr-defined]
            must = None if search.prior else max(t.value for t in found)  # of few rows all are averaged over
            found.append(search.maximise(found[0].kernel.replace(nu=nu), found[0].noise_variance, against=must))
    found.sort(key=lambda t: -t.value)
    return tuple(found), found[0].value


def _alike(search: Search, best: Tuned, dim: int, price: float) -> bool:
    """Whether unequal length scales would gain far less than their price: by slopes at equal ones and a step away."""
    extent = search.scale.extent
    if unlike(extent):
        return False
    scale = float(best.kernel.length_scale)  # type: ignore[attr-defined]
    equal = best.kernel.replace(length_scale=(scale,) * dim)
    ranges = np.array([h.role.is_range for h in equal.hyperparameters])
    hidden = search.hidden(best.kernel, best.noise_variance)  # what the objective itself learns, as it was best
    if len(hidden) and 2 * search.foreseen(equal, best.noise_variance, hidden)[1] < limits.SPLIT_DOUBT * price:
        return True
    slope = search.evaluate_jointly(equal, best.noise_variance, hidden)[1][: len(ranges)] * ranges
    apart = slope - ranges * slope.sum() / ranges.sum()
    steepness = float(np.linalg.norm(apart))
    if steepness * limits.SPLIT_STEP < 1e-6:
        return True
    along = apart / steepness
    beside = equal.with_theta(equal.theta + limits.SPLIT_STEP * along)
    there = search.evaluate_jointly(beside, best.noise_variance, hidden)[1][: len(ranges)]
    bend = (steepness - float(there @ along)) / limits.SPLIT_STEP
    return bend > 0 and steepness**2 / (2 * bend) < limits.SPLIT_DOUBT * price


def _in_extents(search: Search, best: Tuned, dim: int) -> Tuned | None:
    """One range in the extents of unlike axes, which may be in units of their own; None where it is not likelier."""
    extent = search.scale.extent
    if search.shared is not None or not unlike(extent):
        return None
    start = best.kernel.replace(length_scale=tuple(extent.tolist()))
    found = tune(_keeping_ratios(search, dim), start, n_climbs=1)
    return found if found.value > best.value else None


def _keeping_ratios(search: Search, dim: int) -> Search:
    """Climbs in which the length scales of all axes move together."""
    return replace(search, shared=(0,) * dim)


def _per_axis(search: Search, best: Tuned, dim: int, must: float | None) -> Tuned:
    kernel: Kernel = best.kernel
    scale = float(kernel.length_scale)  # type: ignore[attr-defined]
    climbs = [search.maximise(kernel.replace(length_scale=(scale,) * dim), best.noise_variance, against=must)]
    extent = search.scale.extent
    if unlike(extent):  # in different units one range for all says nothing of each
        apart = kernel.replace(length_scale=tuple(scale * extent / extent.max()))
        climbs.append(tune(search, apart, [(apart, best.noise_variance)], n_climbs=1))
    found = max(climbs, key=lambda t: t.value)
    return replace(found, n_evaluations=sum(t.n_evaluations for t in climbs))
