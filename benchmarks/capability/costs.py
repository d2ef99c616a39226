"""Costs: seconds of the processor on one thread, bytes of a file, and how well time was told before."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bochner import SpatialRegressor, estimate_fit
from bochner.maps import aggregate

from .data import places, responses, rows
from .registry import check

SIZES = (900, 3_000, 12_000)


def seconds(ask: Callable[[], object]) -> float:
    """Least seconds of the processor of three calls, or of one that takes long."""
    taken: list[float] = []
    while len(taken) < 3 and sum(taken) < 5:
        begin = time.process_time()
        ask()
        taken.append(time.process_time() - begin)
    return min(taken)


@check("seconds and bytes", over=SIZES, fresh=True)
def _(n: int) -> dict[str, float]:
    import geopandas
    from shapely.geometry import box

    X, y = rows(n)
    SpatialRegressor().fit(X[:60], y[:60]).predict(X[:60], return_std=True)
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*(1e5 * X).T), crs="EPSG:32633")
    model = SpatialRegressor("matern32", n_jobs=1)
    found = {"fit s": seconds(lambda: model.fit(frame, y))}
    at = places(100_000)
    new = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*(1e5 * at).T), crs="EPSG:32633")
    found["100,000 predictions s"] = seconds(lambda: model.predict(new, return_std=True))
    cells = [box(i, j, i + 2.5e4, j + 2.5e4) for i in range(0, 100_000, 25_000) for j in range(0, 100_000, 25_000)]
    areas = geopandas.GeoDataFrame(geometry=cells, crs="EPSG:32633")
    found["aggregate s"] = seconds(lambda: aggregate(model, areas))
    found["1,000 draws s"] = seconds(lambda: model.sample_y(new[:1_000], 1_000))
    model.save("m.bochner")
    found["file bytes"] = float(Path("m.bochner").stat().st_size)
    return found


@check("default fit", over=("gaussian 155", "gaussian 900", "binomial 300", "gaussian 3500"), fresh=True)
def _(case: str) -> dict[str, float]:
    family, n = case.split()
    X, _ = rows(int(n))
    y, of = responses(family, X)
    SpatialRegressor(family=family).fit(X[:60], y[:60], **{name: v[:60] for name, v in of.items()})
    return {"fit s": seconds(lambda: SpatialRegressor(family=family, n_jobs=1).fit(X, y, **of))}


@check(
    "estimate_fit within a factor of two",
    over=("gaussian 300", "gaussian 1000", "gaussian 5000", "poisson 300"),
    fresh=True,
)
def _(case: str) -> None:
    family, n = case.split()
    X, _ = rows(int(n))
    y, of = responses(family, X)
    SpatialRegressor(family=family).fit(X[:60], y[:60], **{name: v[:60] for name, v in of.items()})
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(z=y, **of)
    frame.to_parquet("rows.parquet")
    told = estimate_fit(
        "rows.parquet", target="z", family=family, coords=["x", "y"], **{name: name for name in of}
    ).seconds
    begin = time.process_time()
    SpatialRegressor(family=family, n_jobs=1).fit(X, y, **of)
    took = time.process_time() - begin
    assert 0.5 <= told / took <= 2 or max(told, took) < 1, f"{told:.1f} s told, {took:.1f} s taken"
