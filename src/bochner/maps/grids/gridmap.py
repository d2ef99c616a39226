"""GridMap: the map of a model on a grid, computed window by window in bounded memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.estimators.constructor import resources_of
from bochner.exceptions import ApproximationWarning, InputError, OutsideWarning, warn
from bochner.geo import RasterGrid, Window, areas_bounds, mask_within, sample_raster
from bochner.geo.grids import box_text
from bochner.layout.sizes import checked_size
from bochner.maps import limits
from bochner.maps.grids.band_surface import BandSurface, band_errors
from bochner.maps.grids.bands import Band, band_values, make_bands, observed_values
from bochner.maps.grids.extent import why_far
from bochner.maps.grids.inputs import SIZES, Input, Inputs, Known
from bochner.maps.grids.latent_surface import learn_surface
from bochner.maps.grids.pixels import Pixels
from bochner.maps.grids.polygons import polygons_in
from bochner.maps.grids.surface import Surface
from bochner.maps.grids.tally import Tally
from bochner.maps.grids.tiles import Interpolation
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.posterior import Patches
from bochner.random import generator
from bochner.resources import memory_bytes
from bochner.spelling import check_covariates

Mask = NDArray[np.bool_]


class GridMap:
    """The map of a fitted model on a grid.

    Parameters are those of `predict_on_grid`. Nothing is computed before `compute` or `windows` is called.
    """

    def __init__(
        self,
        model: Mappable,
        grid: RasterGrid,
        *,
        covariates: Mapping[str, Input] | None = None,
        within: Any = None,
        exceed: float | Iterable[float] = (),
        quantiles: float | Iterable[float] = (),
        include_noise: bool = False,
        trials: Input | None = None,
        exposure: Input | None = None,
        offset: Input | None = None,
        observed: Any = None,
        tolerance: float | None = 1e-3,
        memory_limit: int | str | None = None,
    ) -> None:
        self.model = mappable(model)
        self.fitted, self.grid = self.model.fitted_, grid
        self.bands: tuple[Band, ...] = make_bands(exceed, quantiles, include_noise=include_noise)
        self.pixels = Pixels(self.fitted, grid, bool(include_noise))
        layout = map_layout(self.model)
        check_covariates(layout.further, covariates or {})
        covariates = layout.moments(covariates or {})
        extra = {"trials": trials, "exposure": exposure, "offset": offset}
        given = {name: value for name, value in extra.items() if value is not None}
        clash = sorted(set(given) & set(covariates or {}))
        if clash:
            raise InputError(f"{clash[0]!r} is a covariate of the model as well as an option; rename the covariate.")
        self.inputs = Inputs.of(grid, {**(covariates or {}), **given}, layout.levels)
        self._check_size({name: self.inputs.fixed.get(name, 1.0) for name in given})
        self._check_thresholds([name for name in given if name != "offset"])
        self.areas = polygons_in(within, grid.crs)
        self.observed = _values_on(grid, observed) if isinstance(observed, np.ndarray) else observed
        self.tolerance = tolerance
        self.memory = memory_bytes(memory_limit) or limits.WINDOW_BYTES
        self.tally = Tally()
        self._rng = generator(0, "verified pixels")
        self._told: set[str] = set()
        self._surface: Surface | None = None
        self._interpolation: Interpolation | None = None
        self._patches: Patches | None = None
        self._tried = False

    # ----------------------------------------------------------------------------- windows

    @property
    def window_list(self) -> list[Window]:
        """Windows that tile the grid, square where they can be."""
        side = self._side()
        height, width = self.grid.shape
        return [
            (row, min(row + side, height), col, min(col + side, width))
            for row in range(0, height, side)
            for col in range(0, width, side)
        ]

    def windows(self) -> Iterator[tuple[Window, FloatArray]]:
        """Windows with their bands, one after the other."""
        self.begin()
        for window in self.window_list:
            yield window, self.compute(window)
        self.finish()

    def begin(self) -> None:
        """Warn of what is wrong with the map as a whole, before the first window."""
        self._warn_of_distance()

    def finish(self) -> None:
        """Refuse an empty map, and warn of errors, after the last window."""
        self._refuse_nothing()
        self._warn_of_error()

    def whole(self) -> FloatArray:
        """Bands (k, height, width) of the whole grid, in memory."""
        bands = np.empty((len(self.bands), *self.grid.shape))
        for (row0, row1, col0, col1), values in self.windows():
            bands[:, row0:row1, col0:col1] = values
        return bands

    @property
    def memory_bytes(self) -> int:
        """Bytes that computing a window takes, about."""
        side = min(self._side(), max(self.grid.shape))
        return self._pixel_bytes() * side**2 + limits.PLACES_AT_ONCE * 8 * 40

    def compute(self, window: Window) -> FloatArray:
        """Bands (k, height, width) of a window; NaN where there is no prediction."""
        # nothing is carried over from other windows: a map that is resumed, or shared out, has the same pixels
        self._rng = generator(0, "verified pixels")
        self._surface, self._interpolation, self._patches, self._tried = None, None, None, False
        with resources_of(self.model).in_use(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bands = self._compute(window)
        self._pass_on(caught)
        return bands

    def _compute(self, window: Window) -> FloatArray:
        shape = window[1] - window[0], window[3] - window[2]
        out = np.full((len(self.bands), *shape), np.nan)
        wanted = np.ones(shape, dtype=bool) if self.areas is None else mask_within(self.grid, self.areas, window)
        self.tally.n_outside += int((~wanted).sum())
        kept = self._keep_observed(window, wanted, out)
        wanted &= ~kept
        layers = self.inputs.read(window) if wanted.any() else {}
        for name, layer in layers.items():
            # no trials, no exposure: nothing to predict
            lacking = wanted & ~(layer > 0 if name in SIZES else np.isfinite(layer))
            self.tally.n_missing += int(lacking.sum())
            wanted &= ~lacking
        if wanted.any():
            self.tally.n_predicted += int(wanted.sum())
            self._check_size({name: layers[name][wanted] for name in SIZES if name in layers})
            self._prepare(window, wanted, layers)
            before = self._count()
            out[:, wanted] = self._predict(window, wanted, layers)
            if self._count() > before:
                self._verify(window, wanted, layers, out)
        return out

    # --------------------------------------------------------------------------- prediction

    def _predict(self, window: Window, wanted: Mask, layers: Mapping[str, FloatArray]) -> FloatArray:
        """Bands (k, n) of the wanted pixels."""
        if self._interpolation is None or self._surface is None:
            rows, cols = np.nonzero(wanted)
            out = self._direct(window, rows, cols, layers, self._patches).T
            if self._patches is not None:
                self.tally.n_evaluated += self._patches.n_evaluated
                self.tally.n_interpolated += self._patches.n_patched
            return out
        values = self._interpolation.fill(window, wanted)[:, wanted]
        self.tally.n_evaluated += self._interpolation.n_evaluated
        self.tally.n_interpolated += self._interpolation.n_interpolated
        return self._surface.to_bands(values, {name: layer[wanted] for name, layer in layers.items()})

    def _direct(
        self,
        window: Window,
        rows: NDArray[np.intp],
        cols: NDArray[np.intp],
        layers: Mapping[str, FloatArray],
        patches: Patches | None = None,
    ) -> FloatArray:
        """Bands (n, k) of some pixels of a window, from the model itself."""
        out = np.full((len(rows), len(self.bands)), np.nan)
        for i in (slice(start, start + limits.PLACES_AT_ONCE) for start in range(0, len(rows), limits.PLACES_AT_ONCE)):
            coords = self.pixels.coords(rows[i] + window[0], cols[i] + window[2])
            valid = np.isfinite(coords).all(axis=1)
            if not valid.any():
                continue
            here = {name: layer[rows[i], cols[i]][valid] for name, layer in layers.items()}
            law = self.pixels.law(coords[valid], {**self.inputs.fixed, **here}, patches)
            out[i][valid] = band_values(self.bands, law)
        return out

    def _prepare(self, window: Window, wanted: Mask, layers: Mapping[str, FloatArray]) -> None:
        """Choose, at the first window with pixels, what is interpolated.

        Covariances with the rows, where the model is exact; else bands, linear predictor, or nothing.
        """
        if self._tried or self.tolerance is None:
            return
        self._tried = True
        self._patches = self.fitted.model.mixture.patches(self.tolerance)
        if self._patches is not None or self.inputs.has_classes:
            return
        fixed = self.inputs.fixed
        if not self._through_latent:
            self._surface = BandSurface(self.pixels, self.bands, fixed, self.tolerance)
        else:
            rows, cols = np.nonzero(wanted)
            chosen = self._rng.choice(len(rows), min(len(rows), limits.INPUT_PIXELS), replace=False)
            coords = self.pixels.coords(rows[chosen] + window[0], cols[chosen] + window[2])
            columns = {name: layers[name][wanted][chosen] for name in self._varying}
            self._surface = learn_surface(self.pixels, self.bands, coords, columns, fixed, self.tolerance)
        if self._surface is not None:
            typical = {name: float(np.median(layer[wanted])) for name, layer in layers.items()}
            largest = int(min(limits.MAX_TILE_REACHES * self.pixels.reach({**fixed, **typical}), 1 << 20))
            surface = self._surface
            self._interpolation = Interpolation(surface.values, surface.errors, surface.n_values, largest)

    @property
    def _through_latent(self) -> bool:
        """Whether the linear predictor is interpolated: for inputs of every pixel, and where bands follow cheaply.

        It is smoother than quantiles and probabilities are, so that fewer evaluations do.
        """
        model, kinds = self.fitted.model, {band.kind for band in self.bands}
        closed = model.family.link_function.closed_moments and "quantile" not in kinds
        cheap = len(model.mixture.mass) == 1 or closed
        counts = self.pixels.new and not model.family.observes_eta
        return bool(self.inputs.layers) or (len(kinds) > 2 and cheap and not counts)

    @property
    def _varying(self) -> list[str]:
        """Columns of the model that differ from pixel to pixel, in its order."""
        return [name for name in self.fitted.layout.further if name in self.inputs.layers]

    def _check_size(self, known: Known) -> None:
        """Refuse trials or exposure that the family cannot count out of."""
        n = max((np.size(value) for value in known.values()), default=1)
        checked_size(self.fitted.model.family, n, known.get("trials"), known.get("exposure"))

    def _check_thresholds(self, sizes: list[str]) -> None:
        """Refuse thresholds that no pixel can exceed, or all must; trials of a raster are not known beforehand."""
        largest = self.inputs.fixed.get(sizes[0], np.inf) if sizes else None
        limits_asked = [band.at for band in self.bands if band.kind == "exceedance"]
        self.fitted.model.family.check_threshold(limits_asked, largest, "the threshold (exceed)")

    # ------------------------------------------------------------------------ checks, notes

    def _verify(self, window: Window, wanted: Mask, layers: Mapping[str, FloatArray], out: FloatArray) -> None:
        rows, cols = np.nonzero(wanted)
        chosen = self._rng.choice(len(rows), min(len(rows), limits.VERIFIED_PIXELS), replace=False)
        true = self._direct(window, rows[chosen], cols[chosen], layers)
        error = band_errors(self.bands, out[:, rows[chosen], cols[chosen]].T, true)
        error = error[np.isfinite(error)]
        self.tally.n_verified += len(error)
        self.tally.worst_error = max(self.tally.worst_error, float(error.max(initial=0.0)))

    def _warn_of_distance(self) -> None:
        rows, cols = (axis.ravel() for axis in np.meshgrid(*(np.linspace(0, n - 1, 50) for n in self.grid.shape)))
        coords = self.pixels.coords(rows, cols)
        told = why_far(self.model, coords[np.isfinite(coords).all(axis=1)])
        if told is not None:
            warn(told, OutsideWarning)

    def _refuse_nothing(self) -> None:
        """Refuse a map on which there is nothing to see."""
        if self.tally.n_predicted or self.tally.n_observed:
            return
        where = f"it covers {box_text(self.grid.bounds)}"
        if self.tally.n_outside == self.grid.n_pixels:
            raise InputError(
                f"no pixel of the map lies within the polygons: {where}, they cover "
                f"{box_text(areas_bounds(self.areas))}; check the CRS of both, or take smaller pixels."
            )
        layers = ", ".join(f"{name!r}" for name in self.inputs.layers)
        raise InputError(
            f"no pixel of the map has a value of {layers}: {where}; give rasters that cover it, and check their CRS."
        )

    def _warn_of_error(self) -> None:
        if self.tolerance is not None and self.tally.worst_error > 3 * self.tolerance:
            warn(
                f"interpolation between pixels erred by {self.tally.worst_error:.1e} sd, tolerance {self.tolerance:g}; "
                f"pass tolerance=None to compute every pixel.",
                ApproximationWarning,
            )

    def _count(self) -> int:
        if self._patches is not None:
            return self._patches.n_patched
        return 0 if self._interpolation is None else self._interpolation.n_interpolated

    def _keep_observed(self, window: Window, wanted: Mask, out: FloatArray) -> Mask:
        """Write observed values into the bands; returns where they are."""
        if self.observed is None:
            return np.zeros_like(wanted)
        row0, row1, col0, col1 = window
        given = self.observed
        values = (
            given[row0:row1, col0:col1]
            if isinstance(given, np.ndarray)
            else sample_raster(given, self.grid, window, resampling="nearest")
        )
        kept = wanted & np.isfinite(values)
        out[:, kept] = observed_values(self.bands, values[kept])
        self.tally.n_observed += int(kept.sum())
        return kept

    def _pass_on(self, caught: list[warnings.WarningMessage]) -> None:
        """Raise each kind of warning once for the whole map, not once per window."""
        for one in caught:
            text = str(one.message)
            if issubclass(one.category, OutsideWarning):  # its counts are of places that were evaluated, not of pixels
                text = f"some places of the map lie outside {self.fitted.model.posterior.beyond}"
            key = re.sub(r"\d", "", text)
            if key not in self._told:
                self._told.add(key)
                warnings.warn_explicit(text, one.category, one.filename, one.lineno)

    def _side(self) -> int:
        fits = [side for side in limits.WINDOW_SIDES if side**2 * self._pixel_bytes() <= 0.6 * self.memory]
        return fits[0] if fits else limits.WINDOW_SIDES[-1]

    def _pixel_bytes(self) -> int:
        components = len(self.fitted.model.mixture.mass)
        latent = components * (2 + len(self._varying)) if self._through_latent else len(self.bands)
        return 8 * (3 * latent + 3 * len(self.bands) + 2 * len(self.inputs.layers) + 4)


def _values_on(grid: RasterGrid, values: NDArray[Any]) -> FloatArray:
    if values.shape != grid.shape:
        raise InputError(f"observed has shape {values.shape}; needed is that of the grid, {grid.shape}.")
    return np.asarray(values, dtype=np.float64)
