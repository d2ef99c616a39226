"""Integration over hyperparameters, for few rows: range, share of the field, smoothness and stretch together.

A handful of sets around the best one misses what few noisy rows leave open: that the field may be nearly absent, or
rough, or of almost any range. So the evidence is evaluated on a grid. One eigendecomposition serves all shares of the
field (`ShareEvidence`); the grid of ranges is refined where its mass lies; along the shares a Gauss rule takes the
place of the grid. Predictions are then a mixture of some dozens of sets.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.evidence.share_evidence import ShareEvidence
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.node_rules import thinned
from bochner.inference.tuning.range_grid import Branch, RangeGrid
from bochner.inference.tuning.search import Tuned
from bochner.inference.tuning.share_lines import SHARES, NoiseLevels, ShareLines, log_share_prior, log_sum
from bochner.kernels import Kernel, Scale


@dataclass(frozen=True)
class Integral:
    """Sets of hyperparameters with their masses, the best first and without mass, and the mass of every branch."""

    average: Average
    branches: tuple[Branch, ...]
    branch_mass: FloatArray

    def mass_of(self, wanted: Callable[[Branch], bool]) -> float:
        """Posterior probability of some of the branches."""
        return float(sum(m for b, m in zip(self.branches, self.branch_mass, strict=True) if wanted(b)))


def is_one_field(kernel: Kernel) -> bool:
    """Whether a kernel is one field whose hyperparameters are ranges and a variance, in this order."""
    roles = [h.role for h in kernel.hyperparameters]
    return (
        kernel.stationary
        and len(kernel.leaves()) == 1
        and len(roles) > 1
        and all(role.is_range for role in roles[:-1])
        and roles[-1].is_variance
    )


def integrate(
    obs: Observations,
    scale: Scale,
    noise_variance: float | None,
    branches: Sequence[Branch],
    best: tuple[Kernel, float],
    each: Sequence[Tuned] = (),
) -> Integral:
    """Average over the branches, their ranges, and the variances of field and noise.

    Parameters
    ----------
    noise_variance : float or None
        Where it is known; None: integrated over.
    branches : sequence of Branch
        Those that are stretched are left out where the evidence speaks against them.
    best : (Kernel, float)
        The best hyperparameters, which come first and have no mass of their own.
    each : sequence of Tuned
        Climbs of every smoothness, with one length scale or one for each axis: where others lie beside the best.
    """
    levels = _noise_levels(obs, scale, noise_variance, best[0])
    thrift = _Thrift.of(len(obs), best[0], each, {branch.stretched for branch in branches})
    logit = _logit(*best)
    first = (logit, limits.LINE_SD) if thrift.sparing and logit < limits.LINE_NOISELESS else None
    lines = ShareLines(ShareEvidence.of(obs), levels, scale.variance, first)
    grids: list[RangeGrid] = []
    top = -np.inf
    known: RangeGrid | None = None  # of many rows, how the best smoothness falls from its peak
    for ring in (1, 0, 2):  # where the field is stretched, one range for all axes is soon given up
        if ring == 2 and thrift.sparing:
            grids = _about_the_best(grids, branches, lambda b: RangeGrid.of(obs, scale, lines, b))
            break
        for branch in sorted(branches, key=thrift.turn):
            out = thrift.hopeless(branch) or (ring == 2 and _ruled_out(branch.kernel, grids))
            if branch.ring == ring and not out:
                grid, start = RangeGrid.of(obs, scale, lines, branch, thrift.through(branch)), thrift.start(branch)
                same = _of_same_smoothness(grids, branch) if thrift.sparing else None
                if same is not None and same.rule is None and same.is_wide:
                    grid.follow(same)
                elif known is not None and known.is_wide and thrift.climbed:
                    grid.follow(known, thrift.shift(known.branch, branch))
                elif known is None or not grid.beside(start, known, top - thrift.depths[1]):
                    top = grid.flood(start, top, *thrift.depths)
                grids.append(grid)
                if thrift.sparing and known is None:
                    known = grid
                    _refine([grid])
        if ring == 0 and not _hopeful(grids):
            grids = [g for g in grids if not g.branch.stretched]
            break
    grids.sort(key=lambda grid: grid.branch.ring)
    _refine(grids)
    grids = _worth_keeping(grids)
    total = _total(grids)
    nodes = [node for grid in grids for node in grid.nodes(total)]
    mass = np.array([node.mass for node in nodes])
    kept, mass = thinned(mass / mass.sum(), max_nodes(len(obs)))
    kernels = [nodes[i].branch.at(nodes[i].log_range, nodes[i].field) for i in kept]
    noises = [nodes[i].noise for i in kept]
    average = Average((best[0], *kernels), np.array([best[1], *noises]), np.r_[0.0, mass])
    whole = np.array([np.exp(grid.log_mass - total) for grid in grids])
    return Integral(average, tuple(grid.branch for grid in grids), whole)


@dataclass(frozen=True)
class _Thrift:
    """Where the ranges of branches begin, and how far they are followed: of many rows, each line of which is dear.

    There the range is known so well that a first grid would miss its peaks: it begins where that of every smoothness
    has been found, beside the best; or where the best kernel, made rougher or smoother, falls off as far away.
    """

    sparing: bool
    middle: float
    nu: float | None
    climbed: dict[tuple[float, bool], tuple[float, float]]  # log range and evidence by smoothness, stretched or not

    @classmethod
    def of(cls, n_rows: int, best: Kernel, each: Sequence[Tuned], kinds: Container[bool]) -> _Thrift:
        """Of the climbs those that are averaged over: of fields that are stretched, or not, or both."""
        climbed = {}
        for t in each:
            stretched = isinstance(t.kernel.length_scale, tuple)  # type: ignore[attr-defined]
            if stretched in kinds and not t.failed:
                climbed[float(t.kernel.nu), stretched] = _mean_range(t.kernel), t.value  # type: ignore[attr-defined]
        return cls(n_rows >= limits.THRIFTY_ROWS, _mean_range(best), getattr(best, "nu", None), climbed)

    @property
    def depths(self) -> tuple[float, float]:
        """Nats below the best at which a way ends, and at which a branch is not followed."""
        return limits.THRIFTY_NATS if self.sparing else (limits.VALLEY_NATS, limits.HOPELESS_NATS)

    def turn(self, branch: Branch) -> float:
        """The best smoothness comes first, so that others are soon given up."""
        nu = getattr(branch.kernel, "nu", None)
        return abs(np.log(self.nu / nu)) if self.sparing and self.nu and nu else 0.0

    def start(self, branch: Branch) -> float:
        """Relative range that a branch begins with."""
        nu, middle = getattr(branch.kernel, "nu", None), self.middle - float(np.mean(branch.log_units))
        if not (self.sparing and self.nu and nu):
            return middle
        if (nu, branch.stretched) in self.climbed:
            return self.climbed[nu, branch.stretched][0] - float(np.mean(branch.log_units))
        if {(nu, False), (self.nu, False)} <= self.climbed.keys():
            return middle + self.climbed[nu, False][0] - self.climbed[self.nu, False][0]
        return middle + limits.TAIL_POWER * float(np.log(self.nu / nu))

    def shift(self, of: Branch, to: Branch) -> float:
        """How much further a branch begins than another, in one unit."""
        begun, there = (self.start(branch) + float(np.mean(branch.log_units)) for branch in (of, to))
        return there - begun

    def hopeless(self, branch: Branch) -> bool:
        """Whether the climb of a smoothness has fallen so far short of the best that it has next to no mass."""
        nu, stretched = getattr(branch.kernel, "nu", None), branch.stretched
        if not self.sparing or not self.climbed or nu is None:
            return False
        known = (nu, stretched) in self.climbed
        others = self.climbed if known else {k: v for k, v in self.climbed.items() if not k[1]}
        if (nu, stretched and known) not in others:
            return False
        top = max(value for _, value in others.values())
        return others[nu, stretched and known][1] < top - limits.HOPELESS_CLIMB

    def through(self, branch: Branch) -> float | None:
        """A relative range that is to be one of the first grid, if any."""
        return self.start(branch) if self.sparing else None


def _mean_range(kernel: Kernel) -> float:
    """Mean log of the ranges of a kernel."""
    return float(np.mean([t for h, t in zip(kernel.hyperparameters, kernel.theta, strict=True) if h.role.is_range]))


def max_nodes(n_rows: int) -> int:
    """Sets that n rows may have: each keeps a factor of n^2 numbers, and more rows leave less open."""
    return int(np.clip(limits.FACTOR_NUMBERS // n_rows**2, *limits.INTEGRATION_NODES))


def _noise_levels(obs: Observations, scale: Scale, noise_variance: float | None, best: Kernel) -> NoiseLevels | None:
    """Noise variances with the logs of their weights; None: the noise is whatever the field is not.

    Beside known errors each level costs a decomposition of its own, so those that the best kernel rules out are left.
    """
    if noise_variance is not None:
        return [(noise_variance, 0.0)]
    if not obs.error.any():
        return None
    logits = np.array(limits.NOISE_LOGITS)
    weights = log_share_prior(-logits) + np.log(np.gradient(logits))
    levels = [(float(scale.variance * np.exp(x)), float(w)) for x, w in zip(logits, weights, strict=True)]
    evidence, correlation = ShareEvidence.of(obs), obs.rows.covariance_within(_unit(best))
    lines = [evidence.along_fields(correlation, noise, SHARES, scale.variance) for noise, _ in levels]
    values = np.array([w + line.log_evidence.max() for line, (_, w) in zip(lines, levels, strict=True)])
    return [level for level, value in zip(levels, values, strict=True) if value > values.max() - limits.NOISE_DEPTH]


def _logit(kernel: Kernel, noise_variance: float) -> float:
    """Of the share of the field in the variance."""
    field = float(np.exp(kernel.theta[-1]))
    return float(np.clip(np.log(field / max(noise_variance, 1e-300)), *limits.SHARE_LOGITS))


def _unit(kernel: Kernel) -> Kernel:
    """The same kernel of variance 1."""
    variances = np.array([h.role.is_variance for h in kernel.hyperparameters])
    return kernel.with_theta(np.where(variances, 0.0, kernel.theta))


def _refine(grids: Sequence[RangeGrid]) -> None:
    for _ in range(limits.RANGE_REFINEMENTS):
        total = _total(grids)
        wanted = [(g, g.missing()) for g in grids if g.log_mass > total + np.log(limits.REFINED_MASS)]
        if not any(more for _, more in wanted):
            return
        for grid, more in wanted:
            grid.add(more)


def _total(grids: Sequence[RangeGrid]) -> float:
    return log_sum(np.array([grid.log_mass for grid in grids]))


def _of_same_smoothness(grids: Sequence[RangeGrid], branch: Branch) -> RangeGrid | None:
    """The first with the smoothness of a branch, in whatever ratios of the axes."""
    nu = getattr(branch.kernel, "nu", None)
    return next((grid for grid in grids if nu is not None and getattr(grid.branch.kernel, "nu", None) == nu), None)


def _about_the_best(
    grids: list[RangeGrid], branches: Sequence[Branch], grid_of: Callable[[Branch], RangeGrid]
) -> list[RangeGrid]:
    """Ratios about those that were learned, of many rows: with the best smoothness, as which the others are then taken.

    With how much of the mass lies about, and not in the middle, all smoothnesses agree nearly; the sets that are kept
    of many rows are few.
    """
    middle = [grid for grid in grids if grid.branch.ring == 1]
    if not middle:
        return grids
    _refine(grids)
    best = max(middle, key=lambda grid: grid.log_mass)
    about = [grid_of(b) for b in branches if b.ring == 2 and b.kernel == best.branch.kernel]
    for grid in about:
        grid.follow(best)
    if about:
        share = float(np.logaddexp(0.0, _total(about) - best.log_mass))
        for grid in middle:
            grid.log_share = 0.0 if grid is best else share
    return [*grids, *about]


def _ruled_out(kernel: Kernel, grids: Sequence[RangeGrid]) -> bool:
    """Whether the same smoothness in the ratios that were learned has next to no mass: it has none about them."""
    middle = [g for g in grids if g.branch.ring == 1]
    same = [g for g in middle if getattr(g.branch.kernel, "nu", None) == getattr(kernel, "nu", None)]
    return bool(same) and _total(same) < _total(middle) - limits.RULED_OUT_SMOOTHNESS


def _hopeful(grids: Sequence[RangeGrid]) -> bool:
    """Whether stretched branches may be worth keeping, as far as those in the ratios that were learned tell."""
    plain, middle = ([g for g in grids if g.branch.ring == ring] for ring in (0, 1))
    if not plain or not middle:
        return True
    expected = _total(middle) - np.log(middle[0].branch.weight)
    return bool(expected - np.logaddexp(expected, _total(plain)) > np.log(limits.HOPEFUL_STRETCH))


def _worth_keeping(grids: list[RangeGrid]) -> list[RangeGrid]:
    """Without the stretched ones, where the data make them less likely than they were before."""
    plain = [g for g in grids if not g.branch.stretched]
    if not plain or len(plain) == len(grids):
        return grids
    stretched = np.exp(_total([g for g in grids if g.branch.stretched]) - _total(grids))
    return grids if stretched > limits.STRETCHED_PRIOR else plain
