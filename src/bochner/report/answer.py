"""Answer: what a reader who decides wants first: which areas are above the threshold, how many people, where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.estimators import SpatialRegressor
from bochner.geo import attributes, is_geoframe
from bochner.geo.grids import Bounds
from bochner.geo.world import outlines_around
from bochner.maps import aggregate
from bochner.maps.grids.inputs import Input
from bochner.maps.hot_places import area_names, hotspots
from bochner.report import limits
from bochner.report.svg import number, percent


@dataclass(frozen=True)
class Answer:
    """Means over areas, and what follows from them.

    Attributes
    ----------
    areas : GeoDataFrame
        As `bochner.maps.aggregate` returns it, in the CRS of the map.
    names : tuple of str
    noun : str
        What the areas are called: districts, say.
    threshold : float
    is_share : bool
        Whether means are shares of people or things, told in per cent.
    total : (value, lower, upper) or None
        Number affected, or of cases, in areas with data nearby, where there are weights and means are shares or rates.
    hotspots : GeoDataFrame
    is_rate : bool
        Whether means are cases by population, so that a mean times people is a number of cases.
    """

    areas: Any
    names: tuple[str, ...]
    noun: str
    threshold: float
    is_share: bool
    total: tuple[float, float, float] | None
    hotspots: Any
    is_rate: bool = False

    @property
    def counted(self) -> str:
        """What a mean times people is called; empty where it is nothing."""
        return "affected" if self.is_share else "expected cases" if self.is_rate else ""

    @property
    def chance(self) -> Any:
        """Probability that the mean of each area lies above the threshold."""
        return self.areas[next(c for c in self.areas.columns if str(c).startswith("exceedance_"))].to_numpy()

    def value(self, x: float) -> str:
        """A mean as it is told."""
        return percent(x) if self.is_share else number(float(f"{x:.3g}"))

    @property
    def limit(self) -> str:
        """The threshold as it is told."""
        return f"{100 * self.threshold:g} %" if self.is_share else number(self.threshold)

    @property
    def no_data(self) -> Any:
        """Which areas cannot be judged: only the trend and the prior are left there."""
        return np.asarray(self.areas.get("no_data", [False] * len(self.names)), dtype=bool)

    @property
    def sentences(self) -> list[str]:
        """The answer in plain words, the most important first."""
        blank, n = self.no_data, len(self.names)
        p = np.where(blank, np.nan, self.chance)
        above, below = int(np.sum(p > limits.CERTAIN)), int(np.sum(p < 1 - limits.CERTAIN))
        verb = "is" if above == 1 else "are"
        first = f"{above} of {n} {self.noun} {verb} above {self.limit} with more than 90 % certainty"
        if self.total is not None:
            value, low, high = (_people(v) for v in self.total)
            said = "people are affected" if self.is_share else "cases are expected in all"
            first += f"; about {value} {said}, 95 % interval {low} to {high}"
            first += f" ({self.noun} with data nearby)" if blank.any() else ""
        undecided = n - above - below - int(blank.sum())
        rest = f"; {undecided} {'is' if undecided == 1 else 'are'} undecided" if undecided else ""
        if blank.any():
            named = ", ".join(np.array(self.names)[blank][:5]) + (", ..." if blank.sum() > 5 else "")
            rest += f". {blank.sum()} {'has' if blank.sum() == 1 else 'have'} no data nearby: {named}"
        told = [f"{first}.", f"{below} {'is' if below == 1 else 'are'} below with more than 90 % certainty{rest}."]
        if not len(self.hotspots):
            return [*told, "No single place is above it with 90 % certainty."]
        top, n_hot = self.hotspots.iloc[0], len(self.hotspots)
        people = f", {_people(top['people'])} people" if "people" in self.hotspots else ""
        near = f" near {top['near']}" if "near" in self.hotspots else ""
        found = f"{n_hot} connected {'place is' if n_hot == 1 else 'places are'} above it with 90 % certainty"
        return [*told, f"{found}; the first in the list lies{near}{people}."]

    def judged(self) -> Answer:
        """Without the hotspots in areas that have no data."""
        import shapely

        if "near" not in (hot := self.hotspots) or not self.no_data.any():
            return self
        points = shapely.points(hot[["x", "y"]].to_numpy(dtype=np.float64))
        away = shapely.distance(points[:, None], np.asarray(self.areas.geometry))
        away[hot["near"].to_numpy()[:, None] != np.array(self.names)] = np.inf  # two areas may have the same name
        return replace(self, hotspots=hot[~self.no_data[away.argmin(axis=1)]])

    @property
    def header(self) -> list[str]:
        return ["name", "mean", "95 % interval", f"above {self.limit}", *self._further]

    @property
    def _further(self) -> dict[str, str]:
        """Columns of the table that weights and the places of rows bring, by their heading."""
        rows = {"rows": "rows"} if "rows" in self.areas else {}
        if "weight" not in self.areas:
            return rows
        return {"people": "weight"} | ({self.counted: "total"} if self.counted else {}) | rows

    @property
    def rows(self) -> list[list[tuple[str, float]]]:
        """Cells of the table, each as text and as the number that it is sorted by; areas of the highest mean first."""
        out = []
        for i in np.argsort(-self.areas["mean"].fillna(-np.inf).to_numpy(), kind="stable"):
            row = self.areas.iloc[int(i)]
            cells = [
                (f"{self.names[i]} (no data)" if self.no_data[i] else self.names[i], float(i)),
                (self.value(row["mean"]), row["mean"]),
                (f"{self.value(row['lower'])} to {self.value(row['upper'])}", row["lower"]),
                ("–", np.nan) if self.no_data[i] else (_chance(self.chance[i]), self.chance[i]),
            ]
            cells += [(_people(row[name]), row[name]) for name in self._further.values()]
            out.append([(text, float(f"{value:.8g}") if np.isfinite(value) else -1.0) for text, value in cells])
        return out

    @property
    def places(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the list of hotspots."""
        unit = next((c for c in self.hotspots.columns if str(c).startswith("area")), "area")
        told = {"hotspot": "hotspot", "near": "near", "mean": "mean", "highest": "highest", unit: "size (km²)"}
        told |= {"people": "people"}
        known = [c for c in ("hotspot", "near", "mean", "highest", unit, "people") if c in self.hotspots]
        show = {"mean": self.value, "highest": self.value, unit: _people, "people": _people}
        rows = [[show.get(c, str)(row[c]) for c in known] for _, row in self.hotspots.iterrows()]
        return [told[c] if unit == "area_km2" or c != unit else "size" for c in known], rows

    @property
    def csv(self) -> str:
        """The areas with every number, as `bochner aggregate` writes them."""
        return str(attributes(self.areas).to_csv(index=False))

    def drawn(self, extent: Bounds) -> list[dict[str, Any]]:
        """Outlines of the areas for the map."""
        drawn = drawn_areas(self.areas, self.names, extent)
        return [{**area, "no_data": True} if blank else area for area, blank in zip(drawn, self.no_data, strict=True)]


