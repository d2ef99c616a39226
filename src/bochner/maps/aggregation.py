"""Areas: means over polygons, with the uncertainty of the mean: exact, or from joint draws of the surface."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray, IntArray
from bochner.estimators import Fitted
from bochner.estimators.constructor import is_count, resources_of
from bochner.exceptions import ApproximationWarning, FallbackWarning, InputError, OutsideWarning, warn
from bochner.families.links import Link
from bochner.features import ArealRows, Rows
from bochner.geo import area_points, as_crs, checked_areas, grid_like, mask_within, raster_at, read_areas, sample_raster
from bochner.maps import limits
from bochner.maps.grids.bands import Band, make_bands
from bochner.maps.grids.inputs import Input, existing_raster
from bochner.maps.hot_places import area_names
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.maps.rows_within import rows_within
from bochner.posterior import Latent
from bochner.posterior.mixture import Alike
from bochner.posterior.response import Response
from bochner.random import generator, seed_of
from bochner.spelling import check_covariates


def aggregate(
    model: Mappable,
    areas: Any,
    *,
    weights_raster: str | os.PathLike[str] | Any = None,
    covariates: Mapping[str, Input] | None = None,
    exceed: float | Iterable[float] = (),
    level: float = 0.95,
    n_draws: int = 1_000,
    n_points: int = 300,
    random_state: Any = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """Means of the surface over areas, with sd, interval and exceedance.

    Each area is represented by up to about `n_points` points, and the law of their mean is found jointly: values at
    neighbouring points go up and down together, so the mean over an area is far less certain than independent pixels
    would have it. It is exact for Gaussian responses and the exact kernel, and comes from joint draws of the surface
    elsewhere. What four times as many points add to the mean comes from the likeliest hyperparameters.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted.
    areas : GeoDataFrame or path
        Polygons, in any CRS.
    weights_raster : raster, optional
        Weights of the mean, people per pixel, say; without, every piece of ground counts the same.
    covariates : mapping of str to raster, number or class, optional
        Every column of the model beside easting and northing.
    exceed : float or sequence of float
        Thresholds; a column with the probability that the area's mean lies above each.
    level : float, default 0.95
        Probability of the interval.
    n_draws : int, default 1000
        Joint draws, where there are any.
    n_points : int, default 300
        Points that represent an area, but for its mean.
    random_state : int, RandomState or None
        Seed of the draws.
    progress : callable, optional
        Called with the areas done and their total.

    Returns
    -------
    GeoDataFrame
        The areas with columns ``mean``, ``sd``, ``lower``, ``upper``, ``exceedance_T``, ``no_data`` (whether only the
        trend and the prior are left there), ``rows`` (training rows inside, if the model holds their places),
        ``n_points`` and ``discretisation_error`` (of the mean, estimated from two densities of points); with weights
        also ``weight`` (their sum) and ``total``, ``total_lower``, ``total_upper`` (mean times weight). NaN where a
        covariate is missing in a whole area.
    """
    areas = read_areas(areas) if isinstance(areas, (str, os.PathLike)) else checked_areas(areas)
    bands = [band for band in make_bands(exceed) if band.kind == "exceedance"]
    if not 0 < level < 1:
        raise InputError(f"level={level!r}; needed is a probability between 0 and 1, e.g. 0.95.")
    for name, count in (("n_draws", n_draws), ("n_points", n_points)):
        if not is_count(count) or count < 2:
            raise InputError(f"{name}={count!r}; needed is an integer >= 2.")
    model = mappable(model)
    model.fitted_.model.family.check_threshold([band.at for band in bands], name="the threshold (exceed)")
    check_covariates(map_layout(model).further, covariates or {})
    covariates = map_layout(model).moments(covariates or {})
    with resources_of(model).in_use():
        fitted, n_areas = model.fitted_, len(areas)
        mean_at = _Points.of(fitted, areas, limits.FINER_POINTS * n_points, weights_raster, covariates)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say has just been said
            draw_at = _Points.of(fitted, areas, n_points, weights_raster, covariates)
        out = {name: np.full(n_areas, np.nan) for name in ("sd", "lower", "upper", *(band.name for band in bands))}
        (mean, error, unsure), n_fine = np.full((3, n_areas), np.nan), mean_at.counts(n_areas)
        shaky, finer = np.zeros(n_areas, dtype=bool), _Finer.of(fitted, mean_at, draw_at)
        n_rough, n_done = draw_at.counts(n_areas), 0
        for i, areas_here in draw_at.laws(fitted, n_areas, int(n_draws), seed_of(random_state)):
            unsure[i] = areas_here.unsure
            added = np.array([finer.added(int(j), unsure[j]) for j in i])
            mean[i], error[i] = areas_here.mean + added, np.abs(added)
            for name, values in areas_here.summary(mean[i], level, bands).items():
                out[name][i] = values
            # where all pixels of the weights are there, nothing can be missed
            missed = (n_fine[i] > n_rough[i]) & (n_rough[i] >= limits.LEAST_HALVED)
            shaky[i] = missed & areas_here.half_differs() if missed.any() else False
            n_done += len(i)
            if progress is not None:
                progress(n_done, n_areas)
        if progress is not None and n_done < n_areas:  # some have no point
            progress(n_areas, n_areas)
        n_rows, blank = rows_within(model, areas), _uninformed(fitted, unsure)
        blank &= n_rows is None or n_rows == 0
        _tell(areas, mean, shaky | (error > limits.MAX_POINTS_ERROR * out["sd"]), blank)
    inside = {"no_data": blank} if n_rows is None else {"no_data": blank, "rows": n_rows}
    columns = {"mean": mean, **out, **inside, "n_points": n_rough, "discretisation_error": error}
    if weights_raster is not None:
        total = _weights(weights_raster, areas)
        totals = {"total": mean, "total_lower": out["lower"], "total_upper": out["upper"]}
        columns |= {"weight": total, **{name: value * total for name, value in totals.items()}}
    return _joined(areas, columns)


@dataclass(frozen=True)
class _Points:
    """Points that stand for areas, as rows of the model."""

    rows: Rows
    area: IntArray
    weight: FloatArray  # sums to one within each area

    @classmethod
    def of(cls, fitted: Fitted, areas: Any, n_points: int, raster: Any, covariates: Mapping[str, Input]) -> _Points:
        """Points of areas in any CRS, without those that lack a covariate."""
        own = as_crs(fitted.layout.crs)
        coords, area, weight = area_points(areas, n_points=n_points, weights_raster=raster, crs=own)
        crs = areas.crs if own is None else own
        levels = fitted.layout.levels
        classes = {name: str(one) for name, one in covariates.items() if _is_class(one, levels.get(name, ()))}
        others = {
            name: _at(name, source, coords, crs, levels.get(name))
            for name, source in covariates.items()
            if name not in classes
        }
        kept = np.all([np.isfinite(np.broadcast_to(v, len(coords))) for v in (*coords.T, *others.values())], axis=0)
        share = np.bincount(area, np.where(kept, weight, 0.0), len(areas))
        here = {name: v if np.ndim(v) == 0 else v[kept] for name, v in others.items()}
        rows = fitted.check_rows(fitted.layout.map_rows(coords[kept], {**here, **classes}))
        return cls(rows, area[kept], weight[kept] / share[area[kept]])

    def counts(self, n_areas: int) -> IntArray:
        """Number of points in each area."""
        return np.bincount(self.area, minlength=n_areas)

    def of_area(self, i: int) -> slice:
        """Where the points of an area are: areas come one after the other."""
        return slice(*(int(at) for at in np.searchsorted(self.area, [i, i + 1])))

    def laws(self, fitted: Fitted, n_areas: int, n_draws: int, seed: int) -> Iterator[tuple[IntArray, _Areas]]:
        """Numbers of areas that have points, some at a time, and the laws of their means: exact, or by joint draws."""
        if fitted.model.family.observes_eta and fitted.model.posterior.takes_areas:
            unsure, few = self._unsure(fitted, n_areas), fitted.of_heaviest(limits.FINER_SETS)
            asked, n = np.flatnonzero(self.counts(n_areas)), limits.AREAS_TOGETHER
            for some in (asked[i : i + n] for i in range(0, len(asked), n)):
                parts = [(self.rows[here], self.weight[here]) for here in map(self.of_area, some)]
                halves = [(rows[::2], weight[::2] / weight[::2].sum()) for rows, weight in parts]
                told = few.latent(_as_areas([*parts, *halves]))
                is_all = len(told.mass) == fitted.model.mixture.n_averaged
                whole = told.at(np.arange(len(some))) if is_all else fitted.latent(_as_areas(parts))
                sd, half = np.split(told.sd, 2)
                yield some, _ExactAreas(whole, unsure[some], half / np.maximum(sd, 1e-300))
            return
        alike, eta = self._alike(fitted)
        for i, seed_here in enumerate(generator(seed, "areas").integers(2**31, size=n_areas)):
            here, rng = self.of_area(i), generator(int(seed_here), "draws")
            rows, weight = self.rows[here], self.weight[here]
            if not len(rows):
                continue
            if alike is None or eta is None:
                law, draws = fitted.joint(rows, n_draws, rng)
            else:
                law = Response(fitted.model.family, eta.at(np.arange(len(self.area))[here]))
                draws = fitted.joint_alike(rows, law.eta, alike, n_draws, rng)
            yield np.array([i]), _DrawnArea(draws.T, weight, law)

    def _unsure(self, fitted: Fitted, n_areas: int) -> FloatArray:
        """Variance of the linear predictor at some points of each area, on average: of all areas at once."""
        step = np.maximum(1, self.counts(n_areas) // limits.ASKED_POINTS)[self.area]
        number = np.arange(len(self.area)) - np.searchsorted(self.area, self.area)
        some = np.flatnonzero(number % step == 0)
        area = self.area[some]
        total = np.bincount(area, fitted.latent(self.rows[some]).variance, n_areas) if len(some) else np.zeros(n_areas)
        return np.asarray(total / np.maximum(np.bincount(area, minlength=n_areas), 1))

    def _alike(self, fitted: Fitted) -> tuple[Alike | None, Latent | None]:
        """Groups of hyperparameters that correlate points of an area alike, and the law of all points, of many sets."""
        if not len(self.area):
            return None, None
        some = np.unique(self.area[np.linspace(0, len(self.area) - 1, limits.ALIKE_AREAS).astype(int)])
        alike = fitted.model.mixture.alike([self.rows[self.of_area(i)] for i in some])
        if alike is None:
            return None, None
        return alike, fitted.latent(self.rows, patches=fitted.model.mixture.patches(limits.AREA_TOLERANCE))


@dataclass(frozen=True)
class _Finer:
    """What more points add to the means over areas: by the likeliest sets of hyperparameters, for all.

    Where the link is none, what is added depends on the spread of the linear predictor, too: that of the area will do.
    """

    link: Link
    fine: tuple[_Points, FloatArray]
    rough: tuple[_Points, FloatArray]

    @classmethod
    def of(cls, fitted: Fitted, fine: _Points, rough: _Points) -> _Finer:
        few = fitted.of_heaviest(limits.FINER_SETS)
        patches = few.model.mixture.patches(limits.AREA_TOLERANCE)
        eta = few.latent(fine.rows.joined(rough.rows), spread=False, patches=patches).mean
        n = len(fine.rows)
        return cls(fitted.model.family.link_function, (fine, eta[:n]), (rough, eta[n:]))

    def added(self, i: int, variance: float) -> float:
        """Mean over the fine points of an area, less that over the rough ones."""
        means = [
            float(at.weight[here] @ self.link.moments(eta[here], np.full(len(eta[here]), variance))[0])
            for at, eta in (self.fine, self.rough)
            for here in [at.of_area(i)]
        ]
        return means[0] - means[1]


class _Areas(Protocol):
    """Laws of the means over some areas, (k,)."""

    @property
    def mean(self) -> FloatArray:
        """From the points of the laws themselves."""

    @property
    def unsure(self) -> FloatArray:
        """Variance of the linear predictor at a point of each area, on average."""

    def summary(self, mean: FloatArray, level: float, bands: Sequence[Band]) -> dict[str, FloatArray]:
        """Sd, interval and exceedances, about means that are known better."""

    def half_differs(self) -> NDArray[np.bool_]:
        """Whether every second point alone would give another sd of the mean."""


@dataclass(frozen=True)
class _ExactAreas:
    """Mixtures of Gaussians; and what their sds are multiplied by, if every second point alone stands for an area."""

    eta: Latent
    unsure: FloatArray
    by_halves: FloatArray

    @property
    def mean(self) -> FloatArray:
        return self.eta.mean

    def summary(self, mean: FloatArray, level: float, bands: Sequence[Band]) -> dict[str, FloatArray]:
        law = self.eta.shifted(mean - self.eta.mean)
        lower, upper = (law.quantile(p) for p in ((1 - level) / 2, (1 + level) / 2))
        return {"sd": law.sd, "lower": lower, "upper": upper, **{b.name: 1.0 - law.cdf(b.at) for b in bands}}

    def half_differs(self) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self.by_halves - 1) > limits.MAX_POINTS_ERROR)


@dataclass(frozen=True)
class _DrawnArea:
    """Draws of the surface at the points of an area, (n, n_draws), their weights, (n,), and the law of each point."""

    draws: FloatArray
    weight: FloatArray
    law: Response

    @cached_property
    def mean(self) -> FloatArray:
        return np.array([self.weight @ self.law.mean])

    @property
    def unsure(self) -> FloatArray:
        return np.array([self.weight @ self.law.eta.variance])

    @cached_property
    def means(self) -> FloatArray:
        """Means of the draws, (n_draws,)."""
        return np.asarray(self.weight @ self.draws)

    def summary(self, mean: FloatArray, level: float, bands: Sequence[Band]) -> dict[str, FloatArray]:
        draws = self._about(mean)
        lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        chances = {band.name: np.array([np.mean(draws > band.at)]) for band in bands}
        return {"sd": np.array([draws.std(ddof=1)]), "lower": np.array([lower]), "upper": np.array([upper]), **chances}

    def _about(self, mean: FloatArray) -> FloatArray:
        """Means of the draws; finer points move them along the link, so that none leaves what a mean can be.

        Of a Gaussian the noise that draws have in common is taken away, too. Of a skewed law it is in the few largest,
        and all others are right as they are.
        """
        draws, link = self.means, self.law.family.link_function
        if link.linear:
            return np.asarray(draws + (mean - draws.mean()))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            moved = link.mean(link.eta(draws) + (link.eta(mean) - link.eta(self.mean)))
        return np.where(np.isfinite(moved), moved, draws)

    def half_differs(self) -> NDArray[np.bool_]:
        half, sd = self.weight[::2], self.means.std(ddof=1)
        halves = half @ self.draws[::2] / half.sum()
        return np.array([abs(halves.std(ddof=1) - sd) > limits.MAX_POINTS_ERROR * sd])


def _as_areas(areas: Sequence[tuple[Rows, FloatArray]]) -> ArealRows:
    """Rows and weights of areas as means over them."""
    rows, weights = zip(*areas, strict=True)
    return ArealRows(
        np.stack([weight @ part.coords for part, weight in areas]),
        np.stack([weight @ part.trend for part, weight in areas]),
        np.concatenate([part.coords for part in rows]),
        np.repeat(np.arange(len(rows)), [len(part) for part in rows]),
        np.concatenate(weights),
    )


def _is_class(source: Input, levels: Collection[Any]) -> bool:
    """Whether an input is a class that the model knows, the same everywhere."""
    return isinstance(source, (str, os.PathLike)) and str(source) in levels


def _at(name: str, source: Input, coords: FloatArray, crs: Any, levels: Sequence[Any] | None) -> Any:
    if isinstance(source, (int, float, np.number)):
        return float(source)
    if isinstance(source, np.ndarray):
        raise InputError(f"{name} is an array, which has no places; needed is a raster file or a number.")
    if isinstance(source, (str, os.PathLike)):
        source = existing_raster(name, Path(source), levels)
    return raster_at(source, coords, crs, resampling=None if levels is None else "classes")


def _uninformed(fitted: Fitted, unsure: FloatArray) -> NDArray[np.bool_]:
    """Areas of which the data say nothing: the field there is as unsure as before."""
    kernel = fitted.model.kernel
    if not kernel.stationary:
        return np.zeros(len(unsure), dtype=bool)
    return np.asarray(unsure > limits.PRIOR_SHARE * kernel.diag(np.zeros((1, fitted.model.dim)))[0])


def _weights(raster: Any, areas: Any) -> FloatArray:
    """Sum of a raster over the pixels whose centre lies in each area; NaN if there are none."""
    grid = grid_like(raster)
    own = areas.to_crs(grid.crs)
    total = np.full(len(areas), np.nan)
    a, _, c, _, e, f = grid.transform
    for i, (left, bottom, right, top) in enumerate(own.bounds.to_numpy()):
        window = grid.whole
        if grid.is_upright:
            cols, rows = sorted(((left - c) / a, (right - c) / a)), sorted(((top - f) / e, (bottom - f) / e))
            window = (
                *(int(v) for v in np.clip([np.floor(rows[0]), np.ceil(rows[1])], 0, grid.height)),
                *(int(v) for v in np.clip([np.floor(cols[0]), np.ceil(cols[1])], 0, grid.width)),
            )  # type: ignore[assignment]
        if window[0] < window[1] and window[2] < window[3]:
            inside = mask_within(grid, own.iloc[[i]], window)
            if inside.any():
                total[i] = np.nansum(sample_raster(raster, grid, window, resampling="nearest")[inside])
    return total


def _tell(areas: Any, mean: FloatArray, coarse: NDArray[np.bool_], blank: NDArray[np.bool_]) -> None:
    missing = np.isnan(mean)
    if missing.any():
        warn(
            f"{int(missing.sum())} of {len(areas)} areas have no point with a value of every covariate "
            f"({_named(areas, missing)}): they are left empty. Give rasters that cover them.",
            FallbackWarning,
        )
    if blank.any():
        warn(
            f"{int(blank.sum())} of {len(areas)} areas lie so far from the data that only the trend and the prior are "
            f"left: {_named(areas, blank)}.",
            OutsideWarning,
        )
    if coarse.any():
        warn(
            f"the points of {int(coarse.sum())} of {len(areas)} areas are too few for what the surface does there "
            f"({_named(areas, coarse)}): mean or sd may be off by more than {limits.MAX_POINTS_ERROR:g} sd. "
            f"Raise n_points (--points).",
            ApproximationWarning,
        )


def _named(areas: Any, chosen: NDArray[np.bool_]) -> str:
    """Areas by name, or by row where they have none."""
    names = np.asarray(area_names(areas))
    some = names[chosen][:5]
    what = "rows counted from 1: " if np.issubdtype(names.dtype, np.integer) else ""
    return what + ", ".join(map(str, some)) + (", ..." if chosen.sum() > len(some) else "")


def _joined(areas: Any, columns: Mapping[str, Any]) -> Any:
    """The areas with new columns; own columns of the same name are kept under another."""
    taken = [name for name in areas.columns if name in columns]
    if taken:
        warn(
            f"the areas have columns {taken} already; those are kept as {[f'{name}_given' for name in taken]}.",
            FallbackWarning,
        )
        areas = areas.rename(columns={name: f"{name}_given" for name in taken})
    return areas.assign(**{name: np.asarray(values) for name, values in columns.items()})
