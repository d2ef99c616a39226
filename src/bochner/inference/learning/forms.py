"""The table of forms: fields that a default fit compares, each with proper priors and prior odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.learning import starts
from bochner.inference.learning.evidence import Exact
from bochner.inference.learning.form import (
    Begun,
    Common,
    Entry,
    Form,
    Pair,
    Sizes,
    Starts,
    normal_prior,
    nu_prior,
    range_prior,
)
from bochner.inference.learning.ladder import Rung
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task, variance_about_trend
from bochner.kernels import Kernel, Matern, OnAxes, Separable, Sum, total_variance

NU = Entry("nu", np.log(0.2), np.log(12.0), nu_prior)


def forms_of(task: Task, common: Common) -> list[Form]:
    """Forms that are compared, the simplest first: a user's kernel is a table of one."""
    if task.settings.kernel is not None:
        return [given(task, common)]
    axes = Axes(task)
    found = [one_field(axes, common)]
    if not common.proper:
        return found
    if axes.one_space:
        found.append(one_field(axes, common, stretched=True))
    if len(axes.groups) == 1:
        found.append(near_and_far(axes, common))
    if task.domain.last_is_time:
        found += space_and_time(axes, common)
    return found


class Axes:
    """Axes of the coordinates: groups that share a unit, with the sizes of each."""

    def __init__(self, task: Task) -> None:
        coords, shared = task.obs.rows.coords, task.domain.shared
        dim = coords.shape[1]
        numbers = np.zeros(dim, dtype=int)
        if shared is not None:  # three axes of chords, and a time
            numbers[3:] = 1
        elif task.domain.last_is_time and dim > 1:
            numbers[-1] = 1
        elif dim > 3 or _of_unlike_units(coords):
            numbers = np.arange(dim)
        self.dim = dim
        self.numbers = numbers
        self.groups = [np.flatnonzero(numbers == g) for g in np.unique(numbers)]
        self.sizes = [Sizes.of(coords[:, g]) for g in self.groups]
        self.of_space = len(self.groups) == 1 or shared is not None or task.domain.last_is_time

    @property
    def one_space(self) -> bool:
        """Whether all axes have one unit of space, or are chords of the sphere: two or three of them."""
        return len(self.groups) == 1 and self.dim > 1

    def range_entry(self, g: int) -> Entry:
        """The log length scale of a group of axes."""
        sizes = self.sizes[g]
        extent = float(np.log(sizes.extent))
        if g == 0 and self.of_space:
            return Entry("length_scale", extent - 7, extent + 2, partial(range_prior, sizes=sizes), extent)
        prior = partial(normal_prior, mean=extent, sd=POLICY.column_sd)
        return Entry(f"length_scale[{g}]", extent - 7, extent + 6, prior, extent)


def one_field(axes: Axes, common: Common, *, stretched: bool = False) -> Form:
    """One Matern field, its smoothness learned; the metric of its distances too, if `stretched`."""
    ranges = [axes.range_entry(g) for g in range(len(axes.groups))]
    if len(axes.groups) > 1:
        kernel: Kernel = Matern((1.0,) * axes.dim, nu=1.0, learn_nu=True)
        ties = np.array([[float(g == n) for g in range(len(axes.groups))] for n in axes.numbers])
        matrix = _joined(ties, np.zeros((1, 0)), np.eye(1))
        text = "one Matérn field of space and time" if axes.of_space else "one Matérn field, a length scale a column"
        return _form("matern", text, kernel, [*ranges, NU], matrix, common)
    n = axes.dim * (axes.dim + 1) // 2 - 1 if stretched else 0
    stretches = [Entry(f"stretch[{i}]", -6.0, 6.0, None) for i in range(n)]
    matrix = _joined(np.eye(1 + n), np.zeros((1, 0)), np.eye(1))
    if not stretched:
        text = "one Matérn field, alike in all directions"
        return _form("matern", text, Matern(1.0, nu=1.0, learn_nu=True), [*ranges, NU], matrix, common)

    def begin(begun: Begun) -> list[Pair]:
        return [(_turned(t.kernel, axes.dim), t.noise) for t in begun["matern"]]

    text = "one Matérn field, stretched in some direction"
    return _form("matern-metric", text, _metric(axes.dim), [*ranges, *stretches, NU], matrix, common, begin)


