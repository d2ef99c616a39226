"""Map figure: mean, standard deviation and exceedance side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import RasterGrid, is_geoframe, is_geographic, transform
from bochner.geo.crs import is_projected, km_per_unit
from bochner.geo.earth import km_per_degree
from bochner.geo.world import outlines_in
from bochner.layout import Layout
from bochner.layout.geography import centres
from bochner.maps import limits
from bochner.maps.grids.bands import Band
from bochner.maps.grids.extent import make_grid
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.polygons import polygons_in
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.maps.plots.style import CHANCE, GREY, INK, MEAN, SPREAD, panels, styled


@styled
def plot_map(
    model: Mappable,
    resolution: Any = None,
    *,
    like: Any = None,
    within: Any = None,
    bounds: Sequence[float] | None = None,
    data: Any = None,
    values: Any = None,
    bands: Iterable[str] | None = None,
    label: str = "",
    title: str = "",
    percent: bool = False,
    axes: Any = None,
    **options: Any,
) -> Any:
    """Maps of the mean and its standard deviation, and of exceedance where a threshold is given.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted.
    resolution, like, within, bounds
        Where, as in `predict_grid`; by default 200 pixels along the longer side of the data.
    data : table or array, optional
        Observed places, drawn as dots: with `values` in the colours of the mean, else black.
    values : array of shape (n,), optional
        What was observed there, on the scale of the mean.
    bands : names, optional
        Panels to draw, e.g. ``["mean", "sd"]``; default all.
    label : str
        Response and its unit, beside the colour bars: ``"prevalence"``, ``"temperature (K)"``.
    title : str
        Heading of the figure.
    percent : bool
        Tell shares, a prevalence say, in per cent.
    axes : Axes, optional
        One for each panel; default: a new figure.
    options
        Further options of `predict_grid`: `covariates`, `exceed`, `include_noise`, ...; `tolerance` is 0.01 standard
        deviations, which no colour shows.

    Returns
    -------
    Figure
    """
    model = mappable(model)
    grid = make_grid(model, resolution, like=like, within=within, bounds=bounds)
    if not grid.is_upright:
        raise InputError("the grid is rotated; plot a grid that runs along the axes: give resolution or bounds.")
    work = GridMap(model, grid, within=within, **{"tolerance": limits.FIGURE_TOLERANCE, **options})
    layers = work.whole()
    chosen = _chosen(work.bands, bands)
    unit = _unit(grid)
    left, bottom, right, top = (v * unit for v in grid.bounds)
    shape = (top - bottom) / (right - left) * _aspect(grid)
    figure, made = panels(len(chosen), width=4.6, height=float(np.clip(3.8 * shape, 2.2, 7.0)) + 0.5, axes=axes)
    outline = polygons_in(within, grid.crs)
    places = None if data is None else _places(map_layout(model), data, grid.crs) * unit
    for ax, i in zip(made, chosen, strict=True):
        _panel(ax, work.bands[i], _facing_up(layers[i], grid), (left, right, bottom, top), label, places, values)
        ax.set_aspect(_aspect(grid))
        _name_axes(ax, grid)
        if percent:
            _in_per_cent(ax, work.bands[i])
        _outlines(ax, grid, unit)
        _scale_bar(ax, grid, unit)
        if outline is not None:
            outline.boundary.scale(unit, unit, origin=(0, 0)).plot(ax=ax, color=INK, linewidth=0.6)
            ax.set(xlim=(left, right), ylim=(bottom, top))
        if axes is None and ax is not made[0]:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
    if title:
        figure.get_layout_engine().set(h_pad=0.12)
        figure.suptitle(title, x=0.02, ha="left", fontsize=14, fontweight="bold")
    return figure


def _in_per_cent(ax: Any, band: Band) -> None:
    from matplotlib.ticker import PercentFormatter

    if band.kind == "exceedance":
        ax.set_title(f"Probability above {100 * band.at:g} %")
    ax.child_axes[0].yaxis.set_major_formatter(PercentFormatter(1, 0, " %"))


def _outlines(ax: Any, grid: RasterGrid, unit: float) -> None:
    """Coastlines and borders of countries below the map, where the CRS says where it lies."""
    left, bottom, right, top = (v * unit for v in grid.bounds)
    for kind, lines in outlines_in(grid.bounds, grid.crs).items():
        for line in lines:
            ax.plot(*(line * unit).T, color=GREY, linewidth=0.7, linestyle="-" if kind == "coast" else "--", zorder=2)
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _scale_bar(ax: Any, grid: RasterGrid, unit: float) -> None:
    """A round length in km, at most a quarter of the map's width, in its lower right corner."""
    if grid.crs is None:
        return
    left, bottom, right, top = (v * unit for v in grid.bounds)
    per_unit = km_per_degree((bottom + top) / 2)[0] if is_geographic(grid.crs) else 1.0
    most = 0.25 * (right - left) * per_unit
    power = 10 ** np.floor(np.log10(most))
    length = next(k * power for k in (5, 2, 1) if k * power <= most)
    x1, y = right - 0.04 * (right - left), bottom + 0.05 * (top - bottom)
    x0 = x1 - length / per_unit
    ax.plot([x0, x1], [y, y], color=INK, linewidth=2.2, solid_capstyle="butt", zorder=5)
    note = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "edgecolor": "none"}
    ax.annotate(
        f"{length:,g} km", ((x0 + x1) / 2, y), (0, 4), textcoords="offset points", ha="center", fontsize=8, bbox=note,
        zorder=5,
    )  # fmt: skip