def drawn_areas(areas: Any, names: Sequence[str], extent: Bounds) -> list[dict[str, Any]]:
    """Outlines of areas for a map, coarse enough to be small and fine enough to be crisp."""
    import shapely

    west, south, east, north = extent
    step = max(east - west, north - south) / limits.OUTLINE_STEPS
    own = areas.geometry.simplify(step)
    marks = areas.geometry.representative_point()
    order = np.argsort(-shapely.area(np.asarray(areas.geometry)), kind="stable").argsort()
    return [
        {
            "name": names[i],
            "rings": [_flat(np.asarray(ring.coords)[:, :2]) for ring in _rings(own.iloc[i])],
            "at": [float(f"{v:.7g}") for v in (marks.iloc[i].x, marks.iloc[i].y)],
            "size": int(order[i]),
        }
        for i in range(len(names))
    ]


def answer_of(
    model: SpatialRegressor,
    areas: Any,
    threshold: float,
    *,
    weights_raster: Any = None,
    covariates: Mapping[str, Input] | None = None,
    noun: str = "areas",
    n_points: int = 300,
    within: Any = None,
    resolution: Any = None,
    random_state: Any = 0,
) -> Answer:
    """Means over areas with their exceedance, the total of all of them, and hotspots.

    Numbers by area are those of `bochner.maps.aggregate` with the same points and seed; the interval of the total comes
    from joint draws over all areas together.
    """
    options: dict[str, Any] = {"weights_raster": weights_raster, "covariates": covariates, "random_state": random_state}
    means = aggregate(model, areas, exceed=threshold, n_points=n_points, **options)
    total = None
    if weights_raster is not None and (is_share(model) or is_rate(model)):
        total = total_of(model, means, n_points, options)
    names = tuple(str(name) for name in area_names(means))
    hot = hotspots(
        model,
        threshold,
        resolution=resolution,
        within=within if within is not None else areas,
        covariates=covariates,
        weights_raster=weights_raster,
        areas=areas,
    )
    own = means if model.crs_ is None or means.crs is None else means.to_crs(model.crs_)
    return Answer(own, names, noun, float(threshold), is_share(model), total, hot, is_rate(model)).judged()


def is_share(model: SpatialRegressor) -> bool:
    """Whether means are shares: prevalences or probabilities."""
    return model.family_.is_share


def is_rate(model: SpatialRegressor) -> bool:
    """Whether means are counts by an exposure that was given, such as population."""
    return model.family_.size_name == "exposure" and "exposure" in model.fitted_.layout.roles


def background(model: SpatialRegressor, extent: Bounds) -> dict[str, list[list[float]]]:
    """Coastlines and borders on the map of a model and around it, as flat lists of coordinates."""
    found = outlines_around(extent, model.fitted_.layout.crs)
    return {kind: [_flat(line) for line in lines] for kind, lines in found.items()}


def total_of(
    model: SpatialRegressor, means: Any, n_points: int, options: Mapping[str, Any]
) -> tuple[float, float, float] | None:
    """Sum over the areas with data nearby, with the interval of joint draws over their union; None without any."""
    import geopandas

    assert is_geoframe(means)
    means = means[~means["no_data"].astype(bool)] if "no_data" in means else means
    if not len(means):
        return None
    whole = geopandas.GeoDataFrame(geometry=[means.geometry.union_all()], crs=means.crs)
    union = aggregate(model, whole, n_points=max(n_points, limits.TOTAL_POINTS), **options).iloc[0]
    total = float(np.nansum(means["total"]))
    return total, total * union["lower"] / union["mean"], total * union["upper"] / union["mean"]


def _chance(p: float) -> str:
    """A probability: never quite 0 or 1."""
    if not np.isfinite(p):
        return "–"
    return "<1 %" if p < 0.005 else ">99 %" if p > 0.995 else percent(p, 0)


def _people(value: float) -> str:
    """A count to three digits."""
    if not np.isfinite(value):
        return "–"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.3g}"


def _rings(shape: Any) -> list[Any]:
    parts = getattr(shape, "geoms", [shape])
    return [ring for part in parts if hasattr(part, "exterior") for ring in (part.exterior, *part.interiors)]


def _flat(line: Any) -> list[float]:
    return [float(f"{v:.6g}") for v in np.asarray(line).ravel()]