def near_and_far(axes: Axes, common: Common) -> Form:
    """A near and a far Matern field of one metric; the far one is rough, so that no slope is extrapolated."""
    n = axes.dim * (axes.dim + 1) // 2 - 1 if axes.one_space else 0
    near = _metric(axes.dim) if n else Matern(1.0, nu=1.0, learn_nu=True)
    far = near.replace(nu=0.5, learn_nu=False)
    gap = Entry("nearer", 0.4, 7.0, partial(normal_prior, mean=POLICY.nearer, sd=POLICY.nearer_sd))
    stretches = [Entry(f"stretch[{i}]", -6.0, 6.0, None) for i in range(n)]
    # entries: far range, stretches, gap, nu of the near field
    matrix = np.zeros((5 + 2 * n, 3 + n))
    for row in (0, 3 + n):  # near, then far
        matrix[row, 0] = 1.0
        matrix[row + 1 : row + 1 + n, 1 : 1 + n] = np.eye(n)
    matrix[0, n + 1], matrix[n + 2, n + 2] = -1.0, 1.0
    entries = [axes.range_entry(0), *stretches, gap, NU]

    def begin(begun: Begun) -> list[Pair]:
        found = []
        for t in begun["matern-metric" if n else "matern"][:1]:
            for reach, share in ((np.exp(POLICY.nearer), 0.8), (1.0, 0.2)):  # the single field is near, or far
                short, long = t.kernel.theta, t.kernel.theta[:-1]
                short[0] += np.log(reach) - POLICY.nearer
                long[0] += np.log(reach)
                found.append((near.with_theta(short).scaled(share) + far.with_theta(long).scaled(1 - share), t.noise))
        return found

    text = "a near and a far Matérn field"
    return _form("near-far", text, near + far, entries, matrix, common, begin, POLICY.addition)


def space_and_time(axes: Axes, common: Common) -> Iterator[Form]:
    """A product of space and time, a lasting field beside a common level, and their sums."""
    space, time = axes.range_entry(0), axes.range_entry(1)
    one = Matern(1.0, nu=1.0, learn_nu=True)
    moves = Separable(one, one)
    lasts, common_level = OnAxes(one, without=-1), OnAxes(one, -1)
    own, field = [space, NU], [space, NU, time, NU]

    def begin(make: str) -> Starts:
        return partial(_space_time_starts, make=make)

    def form(name: str, text: str, kernel: Kernel, entries: list[Entry], extra: int, make: str, *extends: str) -> Form:
        matrix = _without_variances(kernel, len(entries))
        found = _form(name, text, kernel, entries, matrix, common, begin(make), extra * POLICY.addition)
        return replace(found, extends=extends)

    yield form("product", "a product of space and time", moves, field, 0, "product")
    text = "a field that lasts and a level common to all places"
    yield form("additive", text, lasts + common_level, [*own, time, NU], 1, "additive")
    text = "a product of space and time and a field that lasts"
    yield form("product-lasting", text, moves + lasts, [*field, *own], 1, "lasting", "product")
    text = "a product of space and time, a field that lasts and a level common to all places"
    entries = [*field, *own, time, NU]
    kernel = moves + lasts + common_level
    yield form("product-additive", text, kernel, entries, 2, "all", "additive", "product-lasting")


def given(task: Task, common: Common) -> Form:
    """The user's kernel; its roles say what is likely."""
    kernel, scale = task.settings.kernel, task.scale
    assert kernel is not None
    limits = starts.bounds(kernel, scale)
    ties = starts.ties(kernel, task.domain.shared)
    free = [i for i, h in enumerate(kernel.hyperparameters) if ties[i] == i and not h.role.is_variance]
    entries, matrix = [], np.zeros((len(kernel.theta), len(free)))
    for k, i in enumerate(free):
        h = kernel.hyperparameters[i]
        prior = partial(h.role.log_prior, sides=h.sides(scale), scale=scale)
        entries.append(Entry(h.name, *limits[i], prior))
        matrix[ties == i, k] = 1.0
    offset = np.where(ties == np.arange(len(ties)), 0.0, kernel.theta - kernel.theta[ties])
    begin = partial(starts.of_kernel, kernel=kernel, task=task, noise=common.noise)
    return Form("given", "the kernel that was given", kernel, tuple(entries), matrix, offset, common, begin)