def _panel(ax: Any, band: Band, layer: FloatArray, extent: Any, label: str, places: Any, values: Any) -> None:
    low, high, extend = _limits(band, layer)
    colours = {"sd": SPREAD, "exceedance": CHANCE}.get(band.kind, MEAN)
    image = ax.imshow(
        layer, extent=extent, origin="upper", cmap=colours, vmin=low, vmax=high, interpolation="nearest", aspect="auto"
    )
    if places is not None and band.kind == "mean":
        shown = {"color": INK, "s": 5} if values is None else {"c": np.asarray(values), "s": 16, "edgecolors": "white"}
        style = {} if values is None else {"cmap": colours, "vmin": low, "vmax": high}
        ax.scatter(*places.T, linewidths=0.4, zorder=3, **shown, **style)
        ax.set(xlim=extent[:2], ylim=extent[2:])
    elif places is not None and band.kind == "sd":
        ax.scatter(*places.T, s=2, color="white", linewidths=0, alpha=0.8, zorder=3)
        ax.set(xlim=extent[:2], ylim=extent[2:])
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0.04, 0.035, 0.92)), extend=extend)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label("probability" if band.is_probability else label)
    ax.set_title(_title(band))
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=2.5, color=GREY)


def _title(band: Band) -> str:
    if band.kind == "exceedance":
        return f"Probability above {band.at:g}"
    if band.kind == "quantile":
        return f"Quantile {band.at:g}"
    return "Mean" if band.kind == "mean" else "Standard deviation"


def _limits(band: Band, layer: FloatArray) -> tuple[float, float, str]:
    """Ends of the colour scale, and at which of them some pixels lie beyond."""
    known = layer[np.isfinite(layer)]
    if band.is_probability:
        return 0.0, 1.0, "neither"
    if not len(known):
        raise InputError("no pixel of the map has a prediction; check the polygons and the covariates' extent.")
    low, high = np.quantile(known, [limits.TRIMMED_PIXELS, 1 - limits.TRIMMED_PIXELS])
    span = max(float(high - low), 1e-12 * max(abs(float(low)), 1e-300))
    below, above = known.min() < low - 0.05 * span, known.max() > high + 0.05 * span
    low, high = low if below else known.min(), high if above else known.max()
    return float(low), float(high), {(0, 0): "neither", (1, 0): "min", (0, 1): "max"}.get((below, above), "both")


def _chosen(bands: Sequence[Band], names: Iterable[str] | None) -> list[int]:
    known = [band.name for band in bands]
    if names is None:
        return list(range(len(known)))
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise InputError(f"there is no band {name!r} to plot; there are {known}.")
    return [known.index(name) for name in wanted]


def _facing_up(layer: FloatArray, grid: RasterGrid) -> FloatArray:
    layer = layer[::-1] if grid.transform[4] > 0 else layer
    return layer[:, ::-1] if grid.transform[0] < 0 else layer


def _unit(grid: RasterGrid) -> float:
    """Factor from the grid's unit to the one that is shown: km for projections."""
    return km_per_unit(grid.crs) if is_projected(grid.crs) else 1.0


def _aspect(grid: RasterGrid) -> float:
    """Length of a unit of y over one of x."""
    if not is_geographic(grid.crs):
        return 1.0
    _, bottom, _, top = grid.bounds
    return 1 / max(0.05, float(np.cos(np.radians((bottom + top) / 2))))


def _name_axes(ax: Any, grid: RasterGrid) -> None:
    if is_geographic(grid.crs):
        ax.set(xlabel="longitude (°)", ylabel="latitude (°)")
    elif is_projected(grid.crs):
        ax.set(xlabel="easting (km)", ylabel="northing (km)")
    else:
        ax.set(xlabel="x", ylabel="y")
    ax.locator_params(nbins=5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_formatter().set_useOffset(False)


def _places(layout: Layout, data: Any, crs: Any) -> FloatArray:
    """Easting and northing (n, 2) of observed places, in the CRS of the map."""
    if is_geoframe(data):
        return centres(data if crs is None or data.crs is None else data.to_crs(crs))
    if hasattr(data, "columns"):
        places = np.asarray(data[list(layout.map_axes)], dtype=np.float64)
    else:
        places = np.asarray(data, dtype=np.float64)
        if places.shape[1] != 2:
            places = places[:, [layout.inputs.index(name) for name in layout.map_axes]]
    return places if layout.crs is None or crs is None else transform(places, layout.crs, crs)
