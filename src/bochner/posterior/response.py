"""Response: what a posterior of the linear predictor says on the scale of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, PartError
from bochner.families import Family
from bochner.families.averages import in_chunks
from bochner.posterior import limits
from bochner.posterior.mixture import Latent
from bochner.posterior.predictive import Predictive
from bochner.posterior.quantiles import observed_quantile
from bochner.posterior.ranked import ranked_probability_score
from bochner.validation import Prediction
from bochner.validation.scores import crps_mixture_rows, crps_widened_rows


@dataclass(frozen=True)
class Response:
    """Pointwise law of a surface, or of new observations, on the scale of the data.

    Attributes
    ----------
    family : Family
        Law of an observation given eta; its dispersion, where it has one, is a number.
    eta : Latent
        Gaussian mixture of the linear predictor, offset included. For new observations its variances include what
        scatters beside the surface: the effect of each row, and the noise of a Gaussian.
    size : ndarray of shape (n,), optional
        Trials or exposure: everything is then a count. None: prevalence, rate or mean, and one trial or unit of
        exposure for new observations.
    new : bool
        False: the surface, the inverse link of eta. True: a new observation.

    Notes
    -----
    Moments are exact for log and identity links and good to 1e-8 for logit and probit. Probabilities of new
    observations are good to 1e-5 (for dispersions of 10 and more to 1e-4), from one trial to counts of millions. Memory
    beside the results is a few megabytes, however many rows.
    """

    family: Family
    eta: Latent
    size: FloatArray | None = None
    new: bool = False

    @property
    def mean(self) -> FloatArray:
        """Mean, (n,)."""
        return self._mean_of(self._surface[0])

    @property
    def variance(self) -> FloatArray:
        """Variance, (n,)."""
        return self._variance_of(*self._surface)

    @property
    def mean_and_sd(self) -> tuple[FloatArray, FloatArray]:
        """Both, (n,) each, for little more than one."""
        means, variances = self._surface
        return self._mean_of(means), np.sqrt(self._variance_of(means, variances))

    @property
    def sd(self) -> FloatArray:
        """Standard deviation, (n,)."""
        return np.sqrt(self.variance)

    def cdf(self, value: FloatArray | float) -> FloatArray:
        """Probability of not more than `value`, a number or one per row."""
        value = np.broadcast_to(np.asarray(value, dtype=np.float64), (self.n_rows,))
        if not self.new or self.family.observes_eta:
            return self._surface_cdf(value / self.sizes)
        if self.family.additive:
            return self._by_parts(lambda law, at: law.cdf(at), value)
        return self._predictive.cdf(value)

    def exceedance(self, threshold: FloatArray | float) -> FloatArray:
        """Probability of more than `threshold`, a number or one per row."""
        return 1.0 - self.cdf(threshold)

    def quantile(self, q: float) -> FloatArray:
        """Quantile, (n,): of the surface exactly; of counts the smallest whose probability below or at it reaches q."""
        if not 0 < q < 1:
            raise InputError(f"q is {q!r}; needed is a probability between 0 and 1, such as 0.975.")
        if not self.new or self.family.observes_eta:
            return np.asarray(self.sizes * self.family.mean(self.eta.quantile(q)))
        if self.family.additive:
            return self._by_parts(lambda law: law.quantile(q))
        return observed_quantile(self._predictive, q)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Log probability (of counts) or log density of new observations y, (n,)."""
        if self.family.observes_eta:
            return self.eta.log_density(y)
        self._need_new("log_density")
        if self.family.additive:
            return self._by_parts(lambda law, at: law.log_density(at), y)
        return self._predictive.log_density(y)

    def pit_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of new observations: what calibration is judged by; equal for amounts."""
        self._need_new("pit_bounds")
        upper = self.cdf(y)
        return (np.minimum(self.cdf(y - 1.0), upper) if self.family.discrete else upper), upper

    def crps(self, y: FloatArray) -> FloatArray:
        """Continuous ranked probability score of each new observation, (n,), in the unit of y; lower is better."""
        self._need_new("crps")
        y = np.asarray(y, dtype=np.float64)
        if self.family.observes_eta:
            return crps_mixture_rows(y, self.eta.means, np.sqrt(self.eta.variances), self.eta.mass)
        if self.family.additive:
            noise = self.family.noise_parts()

            def scored(at: FloatArray, value: FloatArray) -> FloatArray:
                eta = self.eta.at(at.astype(int))
                return crps_widened_rows(value, eta.means, eta.variances, eta.mass, noise)

            return in_chunks(scored, len(noise[1]) + len(self.eta.mass), np.arange(float(self.n_rows)), y)
        return ranked_probability_score(self._predictive, y)

    def prediction(self, level: float = 0.95) -> Prediction:
        """What scores ask of new observations, with a central interval of probability `level`, or more for counts."""
        self._need_new("prediction")
        trials = self.sizes if self.family.bounded_by_size else None
        return Prediction.of(self, level, trials)

    def at(self, rows: NDArray[Any]) -> Response:
        """The law at some of the rows: indices or a mask."""
        return Response(self.family, self.eta.at(rows), None if self.size is None else self.size[rows], self.new)

    @property
    def n_rows(self) -> int:
        return self.eta.means.shape[1]

    @property
    def sizes(self) -> FloatArray:
        """Trials or exposure of each row; ones where none was given."""
        return np.ones(self.n_rows) if self.size is None else self.size

    def _by_parts(self, function: Callable[..., FloatArray], *rows: FloatArray) -> FloatArray:
        """Function of the law of an observation, a mixture of Gaussians, and of values of each row; by chunks."""
        parts = self.family.noise_parts()
        return in_chunks(
            lambda at, *values: function(self.eta.at(at.astype(int)).widened(*parts), *values),
            len(parts[1]) * len(self.eta.mass),
            np.arange(float(self.n_rows)),
            *rows,
        )

    @property
    def _predictive(self) -> Predictive:
        return Predictive(self.family, self.eta, self.sizes)

    @property
    def _surface(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the inverse link in every component, (components, n) each."""
        means, variances = self.eta.means, self.eta.variances
        if self.family.link_function.linear:
            return means, variances
        out, step = np.empty((2, *means.shape)), max(1, limits.MOMENTS_TOGETHER // len(means))
        for at in (slice(i, i + step) for i in range(0, self.n_rows, step)):
            both = self.family.link_function.moments(means[:, at].ravel(), variances[:, at].ravel())
            out[:, :, at] = np.reshape(both, (2, len(means), -1))
        return out[0], out[1]

    def _mean_of(self, means: FloatArray) -> FloatArray:
        mean = np.asarray(self.eta.mass @ means)
        return mean if self.size is None else self.size * mean

    def _variance_of(self, means: FloatArray, variances: FloatArray) -> FloatArray:
        counted = self.eta.mass > 0  # nothing times infinity would be no number
        mass, means, variances = self.eta.mass[counted], means[counted], variances[counted]
        mean = mass @ means
        with np.errstate(over="ignore"):
            variance = mass @ (variances + (means - mean) ** 2)
            if not self.new or self.family.observes_eta:
                return np.asarray(self.sizes**2 * variance)
            within = self.family.expected_variance(mean, variance + mean**2, self.sizes)
            return np.asarray(self.sizes**2 * variance + within)

    def _surface_cdf(self, value: FloatArray) -> FloatArray:
        link = self.family.link_function
        low, high = link.range
        inside = (value > low) & (value < high)
        eta = link.eta(np.where(inside, value, 0.5))
        # a mean that is cut off lies at the end of its range with a probability of its own
        at_low = 0.0 if link.smooth else self.eta.cdf(float(link.eta(np.array(low))))
        outside = np.where(value >= high, 1.0, np.where(value < low, 0.0, at_low))
        return np.where(inside, self.eta.cdf(eta), outside)

    def _need_new(self, name: str) -> None:
        if not self.new and not self.family.observes_eta:
            raise PartError(f"{name} was asked of a surface, which is not observed; needed is Response(..., new=True).")