# ------------------------------------------------------------------------------- building


def _form(
    name: str,
    text: str,
    kernel: Kernel,
    entries: Sequence[Entry],
    matrix: FloatArray,
    common: Common,
    begin: Starts | None = None,
    log_odds: float = 0.0,
) -> Form:
    """A form without an offset; it begins on a grid, if not told otherwise."""
    if begin is None:
        begin = partial(_grid, kernel=kernel, entries=tuple(entries), matrix=matrix, common=common)
    return Form(name, text, kernel, tuple(entries), matrix, np.zeros(len(matrix)), common, begin, log_odds)


def _joined(*blocks: FloatArray) -> FloatArray:
    """Block diagonal; a block without columns is rows that no entry moves."""
    rows, columns = sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)
    matrix = np.zeros((rows, columns))
    i = j = 0
    for b in blocks:
        matrix[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return matrix


def _without_variances(kernel: Kernel, n: int) -> FloatArray:
    """Entries in the order of theta, without its variances."""
    others = [i for i, h in enumerate(kernel.hyperparameters) if not h.role.is_variance]
    matrix = np.zeros((len(kernel.theta), n))
    matrix[others, np.arange(n)] = 1.0
    return matrix


def _metric(dim: int) -> Matern:
    rotation = 0.0 if dim == 2 else (0.0, 0.0, 0.0)
    return Matern((1.0,) * dim, nu=1.0, learn_nu=True, rotation=rotation)


def _turned(kernel: Kernel, dim: int) -> Kernel:
    """A field alike in all directions, with a metric."""
    theta = kernel.theta
    still = np.zeros(dim * (dim + 1) // 2 - 1)
    return _metric(dim).with_theta(np.r_[theta[:1], still, theta[1:]])


def _grid(begun: Begun, kernel: Kernel, entries: Sequence[Entry], matrix: FloatArray, common: Common) -> list[Pair]:
    """Ranges from short to long, rough and smooth, with little and with much noise."""
    found, variance = [], common.sd**2
    crowd = np.sqrt(max(len(entries) - 1, 1))  # rows lie far apart in many columns
    for reach, share, nu in product(POLICY.start_ranges, POLICY.start_shares, POLICY.start_nus):
        x = np.array([np.log(nu) if e is NU else e.start + np.log(reach * crowd) for e in entries])
        theta = matrix @ x
        theta[[i for i, h in enumerate(kernel.hyperparameters) if h.role.is_variance]] = 0.0
        field = variance / (1 + np.exp(-share))
        noise = variance - field if common.noise is None else common.noise
        found.append((kernel.with_theta(theta).scaled(field), noise))
    return found


def _space_time_starts(begun: Begun, make: str) -> list[Pair]:
    """Simple forms from one field of both, as far in time and farther; their sums from what was found of the parts."""
    found: list[Pair] = []
    if make in ("product", "additive"):
        for t in begun["matern"][:1]:
            single = t.kernel
            assert isinstance(single, Matern) and isinstance(single.length_scale, tuple)
            space, time = float(single.length_scale[0]), float(single.length_scale[-1])
            s = Matern(space, single.variance, single.nu, learn_nu=True)
            for far in (1.0, 3.0):
                u = Matern(time * far, 1.0, min(single.nu, 1.0), learn_nu=True)
                lasting = OnAxes(s.replace(length_scale=space / 2), without=-1)
                level = OnAxes(u, -1).scaled(single.variance)
                found.append(
                    (Separable(s, u) if make == "product" else lasting.scaled(0.5) + level.scaled(0.5), t.noise)
                )
    for t in begun.get("product", ())[:1] if make == "lasting" else ():
        assert isinstance(t.kernel, Separable)
        lasting = OnAxes(t.kernel.space, without=-1)
        found.append((t.kernel.scaled(0.8) + lasting.scaled(0.2), t.noise))
    for t in begun.get("product-lasting", ())[:1] if make == "all" else ():
        assert isinstance(t.kernel, Sum) and isinstance(t.kernel.k1, Separable)
        moves, lasts = t.kernel.k1, t.kernel.k2
        level = OnAxes(moves.time, -1).scaled(0.1 * total_variance(moves))
        found.append((moves.scaled(0.9) + lasts + level, t.noise))
    for t in begun.get("additive", ())[:1] if make == "all" else ():
        assert isinstance(t.kernel, Sum) and isinstance(t.kernel.k1, OnAxes) and isinstance(t.kernel.k2, OnAxes)
        lasting, level = t.kernel.k1, t.kernel.k2
        moves = Separable(lasting.kernel, level.kernel.replace(variance=1.0))
        found.append((moves.scaled(0.1) + lasting.scaled(0.9) + level, t.noise))
    return found


def _of_unlike_units(coords: FloatArray) -> bool:
    """Whether coordinates scatter so differently along their principal axes that they hardly share a unit."""
    sizes = np.linalg.svd(coords - coords.mean(axis=0), compute_uv=False)
    return bool(sizes[0] > 30 * sizes[-1])


def common_of(task: Task, rung: Rung, noise: float | None) -> Common:
    """What all forms of a task have beside their kernels."""
    blocks, proper = blocks_of(task), task.settings.reml
    sizes = tuple(int(np.count_nonzero(blocks == b)) for b in range(blocks.max(initial=-1) + 1))
    dispersion, trend, data = None, None, task.data
    if isinstance(data, Responses):
        family = data.with_dispersion().family
        dispersion = family.dispersion if family is not data.family else None
        trend = None if proper or rung.of_features else fixed_effects(data).coef
    free = isinstance(rung.evidence, Exact) and rung.evidence.free
    return Common(float(np.sqrt(variance_of(task))), noise, free, sizes, dispersion, trend, proper)


def variance_of(task: Task) -> float:
    """Variance of the responses about what has a flat prior; 1 behind a link."""
    if not task.gaussian:
        return 1.0
    obs = task.obs
    return variance_about_trend(replace(obs, rows=replace(obs.rows, trend=obs.rows.trend[:, blocks_of(task) < 0])))


def blocks_of(task: Task) -> IntArray:
    """Block of each column of the trend: -1 of the intercept, whose prior is flat; of covariates; of their bends."""
    trend, n_bends = task.obs.rows.trend, task.settings.n_bends
    varies = np.ptp(trend, axis=0) > 1e-9 * np.abs(trend).max(axis=0, initial=0.0)
    if not task.settings.shrinks or np.count_nonzero(~varies) != 1:
        return np.full(len(varies), -1)
    blocks = np.where(varies, 0, -1)
    if n_bends:
        blocks[-n_bends:] = 1
    return blocks


def probes(coords: FloatArray, predict_at: FloatArray | None) -> FloatArray:
    """Locations at which the effect of hyperparameters is measured: requested ones, or between rows far apart."""
    if predict_at is not None and len(predict_at):
        return predict_at[:: max(len(predict_at) // POLICY.probes, 1)]
    distance = np.sum((coords - coords.mean(axis=0)) ** 2, axis=1)
    chosen = [int(np.argmax(distance))]
    nearest = np.sum((coords - coords[chosen[0]]) ** 2, axis=1)
    middles = []
    for _ in range(min(POLICY.probes, len(coords) - 1)):
        new = int(np.argmax(nearest))
        apart = np.sum((coords[chosen] - coords[new]) ** 2, axis=1)
        middles.append((coords[new] + coords[chosen[int(np.argmin(apart))]]) / 2)
        chosen.append(new)
        nearest = np.minimum(nearest, np.sum((coords - coords[new]) ** 2, axis=1))
    return np.array(middles)
