"""The evidence of one form of kernel on a grid of its ranges, each with lines along the share of the field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.observed.observations import Observations
from bochner.inference.tuning import limits
from bochner.inference.tuning.node_rules import gauss_rule
from bochner.inference.tuning.share_lines import Parabola, ShareLines, Weighed, log_sum
from bochner.kernels import Kernel, Scale


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
class Node:
    """One set of hyperparameters with its mass."""

    branch: Branch
    log_range: float
    field: float
    noise: float
    mass: float


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
        cls, obs: Observations, scale: Scale, lines: ShareLines, branch: Branch, through: float | None = None
    ) -> RangeGrid:
        """With ranges from less than the spacing of the places to some extents, a given one among them."""
        least = min(limits.LEAST_RANGE, scale.spacing)
        push = min(limits.SHORT_RANGE, 2 * scale.spacing)

        def evaluate(log_range: float) -> list[Weighed]:
            correlation = obs.rows.covariance_within(branch.at(log_range))
            prior = branch.log_prior - limits.RANGE_POWER * log_range - push * np.exp(-log_range)
            return lines.of(correlation, log_range, float(prior))

        n_points = 1 + int(np.ceil(np.log(limits.LARGEST_RANGE / least) / limits.RANGE_STEP))
        first = np.linspace(np.log(least), np.log(limits.LARGEST_RANGE), n_points)
        if through is not None:
            first += through - first[np.argmin(np.abs(first - through))]
        return cls(branch, evaluate, first)

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
        """Evaluate one more range, if it is not known: the log of its density."""
        if float(log_range) not in self.points:
            self.add([log_range])
        return log_sum(np.array([w.log_sum for w in self.points[float(log_range)]]))

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
        sums = [log_sum(np.array([w.log_sum for w in self.points[t]])) for t in self.log_ranges]
        return np.array(sums) + self.log_widths

    @property
    def log_mass(self) -> float:
        """Log of the mass of the branch."""
        return log_sum(self.log_masses)

    @property
    def sd(self) -> float:
        """Of the log range."""
        t, masses = self.log_ranges, self.log_masses
        share = np.exp(masses - log_sum(masses))
        return float(np.sqrt(share @ (t - share @ t) ** 2))

    @property
    def is_wide(self) -> bool:
        """Whether its peak is so wide that it is no parabola."""
        return self.sd > limits.BESIDE_WIDEST

    def missing(self) -> list[float]:
        """Ranges next to those that hold too much of the mass."""
        if self.rule is not None:
            return []
        t, masses = self.log_ranges, self.log_masses
        heavy = np.exp(masses - log_sum(masses)) > limits.HEAVY_RANGE
        wanted: set[float] = set()
        for i in np.flatnonzero(heavy):
            wanted |= {float((t[i] + t[j]) / 2) for j in (i - 1, i + 1) if 0 <= j < len(t)}
        return sorted(wanted)

    def beside(self, log_range: float, like: RangeGrid, hopeless: float) -> bool:
        """Evaluate about a range as far as the peak of another is wide; whether its own peak is between.

        It is then taken for a parabola, whose mass the three ranges share. Below `hopeless` one range is enough.
        """
        step = limits.BESIDE_STEP * min(like.sd, limits.BESIDE_WIDEST)
        if like.is_wide and len(self.first) > 1:  # ranges of the first grid, which it may be in need of
            step = float(self.first[1] - self.first[0])
            log_range = float(self.first[np.argmin(np.abs(self.first - log_range))])
        if self._evaluated(log_range) < hopeless:
            return True
        if not step > 0:
            return False

        def value(k: int) -> float:
            at = log_range + k * step
            known = self.first[np.argmin(np.abs(self.first - at))]
            return self._evaluated(known if abs(known - at) < limits.SAME_RANGE else at)

        peak = Parabola.sought(value, limits.BESIDE_WIDEST / step, limits.BESIDE_MOVES)
        if peak is None or peak.bend > limits.BESIDE_SHARPEST:  # the edge of what is ruled out is no peak
            return False
        values = np.array([log_sum(np.array([w.log_sum for w in lines])) for lines in self.points.values()])
        self.rule = dict.fromkeys(self.points, float(peak.log_mass + np.log(step) - log_sum(values)))
        return True

    def follow(self, like: RangeGrid, shift: float = 0.0) -> None:
        """Evaluate at the nodes of the Gauss rule of another, and weigh them by how much more or less likely they are.

        Where the two fall in the same way from their modes, however far these are apart by, three nodes are enough;
        those of another smoothness, which lie further by `shift`, take one more.
        """
        t, masses = like.log_ranges, like.log_masses
        n_nodes = limits.FOLLOWED_NODES + (shift != 0.0)
        at, share = gauss_rule(t, np.exp(masses - log_sum(masses)), n_nodes)
        density = np.interp(at, t, masses - like.log_widths) - log_sum(masses)
        # as far, in whatever unit
        at = at + shift + np.mean(like.branch.log_units) - np.mean(self.branch.log_units)
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
