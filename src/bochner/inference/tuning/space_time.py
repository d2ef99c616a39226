"""Space and time: fields in which time is no further direction of space.

A Matern field of space and time together forgets places and times at one rate; many real ones do not. A product of a
kernel in space and one in time has its own smoothness in either, what lasts at a place (its height, its street) is a
field of space alone, and what comes everywhere at once (a season, an epidemic) is one of time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bochner.choices import Choice
from bochner.inference.evidence.exact_evidence import ExactEvidence
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.objective import InformedObjective, Objective
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning import limits
from bochner.inference.tuning.informed_climb import Rival
from bochner.inference.tuning.objectives import with_shared_trend
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.selection import Selected, of_smoothness
from bochner.kernels import Kernel, Matern, OnAxes, Separable
from bochner.random import generator

Several = tuple[tuple[Tuned, ...], Choice]
"""Kernels of several forms, the best first, and what is told of it."""

Form = Callable[[Kernel, Kernel], Kernel]
"""A field of space and one of time to a kernel of both."""


@dataclass(frozen=True)
class SpaceTime:
    """Fields that tell time from space, by the evidence of rows from everywhere.

    Those far away on the same day tell as much of what is common as those near by. Where rows are many, some of them
    find the fields, and the best of these are climbed on by all.
    """

    search: Search
    some: Search
    n_rows: float
    toll: float = 0.0  # that a smoother field has to pay

    @classmethod
    def of(cls, task: Task, scheme: Scheme, search: Search, toll: float = 0.0) -> SpaceTime | None:
        """For rows with a place and a time, where the evidence of the exact kernel can be had.

        Features that are made for the data begin with waves that vary along every axis.
        """
        exact = isinstance(search.objective, InformedObjective) and not scheme.adaptive
        if not task.domain.last_is_time or not exact:
            return None
        given = search.objective, search.scale, search.noise_variance, search.prior
        plain = Search(*given, shared=search.shared, prior_scale=search.prior_scale, enough=limits.APART_ENOUGH)
        some = plain if len(task.obs) <= limits.APART_ROWS else replace(plain, objective=_evidence_of_some(task))
        return cls(plain, some, task.obs.total, toll)

    @property
    def clearly(self) -> Several | None:
        """Fields so much likelier to some of the rows than a single one that all need not be asked for that."""
        if self.some is self.search:
            return None
        single, drafts = self._by_some
        if not drafts or self._standing(drafts[0], single) < limits.CLEARLY_APART:
            return None
        gain = drafts[0].value - single.value
        found = self._climbed_on(drafts, single, limits.FAILED_SEARCH)
        return (tuple(found), _told(found[0], gain, limits.APART_ROWS)) if found else None

    def beside(self, selected: Selected) -> Several | None:
        """Fields that are worth their hyperparameters, and the single one; None, if that is enough."""
        single = _likeliest(selected)
        if single.failed:
            return None
        if self.some is self.search:
            found = self._in_turn(apart(self.search, single, self.toll), single)
        else:
            first, drafts = self._by_some
            found = self._climbed_on(drafts, first, single.value)
        if not found or self._standing(found[0], single) <= 0:
            return None
        near = found[0].value - limits.APART_LEFT
        rivals = [t for t in (*found[1:], single) if t.value > near]
        return (found[0], *rivals), _told(found[0], found[0].value - single.value)

    @cached_property
    def _by_some(self) -> tuple[Tuned, list[Tuned]]:
        """What some of the rows tell: the likeliest single field, and the others by their standing."""
        found = apart(self.some, None, self.toll)
        single = self._single_near(found[0])
        return single, [] if single.failed else self._in_turn(found, single)

    def _single_near(self, product: Tuned) -> Tuned:
        """By some of the rows, one field that reaches as far as a product does, each axis as far as is best."""
        space, time = _fields(product.kernel)
        lengths = np.r_[[space.length_scale] * (len(self.search.scale.extent) - 1), time.length_scale]
        smooth, rough = (Matern(tuple(lengths.tolist()), space.variance, nu=nu) for nu in limits.APART_SMOOTHNESS)
        first = self.some.maximise(smooth, product.noise_variance, tolerance=limits.SETTLED)
        least = first.value - self.toll
        other = self.some.maximise(rough, product.noise_variance, tolerance=limits.SETTLED, against=least)
        return other if other.value > least else first

    def _climbed_on(self, drafts: Sequence[Tuned], first: Tuned, single: float) -> list[Tuned]:
        """By all rows, those that some of them see a hope for, and do not tell apart, the best first.

        `first` is the single field by some of them, and `single` what that is to all.
        """
        standings = [self._standing(t, first) for t in drafts]
        least = max([-limits.APART_DOUBT, *(s - limits.CLEARLY_APART for s in standings)])
        best, found = single, list[Tuned]()
        for draft in [t for t, s in zip(drafts, standings, strict=True) if s > least][: limits.MOST_APART]:
            price = self._price(draft, first)
            must = Rival(best + price - limits.APART_LEFT, dear=True)
            end = self.search.maximise(draft.kernel, draft.noise_variance, tolerance=limits.SETTLED, against=must)
            if not end.failed and end.value > must.value:
                best, found = max(best, end.value - price), [*found, end]
        return self._in_turn(found, first)

    def _in_turn(self, found: Sequence[Tuned], single: Tuned) -> list[Tuned]:
        return sorted(found, key=lambda t: -self._standing(t, single))

    def _standing(self, tuned: Tuned, single: Tuned) -> float:
        """Nats that a kernel gains over a single field, beyond what its hyperparameters must."""
        return tuned.value - single.value - self._price(tuned, single)

    def _price(self, tuned: Tuned, single: Tuned) -> float:
        """What hyperparameters must gain; those of few rows have a prior."""
        more = max(len(tuned.kernel.theta) - len(single.kernel.theta), 1)
        return limits.WORTH_APART if self.search.prior else 0.5 * more * float(np.log(self.n_rows))


def apart(search: Search, single: Tuned | None, toll: float = 0.0) -> list[Tuned]:
    """Fields that tell time from space: a product, one of space alone beside one of time alone, and the sum of all.

    They may begin as a `single` field would have them.
    """
    least = limits.FAILED_SEARCH if single is None else single.value
    product = _of_both(search, Separable, single, least, toll)
    two = _of_both(search, _side_by_side, single, max(least, product.value), toll)
    start = _with_passing(two) if two.value > product.value else _with_what_lasts(product)
    return [product, two, search.maximise(*start, tolerance=limits.SETTLED)]


def _of_both(search: Search, form: Form, single: Tuned | None, best: float, toll: float) -> Tuned:
    """A field of space and one of time in some form, each as smooth as is best; what is smoother must gain `toll`.

    Smoothness is not asked for where the `best` of another form is out of reach.
    """
    smooth, rough = limits.APART_SMOOTHNESS
    starts = [] if single is None else [(_as_single(form, single), single.noise_variance)]
    found = tune(search, form(Matern(nu=smooth), Matern(nu=smooth)), starts, n_climbs=1, tolerance=limits.SETTLED)
    if found.value < best - limits.APART_REACH:
        return found
    for i in range(2):
        fields: list[Kernel] = [*_fields(found.kernel)]
        fields[i] = of_smoothness(fields[i], rough)
        least = found.value - toll
        other = search.maximise(form(*fields), found.noise_variance, tolerance=limits.SETTLED, against=least)
        found = other if other.value > least else found
    return found


def _as_single(form: Form, single: Tuned) -> Kernel:
    """Fields that reach as far as a single one does, each of half its variance."""
    nu, half = limits.APART_SMOOTHNESS[0], 0.5 * float(single.kernel.variance)  # type: ignore[attr-defined]
    return form(*(Matern(reach, half, nu=nu) for reach in _reaches(single)))


def _with_passing(two: Tuned) -> tuple[Kernel, float]:
    """To begin with, half of the noise is what passes at a place, or, without noise, a part of the field."""
    space, time = _fields(two.kernel)
    half = 0.5 * two.noise_variance
    share = max(half, limits.PASSING_SHARE * (space.variance + time.variance))
    return two.kernel + Separable(space.replace(variance=share), Matern(time.length_scale, nu=0.5)), half


def _with_what_lasts(product: Tuned) -> tuple[Kernel, float]:
    """To begin with, a part of the field lasts, and as much is common."""
    space, time = _fields(product.kernel)
    share = limits.PASSING_SHARE * space.variance
    two = _side_by_side(space.replace(variance=share), time.replace(variance=share))
    return two + product.kernel.scaled(1 - 2 * limits.PASSING_SHARE), product.noise_variance


def _evidence_of_some(task: Task) -> Objective:
    """Of as many rows as are quick, by chance."""
    order = generator(task.settings.seed, "rows of space and time").permutation(len(task.obs))
    rows = np.sort(order[: limits.APART_ROWS])
    if isinstance(task.data, Responses):
        return InformedLaplace([with_shared_trend(task.data)[rows]], reml=task.settings.reml)
    return ExactEvidence(task.obs[rows], task.settings.reml)


def _likeliest(selected: Selected) -> Tuned:
    """Of the single fields: of few rows one length scale is averaged with one for each axis, which need not pay."""
    found = [t for t in (selected.tuned, selected.per_axis) if t is not None]
    return max(found, key=lambda t: t.value)


def _told(best: Tuned, gain: float, n_some: int | None = None) -> Choice:
    name = name_of(best.kernel)
    to = "" if n_some is None else f", to {n_some} of the rows"
    return Choice("kernel", name, text=f"{name}: more likely than one Matern field of both by {gain:.1f} nats{to}")


def name_of(kernel: Kernel) -> str:
    """What a kernel that tells time from space is."""
    product, two = "a product of space and time", "a field that lasts and a level common to all places"
    return {1: product, 2: two}.get(len(kernel.terms()), f"{product}, {two}")


def space_time_fields(single: Tuned, coarse: Search, fine: Search) -> list[tuple[str, Tuned]]:
    """Candidates beside one Matern field: a product of space and time, and the same with a part that lasts."""
    space, time = _reaches(single)
    variance, noise = float(single.kernel.variance), single.noise_variance  # type: ignore[attr-defined]
    drafts = []
    for nu in limits.SPACE_TIME_SMOOTHNESS:
        # one length in space: its axes have one unit; rough in time, as weather is
        product = Separable(Matern(space, variance, nu=nu), Matern(time, nu=0.5))
        drafts.append(_climbed(product, noise, coarse))
    best = max(drafts, key=lambda t: t.value)
    lasting = _climbed(_with_lasting(best.kernel, space), best.noise_variance, coarse)
    found = [("a product of space and time", best)]
    if lasting.value > best.value + limits.WORTH_LASTING:
        found.append(("a product of space and time and a field that lasts", lasting))
    return [
        (name, fine.maximise(t.kernel, t.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)) for name, t in found
    ]


def _climbed(kernel: Kernel, noise: float, search: Search) -> Tuned:
    return search.maximise(kernel, noise, limits.COARSE_ITERATIONS, limits.SETTLED)


def _reaches(single: Tuned) -> tuple[float, float]:
    """Length scales of one field in space and in time."""
    lengths = np.atleast_1d(single.kernel.length_scale).astype(float)  # type: ignore[attr-defined]
    return float(np.exp(np.mean(np.log(lengths[:-1] if len(lengths) > 1 else lengths)))), float(lengths[-1])


def _with_lasting(product: Kernel, space: float) -> Kernel:
    """Half of the variance passes, half of it lasts."""
    variance = float(product.variance)  # type: ignore[attr-defined]
    return product.scaled(0.5) + _lasting(Matern(space / 2, 0.5 * variance, nu=0.5))


def _side_by_side(space: Kernel, time: Kernel) -> Kernel:
    return _lasting(space) + OnAxes(time, -1)


def _lasting(kernel: Kernel) -> Kernel:
    return OnAxes(kernel, without=-1)


def _fields(kernel: Kernel) -> list[Matern]:
    """The one of space and the one of time."""
    return [leaf.kernel for leaf in kernel.leaves()]  # type: ignore[attr-defined]
