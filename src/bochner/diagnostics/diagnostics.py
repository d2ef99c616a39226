"""Diagnostics: what a fitted model can show of itself without its training rows.

Everything here is a summary over many rows. No place and no response of a single row can be read from it, so it may
travel in the model file and be shown to readers who must not see the survey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.diagnostics import limits
from bochner.diagnostics.held_out_calibration import Calibration
from bochner.diagnostics.holding_out import hold_out
from bochner.diagnostics.region import Region, region_of
from bochner.diagnostics.variogram import Variogram, empirical_variogram
from bochner.estimators import SpatialRegressor
from bochner.exceptions import ArchiveError, InputError
from bochner.inference import Model, Responses
from bochner.kernels import Kernel
from bochner.layout import Layout
from bochner.layout.limits import MAX_EXTENT
from bochner.random import generator
from bochner.validation import Reliability

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Summary:
    """One column of the training table: mean, sd and the quantiles at 5, 25, 50, 75 and 95 %."""

    mean: float
    sd: float
    quantiles: tuple[float, ...]

    @classmethod
    def of(cls, values: FloatArray) -> Summary:
        return cls(float(np.mean(values)), float(np.std(values)), tuple(np.quantile(values, QUANTILES).tolist()))

    def is_of(self, values: FloatArray) -> bool:
        """Whether it could be the summary of these numbers, in any order."""
        size = max(self.sd, 1e-9 * abs(self.mean), 1e-300)
        return bool(
            abs(np.mean(values) - self.mean) < limits.SAME_SUMMARY * size
            and abs(np.std(values) - self.sd) < limits.SAME_SUMMARY * size
        )


@dataclass(frozen=True)
class Diagnostics:
    """Summaries of the data of a fitted model, and of how well it predicts them.

    Attributes
    ----------
    n_rows : int
        Training rows that count.
    region : Region
        Where they lie, coarsely.
    response : Summary
        The response, on the scale of `SpatialRegressor.predict`.
    coordinates, covariates : mapping of str to Summary
        Columns of the table by name.
    variogram : Variogram or None
        Of the response about its trend; None where there are too few pairs.
    distance_unit : str
        Unit of the kernel's length scales, and of the variogram's distances unless it has its own: "km", or "" for that
        of the coordinates.
    held_out : tuple of Calibration
        Cross-validation without refit: leave one out, then blocks.
    """

    n_rows: int
    region: Region
    response: Summary
    coordinates: Mapping[str, Summary]
    covariates: Mapping[str, Summary]
    variogram: Variogram | None
    distance_unit: str
    held_out: tuple[Calibration, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values: what JSON and the model file can hold."""
        return _plain(asdict(self))

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Diagnostics:
        """Back from `as_dict`."""
        return cls(
            n_rows=int(state["n_rows"]),
            region=_built(Region, state["region"]),
            response=_built(Summary, state["response"]),
            coordinates={name: _built(Summary, s) for name, s in state["coordinates"].items()},
            covariates={name: _built(Summary, s) for name, s in state["covariates"].items()},
            variogram=None if state["variogram"] is None else _built(Variogram, state["variogram"]),
            distance_unit=str(state["distance_unit"]),
            held_out=tuple(
                _built(
                    Calibration,
                    {**c, "reliability": Reliability(**{k: np.array(v) for k, v in c["reliability"].items()})},
                )
                for c in state["held_out"]
            ),
        )

    @property
    def covariate_means(self) -> dict[str, float]:
        """Covariates at which a map is drawn when nothing else is known of them."""
        return {name: summary.mean for name, summary in self.covariates.items()}

    def are_of(self, coords: FloatArray, response: FloatArray) -> bool:
        """Whether these are the training rows, in any order."""
        return (
            len(response) == self.n_rows
            and self.response.is_of(response)
            and all(s.is_of(c) for s, c in zip(self.coordinates.values(), coords.T, strict=True))
        )


def diagnose(model: SpatialRegressor, *, coords: FloatArray | None = None) -> Diagnostics:
    """Summaries of a model that still has its training rows; a few seconds at most.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted in this session (to rows that were read in parts: a sample of them is summarised, and none is held out);
        a loaded model has no rows, but may carry the diagnostics of when it was saved.
    coords : array of shape (n, dim), optional
        Coordinates of the training rows as the user has them; by default they are brought back from the model.
    """
    if not model.has_training and not model.has_sample:
        raise InputError(
            "diagnostics need the training rows, which this model does not hold (it was loaded from a file); fit it "
            "again, and save it: the file then carries them."
        )
    responses = model.training_responses() if model.has_training else model.sample_responses()
    layout = model.fitted_.layout
    kept = np.flatnonzero(responses.weight > 0)
    rows = responses[kept]
    places = layout.coords(rows.rows.coords) if coords is None else np.asarray(coords)[kept]
    columns, unit = layout.columns, layout.placement.unit
    covariates = layout.covariates(rows.rows)
    return Diagnostics(
        n_rows=len(rows),
        region=region_of(places, columns.coord_names, layout.placement, layout.crs),
        response=Summary.of(rows.y / rows.size),
        coordinates=dict(zip(columns.coord_names, map(Summary.of, places.T), strict=True)),
        covariates=dict(zip(columns.covariate_names, map(Summary.of, covariates.T), strict=True)),
        variogram=_variogram(model.fitted_.model, responses, layout),
        distance_unit=unit,
        held_out=hold_out(model, unit) if model.has_training else (),
    )


