"""Distribution: the predictive law at some rows, asked for whatever is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators.constructor import is_count
from bochner.estimators.fitted import Fitted
from bochner.exceptions import InputError
from bochner.features import Rows
from bochner.posterior.response import Response
from bochner.random import generator, seed_of


@dataclass(frozen=True)
class Distribution:
    """Law of a surface, or of new observations, at n rows; `SpatialRegressor.predict_distribution` makes it.

    Everything is on the scale of the response: a prevalence or rate, or a count where trials or exposure were given.
    Nothing is computed before it is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpatialRegressor
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> model = SpatialRegressor().fit(X, np.sin(6 * X[:, 0]))
    >>> law = model.predict_distribution(X[:3], include_noise=True)
    >>> law.interval(0.9).shape
    (3, 2)
    """

    fitted: Fitted
    rows: Rows
    offset: FloatArray
    size: FloatArray | None = None
    new: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def law(self) -> Response:
        """Law of each row for itself."""
        return self.fitted.law(self.rows, offset=self.offset, size=self.size, new=self.new)

    @property
    def mean(self) -> FloatArray:
        """Mean, (n,)."""
        if "law" in self.__dict__ or not self.fitted.model.family.link_function.linear:
            return self.law.mean
        return self.fitted.law(self.rows, offset=self.offset, size=self.size, new=self.new, spread=False).mean

    @property
    def variance(self) -> FloatArray:
        """Variance, (n,)."""
        return self.law.variance

    @property
    def sd(self) -> FloatArray:
        """Standard deviation, (n,)."""
        return self.law.sd

    @property
    def covariance(self) -> FloatArray:
        """Joint covariance, (n, n): exact for Gaussian responses, else from 2,000 draws."""
        rng = generator(0, "draws")
        return self.fitted.covariance(self.rows, rng, offset=self.offset, size=self.size, new=self.new)

    def cdf(self, value: Any) -> FloatArray:
        """Probability (n,) of not more than a value, or one value per row."""
        return self.law.cdf(np.asarray(value, dtype=np.float64))

    def exceedance(self, threshold: Any) -> FloatArray:
        """Probability (n,) of more than a threshold, or one threshold per row; it must be one that can be exceeded."""
        limit = np.asarray(threshold, dtype=np.float64)
        self.fitted.model.family.check_threshold(limit, self.size)
        return self.law.exceedance(limit)

    def quantile(self, q: float) -> FloatArray:
        """Quantile (n,) at a probability."""
        return self.law.quantile(float(q))

    def interval(self, level: float = 0.95) -> FloatArray:
        """Central interval (n, 2) of a probability."""
        if not _is_probability(level):
            raise InputError(f"level={level!r}; needed is a probability between 0 and 1, e.g. 0.95.")
        tail = round((1 - level) / 2, 15) or (1 - level) / 2  # 0.05 of level 0.9, not the float before it
        return np.column_stack([self.quantile(tail), self.quantile(1 - tail)])

    def log_density(self, y: Any) -> FloatArray:
        """Log density (n,), or log probability of counts, of new observations; needs ``include_noise=True``."""
        return self.law.log_density(np.asarray(y, dtype=np.float64))

    def crps(self, y: Any) -> FloatArray:
        """Continuous ranked probability score (n,) of new observations; needs ``include_noise=True``."""
        return self.law.crps(np.asarray(y, dtype=np.float64))

    def sample(self, n_samples: int = 1, random_state: Any = 0) -> FloatArray:
        """Joint draws (n, n_samples)."""
        if not is_count(n_samples):
            raise InputError(f"n_samples={n_samples!r}; needed is an integer >= 1.")
        rng = generator(seed_of(random_state), "draws")
        draws = self.fitted.draws(self.rows, int(n_samples), rng, offset=self.offset, size=self.size, new=self.new)
        return draws.T

    draws = sample


def _is_probability(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and 0 < float(value) < 1
