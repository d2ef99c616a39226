"""Task: everything that a fit is given, seen in the ways that it needs, and its sizes: extent, spacing, variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray, box_of
from bochner.exceptions import InputError
from bochner.features import Grid, find_grid
from bochner.inference.observed.observations import Observations, merge_equal_rows
from bochner.inference.observed.responses import FLAT_CURVATURE, Responses, merge_equal_responses
from bochner.inference.observed.settings import Domain, Settings
from bochner.kernels import Kernel, Scale, axis_groups
from bochner.neighbours.replicates import groups
from bochner.random import generator
from bochner.resources import n_threads


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
    room = 0.15 * side  # kept free on every side, for places outside the data
    return low - room, high + room


def _distinct(responses: Responses) -> tuple[Responses | Observations, Observations]:
    """What is fitted, with equal rows merged, and the same as Gaussian observations."""
    # to sort more costs more than it saves
    few = len(responses) <= 50_000 and not responses.rows.has_areas
    if responses.gaussian or responses.family.reweighted:
        obs = responses.observations()
        obs = merge_equal_rows(obs) if few else obs.with_weight()
        return obs, obs
    data = merge_equal_responses(responses) if few else responses.with_weight()
    seen = data.with_dispersion().linearised(data.start())
    obs = seen.observations()
    # a row without curvature has no working response of its own
    y = np.where(seen.curvature > FLAT_CURVATURE, obs.y, seen.eta - data.offset)
    return data, replace(obs, y=y)


def scale_of(obs: Observations, most: int = 100_000) -> Scale:
    """Sizes of the observed places and responses; copies and weights make no difference to the places.

    The spacing is that of about `most` rows.
    """
    coords = obs.rows.coords
    low, high = box_of(coords)
    extent = high - low
    fill = extent.max() if extent.max() > 0 else 1.0
    extent = np.where(extent > 0, extent, fill)
    every = max(1, len(coords) // most)
    # of every k-th row the nearest other is farther away, by the k-th part of the space
    thinned = every ** (-1 / len(extent))
    some = coords[::every]
    spacing = _spacing(some[groups(some)[0]] / extent) * thinned
    return Scale(extent, spacing, variance_about_trend(obs), float(np.median(obs.error)))


def unit_of(responses: Responses) -> float:
    """Unit of responses so tiny or huge that squares of squares leave the range of doubles: a power of two; else 1."""
    kept = responses.weight > 0
    if not responses.family.additive or not kept.any():
        return 1.0
    size = float(np.max(np.abs(responses.y - responses.offset)[kept]))
    if size == 0 or 1e-50 < size < 1e50:
        return 1.0
    if not 1e-151 < size < 1e151:  # the variance, and a noise far below it, are doubles
        raise InputError(
            f"y scatters by {size:.1g} about its level: no double can hold the variance of that. Give y in another "
            f"unit: divide it by {size:.0e}."
        )
    return float(2.0 ** np.round(np.log2(size)))


def spacing_units(kernel: Kernel, coords: FloatArray) -> FloatArray | None:
    """Unit of each axis in which rows lie equally apart, where the kernel measures axes apart (space and time).

    Each group of axes gets cells in proportion to its distinct places, as many in all as there are rows.
    """
    n, dim = coords.shape
    groups = axis_groups(kernel, dim)
    if len(groups) < 2:
        return None
    counts = [len(np.unique(coords[:, list(g)], axis=0)) for g in groups]
    power = np.log(n) / max(float(np.sum(np.log(counts))), 1e-9)
    unit = np.maximum(np.ptp(coords, axis=0), 1e-300)
    for group, count in zip(groups, counts, strict=True):
        unit[list(group)] = np.max(unit[list(group)]) * float(count) ** (-power / len(group))
    return unit


def _spacing(unit_places: FloatArray) -> float:
    n, dim = unit_places.shape
    if n < 2:
        return 0.1
    asked = unit_places
    if dim > 5 and n > 500:  # a tree hardly helps there (in 16 dimensions 10,000 searches took 4 s): some rows tell
        asked = unit_places[generator(0, "spaced rows").choice(n, 500, replace=False)]
    nearest = cKDTree(unit_places).query(asked, k=2, workers=n_threads())[0][:, 1]
    typical = float(np.median(nearest))
    # clusters of near-duplicates must not push the bound to nothing
    return float(np.clip(typical, 1e-3 * n ** (-1 / dim), 0.5))


def crowding(coords: FloatArray, weight: FloatArray) -> float:
    """How much more often two rows share a small cell of the box than if they were spread evenly; at least 1."""
    dim = coords.shape[1]
    side = max(int(2_500 ** (1 / dim)), 1)  # 2,500 cells
    low, high = box_of(coords)
    unit = (coords - low) / np.where(high > low, high - low, 1.0)
    cell = np.ravel_multi_index(tuple(np.minimum((unit * side).astype(int), side - 1).T), (side,) * dim)
    share = np.bincount(cell, weight) / max(float(weight.sum()), 1e-300)
    alone = float(np.sum(weight**2)) / max(float(weight.sum()) ** 2, 1e-300)
    return float(max(1.0, (np.sum(share**2) - alone) * side**dim))


def residual_of(obs: Observations) -> FloatArray:
    """Responses without the trend that fits them best."""
    X, y, w = obs.rows.trend, obs.y, obs.weight
    if not X.shape[1]:
        return y
    weighted = X * w[:, None]
    coef = np.linalg.lstsq(weighted.T @ X, weighted.T @ y, rcond=None)[0]
    return np.asarray(y - X @ coef)


def variance_about_trend(obs: Observations) -> float:
    """Of the responses, copies counted."""
    return float((np.sum(obs.weight * residual_of(obs) ** 2) + obs.scatter.sum()) / obs.total)
