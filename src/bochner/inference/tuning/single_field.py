"""The likeliest single Matern field of many rows: its smoothness, its direction, and a length scale for each axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.observed.task import Task
from bochner.inference.tuning import limits
from bochner.inference.tuning.bounds import unlike
from bochner.inference.tuning.objectives import likelihood_in
from bochner.inference.tuning.refinement import by_some_rows, refine_on_lattice
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel, Matern
from bochner.kernels.anisotropy import whitening


def single_field(coarse: Search, fine: Search, task: Task) -> tuple[Tuned, Tuned | None]:
    """The likeliest field, and a likelier one that is stretched so far that it may follow the sampling, if any.

    Of the first, the evidence of all rows says more where it can be had.
    """
    plain, far = _single(coarse, fine, lambda t: by_some_rows(t, task.obs, reml=task.settings.reml))
    plain = _among_its_own(plain, fine, task)
    far = None if far is None else _among_its_own(far, fine, task)
    return refine_on_lattice(plain, fine, task.obs, reml=task.settings.reml), far


def _single(coarse: Search, fine: Search, judge: Callable[[Tuned], float]) -> tuple[Tuned, Tuned | None]:
    """The likeliest field by neighbours, and one that is stretched far, as above."""
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


def stretch(kernel: Kernel) -> float:
    """Ratio of the length scales along rotated axes; 1 where each axis has its own unit."""
    rotated = kernel.rotation is not None  # type: ignore[attr-defined]
    return float(np.max(kernel.length_scale) / np.min(kernel.length_scale)) if rotated else 1.0  # type: ignore[attr-defined]


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


def axial_field(single: Tuned, fine: Search) -> Tuned | None:
    """On the sphere: a length scale of its own along the Earth's axis, so that zonal and meridional ones differ."""
    if fine.shared is None or len(fine.shared) != 3 or isinstance(single.kernel.length_scale, tuple):  # type: ignore[attr-defined]
        return None
    start = single.kernel.replace(length_scale=(single.kernel.length_scale,) * 3)  # type: ignore[attr-defined]
    found = fine.maximise(start, single.noise_variance, limits.FINE_ITERATIONS, limits.SETTLED)
    return found if found.value > single.value + 2 else None
