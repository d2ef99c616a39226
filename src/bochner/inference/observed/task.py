"""Task: everything that a fit is given, seen in the ways that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bochner.arrays import FloatArray, IntArray, box_of
from bochner.features import Grid, find_grid
from bochner.inference.observed import limits
from bochner.inference.observed.observations import Observations, merge_equal_rows
from bochner.inference.observed.responses import Responses, merge_equal_responses
from bochner.inference.observed.scale import scale_of
from bochner.inference.observed.settings import Domain, Settings
from bochner.kernels import Scale


@dataclass(frozen=True)
class Task:
    """What is to be learned from, and for what.

    Attributes
    ----------
    settings : Settings
    responses : Responses
        As they were given.
    data : Responses or Observations
        With equal rows merged; Gaussian ones, and those that are fitted as such, as observations.
    obs : Observations
        The same as Gaussian observations, seen from the rows' own likelihoods.
    scale : Scale
        Extent, spacing and variance of the observations.
    folds : sequence of (train, test), optional
        Rows that hyperparameters are judged by, where that was asked for.
    domain : Domain
        What the model is for.
    """

    settings: Settings
    responses: Responses
    data: Responses | Observations
    obs: Observations
    scale: Scale
    folds: Sequence[tuple[IntArray, IntArray]] | None = None
    domain: Domain = field(default_factory=Domain)

    @classmethod
    def of(
        cls,
        settings: Settings,
        responses: Responses,
        folds: Sequence[tuple[IntArray, IntArray]] | None = None,
        domain: Domain | None = None,
    ) -> Task:
        """Merge equal rows and measure the data."""
        data, obs = _distinct(responses)
        return cls(settings, responses, data, obs, scale_of(obs), folds, domain or Domain())

    def with_prior(self, trend_precision: FloatArray | None) -> Task:
        """The same with a prior of the fixed effects; None: as they are."""
        if trend_precision is None:
            return self
        obs = replace(self.obs, trend_precision=trend_precision)
        if isinstance(self.data, Observations):
            return replace(self, data=obs, obs=obs)
        return replace(self, data=replace(self.data, trend_precision=trend_precision), obs=obs)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.obs.rows.coords.shape[1]

    @property
    def gaussian(self) -> bool:
        """Whether the responses are Gaussian observations of the linear predictor."""
        return self.responses.gaussian

    @property
    def noise_of_row(self) -> float:
        """Known error variance of a typical row, beside the learned noise."""
        return float(np.median(self.obs.error)) if len(self.obs) else 0.0

    @cached_property
    def grid(self) -> Grid | None:
        """The regular grid that rows lie on, if they do: its pixels are a unit of gaps whatever places are given in."""
        return find_grid(self.responses.rows.coords)

    @property
    def ordinary(self) -> bool:
        """Whether least squares is asked for: no noise, none to be learned, and none known of the rows."""
        s = self.settings
        return self.gaussian and s.noise_variance == 0 and not s.learns and not self.obs.error.any()

    @property
    def covered_box(self) -> tuple[FloatArray, FloatArray]:
        """Box of the data and of the places to be predicted, with some room around."""
        return covered_box(self.obs.rows.coords, self.domain.predict_at)


def covered_box(coords: FloatArray, predict_at: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Box of the data and of the places to be predicted, with some room around."""
    places = coords if predict_at is None else np.concatenate([coords, predict_at])
    low, high = box_of(places)
    widest = float((high - low).max())
    side = np.where(high > low, high - low, widest if widest > 0 else 1.0)
    return low - limits.COVERED_ROOM * side, high + limits.COVERED_ROOM * side


def _distinct(responses: Responses) -> tuple[Responses | Observations, Observations]:
    """What is fitted, with equal rows merged, and the same as Gaussian observations."""
    few = len(responses) <= limits.MAX_MERGED_ROWS and not responses.rows.has_areas
    if responses.gaussian or responses.family.reweighted:
        obs = responses.observations()
        obs = merge_equal_rows(obs) if few else obs.with_weight()
        return obs, obs
    data = merge_equal_responses(responses) if few else responses.with_weight()
    seen = data.with_dispersion().linearised(data.start())
    obs = seen.observations()
    # a row without curvature has no working response of its own
    y = np.where(seen.curvature > limits.FLAT_CURVATURE, obs.y, seen.eta - data.offset)
    return data, replace(obs, y=y)