def diagnostics_of(model: SpatialRegressor) -> Diagnostics | None:
    """Diagnostics that a model carries, or new ones if it has its rows; None if it has neither."""
    carried = model.fitted_.diagnostics
    if carried is not None:
        return _trusted(carried)
    return diagnose(model) if model.has_training or model.has_sample else None


def _trusted(carried: Mapping[str, Any]) -> Diagnostics:
    """Diagnostics of a file, which may hold anything."""
    try:
        found = Diagnostics.from_dict(carried)
        corners = np.array([found.region.low, found.region.high, found.region.middle], dtype=float)
        known = type(found.n_rows) is int and np.all(np.abs(corners) <= MAX_EXTENT) and _are_text(found.region)
    except Exception as error:
        raise ArchiveError(
            f"the model carries summaries of its rows that are damaged ({error!r}); fit it again."
        ) from error
    if not known:
        raise ArchiveError("the model's summaries of its rows are no summaries; fit it again.")
    return found


def _are_text(region: Region) -> bool:
    return len(region.names) == region.dim and all(isinstance(part, str) for part in (*region.names, *region.mask))


def remember(model: SpatialRegressor) -> None:
    """Let a model carry its diagnostics: summaries that a report and a map need, none of the rows themselves."""
    if model.fitted_.diagnostics is None:
        model.set_fitted(replace(model.fitted_, diagnostics=diagnose(model).as_dict()))


def directions_of(dim: int, axes: Sequence[int] | None = None) -> FloatArray:
    """Unit vectors (64, dim) in all directions, or in those of some axes."""
    directions = generator(0, "directions").normal(size=(64, dim))
    if axes is not None:
        directions[:, [j for j in range(dim) if j not in axes]] = 0.0
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def correlation_range(kernel: Kernel, dim: int, level: float = 0.05, axes: Sequence[int] | None = None) -> float | None:
    """Distance at which the correlation falls to a level, in its farthest direction, or the farthest of some axes.

    None if it never does.
    """
    directions = directions_of(dim, axes)
    variance = float(kernel.at(np.zeros((1, dim)))[0])
    low, high = 0.0, 1.0

    def correlated(distance: float) -> bool:
        return bool(np.max(kernel.at(distance * directions)) > level * variance)

    while correlated(high):
        low, high = high, 2 * high
        if high > 1e12:
            return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if correlated(middle) else (low, middle)
    return high


# ------------------------------------------------------------------------------ training rows


def _variogram(model: Model, responses: Responses, layout: Layout) -> Variogram | None:
    """Variogram about the trend, with an envelope of what the model would draw.

    Of the response of a Gaussian model; of the working response, on the scale of the link, of another. Distances are
    those in which blocks are told.
    """
    _, obs = model.working(responses)
    mixture, kernel, coords = model.mixture, model.kernel, obs.rows.coords
    beta = sum(p * c.trend_coef for p, c in zip(mixture.mass, mixture.components, strict=True))
    along = layout.blocks(coords)
    diagonal = float(np.linalg.norm(np.ptp(along.of(coords), axis=0)))
    if diagonal == 0:
        return None
    reach = correlation_range(kernel, coords.shape[1], axes=along.axes) if kernel.stationary else None
    farthest = float(np.clip(1.6 * (reach or np.inf), 0.1 * diagonal, 0.5 * diagonal))
    noise = obs.copy_variance(model.noise_variance)

    def draw(places: FloatArray, n_draws: int, rng: Generator) -> FloatArray:
        variance = noise + 1e-9 * float(kernel.at(np.zeros((1, places.shape[1])))[0])
        root = np.linalg.cholesky(kernel(places) + np.diag(variance))
        return np.asarray(rng.standard_normal((n_draws, len(places))) @ root.T)

    residual = obs.y - obs.rows.trend @ beta
    envelope = draw if kernel.stationary else None
    found = empirical_variogram(
        coords, residual, farthest, generator(0, "variogram"), envelope, along.axes, along.beside
    )
    if found is None:
        return None
    unit = "" if along.unit == layout.placement.unit else along.unit
    return replace(found, noise=float(np.mean(noise)), unit=unit)


# ------------------------------------------------------------------------------ plain values


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _built(kind: Any, state: Mapping[str, Any]) -> Any:
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in state.items()})
