"""The contract of a family: the pointwise mathematics of one observation."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from bochner.arrays import FloatArray, positive
from bochner.exceptions import InputError, PartError, RowError
from bochner.families.links import Link
from bochner.spelling import nearest_name


@dataclass(frozen=True)
class Derivatives:
    """What Newton's method needs of the log density, one value per row.

    Attributes
    ----------
    score : ndarray of shape (n,)
        First derivative of the log density in eta.
    curvature : ndarray of shape (n,)
        Minus the second derivative, or its expectation where the family says so; never negative.
    slope : ndarray of shape (n,)
        Derivative of the curvature in eta.
    """

    score: FloatArray
    curvature: FloatArray
    slope: FloatArray


@dataclass(frozen=True)
class Family:
    """Law of a response y given its linear predictor eta; all functions are pointwise.

    ``size`` is what y is counted out of: trials, or exposure; ones for a family without (`size_name` is None).
    Arrays broadcast, so draws of eta of shape (draws, n) are welcome. Values stay finite for \\|eta\\| up to 700.

    The rest of the library asks for the attributes below, never for the name.

    Parameters
    ----------
    link : str
        How eta and the mean hang together; `links` lists the choices.
    dispersion : float, optional
        Spread beyond what the mean fixes, for families that `has_dispersion`; None: to be learned.

    Attributes
    ----------
    links : mapping of str to Link
        Links that it takes, by name, the default first; `link_function` is the one in use.
    law : str
        The law in words; {response} stands for the response, {inverse} for the inverse of the link.
    surface_name : str or None
        What the mean per unit of size is called; None: as the response is.
    size_name : str or None
        What a response is counted out of: trials or exposure.
    discrete, has_dispersion : bool
        Whether responses are counts; whether there is a spread beside the mean.
    additive : bool
        Whether a response is eta and noise that knows nothing of eta.
    observes_eta : bool
        Whether that noise is Gaussian, so that the variance of eta may carry it.
    reweighted : bool
        Whether the noise is Gaussian with a hidden precision of each row: fitted as a Gaussian whose rows count by it.
        Minus the second derivative of the log density may then be negative, and the curvature is its expectation.
    bounded_by_size : bool
        Whether no response exceeds its size.
    positive_only : bool
        Whether every response is above zero.
    """

    name: ClassVar[str]
    links: ClassVar[Mapping[str, Link]]
    law: ClassVar[str] = "its {inverse} is the mean of the {response}"
    surface_name: ClassVar[str | None] = None
    size_name: ClassVar[str | None] = None
    discrete: ClassVar[bool] = False
    has_dispersion: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    observes_eta: ClassVar[bool] = False
    reweighted: ClassVar[bool] = False
    bounded_by_size: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    hint_of_dispersion: ClassVar[str] = ""  # for who gives a dispersion to a family without

    link: str = "identity"
    dispersion: float | None = None

    def __post_init__(self) -> None:
        if self.link not in tuple(self.links):  # a list, say, cannot be looked up
            raise InputError(
                f"link={self.link!r} is not a link of family {self.name!r}; needed is one of {', '.join(self.links)}: "
                f"did you mean {nearest_name(str(self.link), self.links, cutoff=0.0)!r}?"
            )
        if self.dispersion is None:
            return
        if not self.has_dispersion:
            raise InputError(
                f"dispersion={self.dispersion!r} was given, but family {self.name!r} has none; leave it out."
                f"{self.hint_of_dispersion}"
            )
        object.__setattr__(self, "dispersion", positive(self.dispersion, "dispersion"))

    @property
    def link_function(self) -> Link:
        """The link itself, of which `link` is the name."""
        return self.links[self.link]

    @property
    def binary(self) -> bool:
        """Whether a response is 0 or 1."""
        return self.bounded_by_size and self.size_name is None

    @property
    def is_share(self) -> bool:
        """Whether means are shares: prevalences or probabilities."""
        return self.link_function.range == (0.0, 1.0)

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters beside the link by name; None: to be learned."""
        return {"dispersion": self.dispersion} if self.has_dispersion else {}

    @property
    def unknown(self) -> tuple[str, ...]:
        """Parameters to be learned."""
        return tuple(name for name, value in self.parameters.items() if value is None)

    def divided(self, unit: float) -> Self:
        """The law of an additive response in another unit."""
        return self if self.dispersion is None else self.replace(dispersion=self.dispersion / unit**2)

    def describe(self, response: str) -> str:
        """The law in words, for a sentence that has spoken of the linear predictor."""
        return self.law.format(response=response, inverse=self.link_function.inverse)

    def check(self, y: FloatArray, size: FloatArray) -> None:
        """Refuse rows outside the family's domain, naming the first bad one."""
        raise NotImplementedError

    def check_threshold(self, threshold: ArrayLike, size: ArrayLike | None = None, name: str = "threshold") -> None:
        """Refuse thresholds that no mean can take, so that the chance of exceeding them is known beforehand.

        `size` are trials or exposures, where the mean is that of a count; it bounds the counts of a family that
        `bounded_by_size`. Both ends of the range are thresholds, too: more than none is asked of any count.
        """
        low, high = self.link_function.range
        largest = 1.0 if size is None else float(np.max(size, initial=0.0))
        values = np.ravel(np.asarray(threshold, dtype=np.float64))
        bad = values[(values < low) | (values > (high * largest if np.isfinite(high) else high))]
        if not len(bad):
            return
        value, what = float(bad[0]), self.surface_name or "mean"
        if size is not None and np.isfinite(high):
            need = f"a count lies between 0 and its {self.size_name}, here at most {largest:.10g}; give such a count."
        elif np.isfinite(high):
            per_cent = f"write {value / 100:.10g}, or {value:.10g}% on the command line."
            need = f"a {what} lies between 0 and 1; " + (per_cent if 0 < value <= 100 else "give such a share.")
        else:
            need = f"a {'count' if size is not None else what} is never negative; give 0 or more."
        raise InputError(f"{name} is {value:.10g}, but {need}")

    def start(self, y: FloatArray, size: FloatArray) -> FloatArray:
        """Finite linear predictor near each row's own maximum, shrunk as by adding half a count."""
        raise NotImplementedError

    def log_density(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        """Log density or log probability, every normalising constant included."""
        raise NotImplementedError

    def derivatives(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> Derivatives:
        """Score, curvature and its slope, in eta."""
        raise NotImplementedError

    def dispersion_slopes(
        self, y: FloatArray, eta: FloatArray, size: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Derivatives of log density, score and curvature in the log of the dispersion; zero without one."""
        zero = np.zeros(np.broadcast(y, eta, size).shape)
        return zero, zero, zero

    def expected_precision(self, square: FloatArray, variance: FloatArray) -> FloatArray:
        """Precision of the noise of each row that lies off by a `square` from a prediction of known variance."""
        raise NotImplementedError

    def refitted(self, square: FloatArray, variance: FloatArray, weight: FloatArray) -> Self:
        """With parameters that are to be learned at their likeliest, rows being so far from predictions of eta."""
        raise NotImplementedError

    def noise_parts(self) -> tuple[FloatArray, FloatArray]:
        """Noise of an additive family as a mixture of Gaussians: their variances and masses, (k,) each."""
        raise NotImplementedError

    def mean(self, eta: FloatArray) -> FloatArray:
        """Mean of the response per unit of size: prevalence, rate or mean."""
        return self.link_function.mean(eta)

    def link_of(self, mean: FloatArray) -> FloatArray:
        """Linear predictor of a mean per unit of size."""
        return self.link_function.eta(mean)

    def variance(self, eta: FloatArray, size: FloatArray) -> FloatArray:
        """Variance of the response given eta."""
        raise NotImplementedError

    def cdf(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        """Probability of a response not above y, given eta."""
        raise NotImplementedError

    def cdf_slope(self, y: FloatArray, eta: FloatArray, size: FloatArray) -> FloatArray:
        """Minus the derivative of `cdf` in eta: a density in eta, for y below its largest value."""
        raise NotImplementedError

    def expected_variance(self, mean: FloatArray, square: FloatArray, size: FloatArray) -> FloatArray:
        """Variance of the response given eta, averaged over an eta of which E mean(eta) and its square are known."""
        raise NotImplementedError

    def log_average(self, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
        """Log density averaged over eta ~ N(mean, variance); asked of reweighted families, and of links not smooth."""
        raise NotImplementedError

    def average_cdf(self, y: FloatArray, mean: FloatArray, variance: FloatArray, size: FloatArray) -> FloatArray:
        """`cdf` averaged over eta ~ N(mean, variance); asked of families whose link is not smooth."""
        raise NotImplementedError

    def draw(self, eta: FloatArray, size: FloatArray, rng: Generator) -> FloatArray:
        """One response for every eta."""
        raise NotImplementedError

    def replace(self, **changes: Any) -> Self:
        """Copy with some parameters changed."""
        return dataclasses.replace(self, **changes)

    @property
    def _dispersion(self) -> float:
        if self.dispersion is None:
            raise PartError(
                f"The dispersion of family {self.name!r} is None, to be learned, and a number is needed here; "
                "set it: family.replace(dispersion=0.5)."
            )
        return self.dispersion


_TOLD = 20  # rows of which a refusal says what they hold


def refuse(bad: NDArray[np.bool_], message: str, **columns: FloatArray) -> None:
    """Raise if any row is bad, with its number and values filled in.

    `message` is a template with {row} and the names of `columns`; it ends in what to change.
    """
    if not np.any(bad):
        return
    rows = np.flatnonzero(bad)
    full = {name: np.broadcast_to(column, bad.shape) for name, column in columns.items()}
    said = [{name: f"{float(column[row]):.10g}" for name, column in full.items()} for row in rows[:_TOLD]]
    short = re.split(r" (?:in|at) row \{row\}", message)[0]
    more = f" ({len(rows)} such rows.)" if len(rows) > 1 else ""
    text = message.format(row=int(rows[0]), **said[0]) + more
    raise RowError(text, rows.tolist(), [short.format(**values) for values in said])


def check_finite(y: FloatArray) -> None:
    """Refuse responses that are NaN or infinite."""
    refuse(~np.isfinite(y), "y is {y} in row {row}; needed is a finite number: drop or fill that row.", y=y)


def check_counts(y: FloatArray) -> None:
    """Refuse responses that are not whole numbers >= 0."""
    check_finite(y)
    refuse(y < 0, "y is {y} in row {row}; needed is a count, 0 or more: correct or drop that row.", y=y)
    refuse(
        y != np.floor(y),
        "y is {y} in row {row}; needed is a whole number. Pass counts, not shares or rates (their size goes into "
        "trials or exposure), and round what was weighted.",
        y=y,
    )


def check_sizes(size: FloatArray, name: str) -> None:
    """Refuse trials or exposures that are not positive."""
    refuse(
        ~(np.isfinite(size) & (size > 0)),
        f"{name} is {{size}} in row {{row}}; needed is a finite number > 0: a row without {name} tells nothing, "
        "leave it out.",
        size=size,
    )
