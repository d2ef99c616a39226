"""Roles of hyperparameters: what a number means, hence where it may lie, where a search begins, and what is likely.

A role is one class and one registration. Tuning asks it for everything; no other file knows its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.kernels import limits


@dataclass(frozen=True)
class Scale:
    """Sizes of the data: extent of each axis, spacing of the places, variance about the trend.

    Attributes
    ----------
    extent : (dim,)
    spacing : float
        Median distance to the nearest other place, in units of the extent.
    variance : float
        Of the responses about their trend.
    error : float
        Known error variance of a typical row.
    """

    extent: FloatArray
    spacing: float
    variance: float
    error: float = 0.0


@dataclass(frozen=True)
class Start:
    """Where a search begins: ranges as a share of the extent, the variance of each field, and a stagger of ranges."""

    reach: float
    variance: float
    stagger: float = 1.0


class Role:
    """What a learnable number of a kernel is; theta is its logarithm, or its logit where that is said.

    A subclass gives `name` and `bounds`, and says where it differs from the rest. `sides` are the extents of the axes
    that the number belongs to.
    """

    name: ClassVar[str]
    measures_lags: ClassVar[bool] = False  # whether it has the unit of the coordinates, or one over it
    is_range: ClassVar[bool] = False  # whether it is the distance over which a field is correlated
    is_variance: ClassVar[bool] = False
    power_of_length: ClassVar[float] = 0.0  # by which it changes when all lags are stretched
    nearness: ClassVar[float | None] = None  # difference in theta below which two starts lead to one optimum

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        """Smallest and largest value that the data could show, not its logarithm."""
        return 1e-4, 1e4

    def start(self, now: float, sides: FloatArray, scale: Scale, start: Start) -> float:
        """Theta to begin a search from; `now` is that of the kernel given."""
        return now

    def log_prior(self, theta: float, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        """Log prior density in theta, up to a constant, and its slope."""
        return 0.0, 0.0

    def lasting_log_prior(self, theta: float) -> tuple[float, float]:
        """The same of what is left in doubt however many the rows are."""
        return 0.0, 0.0


class Range(Role):
    """A length scale: penalised-complexity prior in one dimension (Fuglstad et al. 2019).

    It falls slowly towards infinity and fast below the spacing of the places, P(range < spacing) = 0.05.
    """

    name = "length_scale"
    measures_lags = True
    is_range = True
    power_of_length = 1.0
    nearness = 0.5

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return limits.SHORTEST_RANGE * scale.spacing * float(sides.min()), limits.LONGEST_RANGE * float(sides.max())

    def start(self, now: float, sides: FloatArray, scale: Scale, start: Start) -> float:
        dim = len(scale.extent)
        crowd = np.sqrt(dim / 2) if dim > 2 else 1.0  # places of many dimensions lie far apart
        return float(np.log(start.reach * float(sides.max()) * crowd * start.stagger))

    def log_prior(self, theta: float, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        shortest = self.bounds(sides, scale)[0] / limits.SHORTEST_RANGE
        push = -np.log(limits.PRIOR_TAIL) * np.sqrt(shortest) * np.exp(-theta / 2)
        # with its constant, else the number of ranges would be judged by the unit of the coordinates
        return float(np.log(push / 2) - push), float(-0.5 + 0.5 * push)


class Variance(Role):
    """Variance of a field: exponential prior on its sd, P(sd > 5 sd of the data) = 0.05."""

    name = "variance"
    is_variance = True

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return 1e-4 * scale.variance, 1e3 * scale.variance

    def start(self, now: float, sides: FloatArray, scale: Scale, start: Start) -> float:
        return float(np.log(start.variance))

    def log_prior(self, theta: float, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        pull = -np.log(limits.PRIOR_TAIL) / limits.LARGE_SD * np.exp(theta / 2) / np.sqrt(scale.variance)
        return float(-pull), float(-0.5 * pull)


class Shape(Role):
    """A number without unit; standard normal a priori, in theta."""

    name = "shape"
    limits: ClassVar[tuple[float, float]] = (0.05, 100.0)

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return self.limits

    def log_prior(self, theta: float, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return -0.5 * theta**2, -theta


class Smoothness(Shape):
    """Smoothness nu of a Matern field: thousands of noisy rows hardly tell it, and may favour any."""

    name = "smoothness"
    limits = (0.1, 20.0)

    def lasting_log_prior(self, theta: float) -> tuple[float, float]:
        """Flat where fields usually are, and normal in theta beyond."""
        low, high = np.log([limits.LOWEST_NU, limits.HIGHEST_NU])
        beyond = (theta - float(np.clip(theta, low, high))) / limits.UNUSUAL_SD
        return -0.5 * beyond**2, -beyond / limits.UNUSUAL_SD


class Stretch(Shape):
    """Ratio of rotated length scales; theta as it is."""

    name = "stretch"
    limits = (float(np.exp(-3.0)), float(np.exp(3.0)))


class Interaction(Shape):
    """Interaction of space and time, from 0 to 1; theta is its logit."""

    name = "interaction"
    limits = (float(np.exp(-5.0)), float(np.exp(5.0)))


class Period(Role):
    """Length of a wave that returns."""

    name = "period"
    measures_lags = True
    power_of_length = 1.0
    nearness = 0.1

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return shortest_wave(sides, scale), 3 * float(sides.max())


class Frequency(Role):
    """Angular frequency of a peak in the spectrum, radians per unit."""

    name = "frequency"
    power_of_length = -1.0
    nearness = 0.1

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        return 2 * np.pi / (30 * float(sides.max())), 2 * np.pi / shortest_wave(sides, scale)


class Bandwidth(Role):
    """Width of a peak in the spectrum, one over a length scale."""

    name = "bandwidth"
    measures_lags = True
    power_of_length = -1.0

    def bounds(self, sides: FloatArray, scale: Scale) -> tuple[float, float]:
        low, high = Range().bounds(sides, scale)
        return 0.1 / high, 1 / low


ROLES: dict[str, Role] = {}


def register_role(role: Role) -> None:
    """Make a role known by its name."""
    ROLES[role.name] = role


for _role in (Range(), Variance(), Shape(), Smoothness(), Stretch(), Interaction(), Period(), Frequency(), Bandwidth()):
    register_role(_role)


def role_named(role: str | Role) -> Role:
    """Role of a name; a role as it is."""
    if isinstance(role, Role):
        return role
    if role not in ROLES:
        raise KernelError(f"{role!r} is no role of a hyperparameter; needed is one of {sorted(ROLES)}, or a Role.")
    return ROLES[role]


def shortest_wave(sides: FloatArray, scale: Scale) -> float:
    """Shortest wave length that the places could show; shorter ones are seen only where places lie unevenly."""
    return scale.spacing * float(sides.min())
