"""Integration over hyperparameters, for few rows: range, share of the field, smoothness and stretch together.

A handful of sets around the best one misses what few noisy rows leave open: that the field may be nearly absent, or
rough, or of almost any range. So the evidence is evaluated on a grid. One eigendecomposition serves all shares of the
field (`ShareEvidence`); the grid of ranges is refined where its mass lies; along the shares a Gauss rule takes the
place of the grid. Predictions are then a mixture of some dozens of sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from bochner.arrays import FloatArray
from bochner.inference.evidence.share_evidence import Line, ShareEvidence
from bochner.inference.observed.average import Average
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.node_rules import gauss_rule, thinned
from bochner.kernels import Kernel, Scale

NoiseLevels = list[tuple[float, float]]
"""Noise variances with the logs of their weights."""


@dataclass(frozen=True)
class Branch:
    """Kernels that differ in their range alone.

    Attributes
    ----------
    kernel : Kernel
        One field: its hyperparameters are ranges and a variance.
    log_units : (number of ranges,)
        Logarithm of every length scale where the relative range is 1.
    log_prior : float
        Logarithm of its prior probability, or of its weight as a node of a rule.
    ring : int
        0: one range for all axes; 1: ranges of their own in the ratios that were learned; 2: in ratios about them.
    weight : float
        Of the rule over the ratios: what is to be expected of it, of all of them.
    """

    kernel: Kernel
    log_units: FloatArray
    log_prior: float
    ring: int = 0
    weight: float = 1.0

    @property
    def stretched(self) -> bool:
        """Whether its length scales differ by what was learned."""
        return self.ring > 0

    def at(self, log_range: float, variance: float = 1.0) -> Kernel:
        """The kernel of a relative range and a variance."""
        ranges = np.array([h.role.is_range for h in self.kernel.hyperparameters])
        theta = np.full(len(ranges), np.log(variance))
        theta[ranges] = self.log_units + log_range
        return self.kernel.with_theta(theta)


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
    """
    levels = _noise_levels(obs, scale, noise_variance, best[0])
    thrift = _Thrift.of(len(obs), best[0])
    grids: list[RangeGrid] = []
    top = -np.inf
    for ring in (1, 0, 2):  # where the field is stretched, one range for all axes is soon given up
        if ring == 2 and thrift.sparing:
            grids = _about_the_best(grids, branches, lambda b: RangeGrid.of(obs, scale, levels, b))
            break
        known: RangeGrid | None = None  # of many rows, how the best smoothness falls from its peak
        for branch in sorted(branches, key=thrift.turn):
            if branch.ring == ring and not (ring == 2 and _ruled_out(branch.kernel, grids)):
                grid, start = RangeGrid.of(obs, scale, levels, branch, thrift.through(branch)), thrift.start(branch)
                if known is None or not grid.beside(start, known, top - thrift.depths[1]):
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

    There the range is known so well that a first grid would miss its peaks: it begins where the best kernel, made
    rougher or smoother, falls off as far away.
    """

    sparing: bool
    middle: float
    nu: float | None

    @classmethod
    def of(cls, n_rows: int, best: Kernel) -> _Thrift:
        ranges = [t for h, t in zip(best.hyperparameters, best.theta, strict=True) if h.role.is_range]
        return cls(n_rows >= limits.THRIFTY_ROWS, float(np.mean(ranges)), getattr(best, "nu", None))

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
        return middle + limits.TAIL_POWER * np.log(self.nu / nu) if self.sparing and self.nu and nu else middle

    def through(self, branch: Branch) -> float | None:
        """A relative range that is to be one of the first grid, if any."""
        return self.start(branch) if self.sparing else None


def max_nodes(n_rows: int) -> int:
    """Sets that n rows may have: each keeps a factor of n^2 numbers, and more rows leave less open."""
    return int(np.clip(limits.FACTOR_NUMBERS // n_rows**2, *limits.INTEGRATION_NODES))


# ------------------------------------------------------------------------------------ the grid


@dataclass(frozen=True)
class Node:
    """One set of hyperparameters with its mass."""

    branch: Branch
    log_range: float
    field: float
    noise: float
    mass: float


@dataclass(frozen=True)
class Weighed:
    """A line along the share of the field, the log of its joint density with the prior, and of the sum of it."""

    line: Line
    log_density: FloatArray
    log_sum: float


@dataclass
class RangeGrid:
    """Evidence of one branch on a grid of ranges, each with its lines along the share of the field."""

    branch: Branch
    evaluate: Callable[[float], list[Weighed]]
    first: FloatArray
    points: dict[float, list[Weighed]] = field(default_factory=dict)
    rule: dict[float, float] | None = None  # logs of what single ranges stand for, where they are nodes of a rule
    log_share: float = 0.0  # log of the mass of all that it stands for, relative to its own

    @classmethod
    def of(
        cls,
        obs: Observations,
        scale: Scale,
        levels: NoiseLevels | None,
        branch: Branch,
        through: float | None = None,
    ) -> RangeGrid:
        """With ranges from less than the spacing of the places to some extents, a given one among them."""
        evidence = ShareEvidence.of(obs)
        least = min(limits.LEAST_RANGE, scale.spacing)
        push = min(limits.SHORT_RANGE, 2 * scale.spacing)

        def lines(log_range: float) -> list[Weighed]:
            correlation = obs.rows.covariance_within(branch.at(log_range))
            prior = branch.log_prior - limits.RANGE_POWER * log_range - push * np.exp(-log_range)
            if levels is None:
                found = [(evidence.along_shares(correlation, SHARES), 0.0)]
            else:
                found = [
                    (evidence.along_fields(correlation, noise, SHARES, scale.variance), log_weight)
                    for noise, log_weight in levels
                ]
            priors = [_log_share_prior(SHARES) + prior + more for _, more in found]
            densities = [line.log_evidence + p for (line, _), p in zip(found, priors, strict=True)]
            return [Weighed(line, d, _log_sum(d)) for (line, _), d in zip(found, densities, strict=True)]

        n_points = 1 + int(np.ceil(np.log(limits.LARGEST_RANGE / least) / limits.RANGE_STEP))
        first = np.linspace(np.log(least), np.log(limits.LARGEST_RANGE), n_points)
        if through is not None:
            first += through - first[np.argmin(np.abs(first - through))]
        return cls(branch, lines, first)

    def flood(
        self,
        log_range: float,
        top: float,
        valley: float = limits.VALLEY_NATS,
        hopeless: float = limits.HOPELESS_NATS,
    ) -> float:
        """Evaluate the first grid from a range upwards and downwards, until it falls and is ruled out by the best.

        Where it begins `hopeless` nats below the best it goes nowhere, and it ends where it falls to `valley` below.
        `top` is the best of what was evaluated before; the best until now is returned.
        """
        start = int(np.argmin(np.abs(self.first - log_range)))
        middle = self._evaluated(self.first[start])
        if middle < top - hopeless:
            return top
        top = max(top, middle)
        for way in (self.first[start + 1 :], self.first[:start][::-1]):
            before = middle
            for t in way:
                value = self._evaluated(t)
                top = max(top, value)
                if value < min(before, top - valley):
                    break
                before = value
        return top

    def _evaluated(self, log_range: float) -> float:
        """Evaluate one more range: the log of its density."""
        self.add([log_range])
        return _log_sum(np.array([w.log_sum for w in self.points[float(log_range)]]))

    def add(self, log_ranges: Sequence[float] | FloatArray) -> None:
        """Evaluate at more ranges."""
        self.points.update({float(t): self.evaluate(float(t)) for t in log_ranges})

    @property
    def log_ranges(self) -> FloatArray:
        return np.array(sorted(self.points))

    @property
    def log_widths(self) -> FloatArray:
        """Log of what each range stands for, ascending, by the trapezoidal rule or one of its own."""
        t = self.log_ranges
        if self.rule is not None:
            return self.log_share + np.array([self.rule[each] for each in t])
        return self.log_share + (np.log(np.gradient(t)) if len(t) > 1 else np.zeros(1))

    @property
    def log_masses(self) -> FloatArray:
        """Log of the mass of each range, ascending: its lines summed."""
        sums = [_log_sum(np.array([w.log_sum for w in self.points[t]])) for t in self.log_ranges]
        return np.array(sums) + self.log_widths

    @property
    def log_mass(self) -> float:
        """Log of the mass of the branch."""
        return _log_sum(self.log_masses)

    def missing(self) -> list[float]:
        """Ranges next to those that hold too much of the mass."""
        if self.rule is not None:
            return []
        t, masses = self.log_ranges, self.log_masses
        heavy = np.exp(masses - _log_sum(masses)) > limits.HEAVY_RANGE
        wanted: set[float] = set()
        for i in np.flatnonzero(heavy):
            wanted |= {float((t[i] + t[j]) / 2) for j in (i - 1, i + 1) if 0 <= j < len(t)}
        return sorted(wanted)

    def beside(self, log_range: float, like: RangeGrid, hopeless: float) -> bool:
        """Evaluate about a range as far as the peak of another is wide; whether its own peak is between.

        It is then taken for a parabola, whose mass the three ranges share. Below `hopeless` one range is enough.
        """
        t, masses = like.log_ranges, like.log_masses
        share = np.exp(masses - _log_sum(masses))
        step = limits.BESIDE_STEP * float(np.sqrt(share @ (t - share @ t) ** 2))
        found = {0: self._evaluated(log_range)}
        if found[0] < hopeless:
            return True
        if not step > 0:
            return False
        at = 0
        for _ in range(limits.BESIDE_MOVES):
            for k in (at - 1, at, at + 1):
                if k not in found:
                    found[k] = self._evaluated(log_range + k * step)
            below, middle, above = (found[k] for k in (at - 1, at, at + 1))
            slope, bend = (above - below) / 2, 2 * middle - above - below
            if bend > 0 and step > limits.BESIDE_WIDEST * np.sqrt(bend):
                return False  # so wide a peak is no parabola
            if bend > 0 and abs(slope) <= bend:
                return self._as_parabola(slope, bend, middle, step)
            at += int(np.sign(slope)) * (2 if not bend > 0 or abs(slope) > 2 * bend else 1)
        return False

    def _as_parabola(self, slope: float, bend: float, middle: float, step: float) -> bool:
        """All ranges share the mass of a parabola, from its value, slope and bend for a step."""
        log_mass = middle + slope**2 / (2 * bend) + np.log(step * np.sqrt(2 * np.pi / bend))
        values = np.array([_log_sum(np.array([w.log_sum for w in lines])) for lines in self.points.values()])
        self.rule = dict.fromkeys(self.points, float(log_mass - _log_sum(values)))
        return True

    def follow(self, like: RangeGrid) -> None:
        """Evaluate at the nodes of the Gauss rule of another, and weigh them by how much more or less likely they are.

        Where the two fall in the same way from their modes, however far these are apart by, three nodes are enough.
        """
        t, masses = like.log_ranges, like.log_masses
        at, share = gauss_rule(t, np.exp(masses - _log_sum(masses)), limits.FOLLOWED_NODES)
        density = np.interp(at, t, masses - like.log_widths) - _log_sum(masses)
        self.add(at)
        self.rule = {float(x): float(np.log(s) - d) for x, s, d in zip(at, share, density, strict=True)}

    def nodes(self, log_total: float) -> list[Node]:
        """Few sets of hyperparameters that stand for all."""
        found = []
        for log_range, log_width in zip(self.log_ranges, self.log_widths, strict=True):
            for weighed in self.points[log_range]:
                line, mass = weighed.line, float(np.exp(weighed.log_sum + log_width - log_total))
                if mass < limits.LEAST_MASS:
                    continue
                order = limits.SHARE_NODES if mass > limits.FULL_MASS else limits.FEW_SHARE_NODES
                at, share = gauss_rule(line.logit, np.exp(weighed.log_density - weighed.log_sum), order)
                fields, noises = (
                    np.exp(np.interp(at, line.logit, np.log(np.maximum(v, 1e-300)))) for v in (line.field, line.noise)
                )
                if np.ptp(line.noise) == 0:
                    noises = np.full(len(at), line.noise[0])
                found += [
                    Node(self.branch, float(log_range), float(f), float(s), float(mass * p))
                    for f, s, p in zip(fields, noises, share, strict=True)
                ]
        return found


SHARES = np.arange(limits.SHARE_LOGITS[0], limits.SHARE_LOGITS[1] + 1e-9, limits.SHARE_STEP)


def _log_share_prior(logit: FloatArray) -> FloatArray:
    """Of the share of the field, as a density in its logit: Beta, nearly uniform."""
    a, b = limits.SHARE_PRIOR
    return np.asarray(a * special.log_expit(logit) + b * special.log_expit(-logit))


def _noise_levels(obs: Observations, scale: Scale, noise_variance: float | None, best: Kernel) -> NoiseLevels | None:
    """Noise variances with the logs of their weights; None: the noise is whatever the field is not.

    Beside known errors each level costs a decomposition of its own, so those that the best kernel rules out are left.
    """
    if noise_variance is not None:
        return [(noise_variance, 0.0)]
    if not obs.error.any():
        return None
    logits = np.array(limits.NOISE_LOGITS)
    weights = _log_share_prior(-logits) + np.log(np.gradient(logits))
    levels = [(float(scale.variance * np.exp(x)), float(w)) for x, w in zip(logits, weights, strict=True)]
    evidence, correlation = ShareEvidence.of(obs), obs.rows.covariance_within(_unit(best))
    lines = [evidence.along_fields(correlation, noise, SHARES, scale.variance) for noise, _ in levels]
    values = np.array([w + line.log_evidence.max() for line, (_, w) in zip(lines, levels, strict=True)])
    return [level for level, value in zip(levels, values, strict=True) if value > values.max() - limits.NOISE_DEPTH]


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


def _log_sum(values: FloatArray) -> float:
    """Log of the sum of exponentials; scipy's checks cost more than the sum of so few."""
    top = float(np.max(values))
    return top + float(np.log(np.sum(np.exp(values - top))))


def _total(grids: Sequence[RangeGrid]) -> float:
    return _log_sum(np.array([grid.log_mass for grid in grids]))


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
