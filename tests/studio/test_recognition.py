"""What the studio makes of a file: columns by the parts they may play, and sentences for what it cannot read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bochner
from bochner.cli import _studio_worker as worker
from bochner.cli import main
from bochner.exceptions import BochnerError
from bochner.studio.drawer import python_of
from bochner.studio.specification import cautions_of, checked_spec, problems_of, toml_of
from tests.studio.serving import survey


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is the folder in use."""
    (tmp_path / "data").mkdir()
    (tmp_path / "fits" / "1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def view_of(name: str, table: pd.DataFrame | None = None) -> dict[str, Any]:
    if table is not None:
        table.to_csv(f"data/{name}", index=False)
    return dict(worker.plain(worker.describe({"file": f"data/{name}"})))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["temp"], {"measures": "number", "target": "temp"}),
        (["examined", "positive"], {"measures": "positives", "target": "positive", "trials": "examined"}),
        (["positive", "examined", "temp"], {"measures": "positives", "target": "positive", "trials": "examined"}),
        (["cases", "population"], {"measures": "cases", "target": "cases", "exposure": "population"}),
        (["id", "presence"], {"measures": "presence", "target": "presence"}),
        (["temp", "elevation"], {"measures": "number", "target": "temp", "covariates": ["elevation"]}),
    ],
)
def test_parts_are_proposed_by_names_and_values(project: Path, columns: list[str], expected: dict[str, Any]) -> None:
    frame = survey().assign(
        cases=lambda t: t.positive, population=lambda t: 100 * t.examined, elevation=lambda t: 3 * t.lat,
        id=range(60), presence=lambda t: (t.temp > 0).astype(int),
    )  # fmt: skip
    proposal = view_of("data.csv", frame[["lon", "lat", *columns]])["proposal"]
    assert {key: proposal.get(key) for key in expected} == expected and proposal["coords"] == ["lon", "lat"]


def test_time_as_a_coordinate_is_in_the_estimate() -> None:
    spec = checked_spec({"measures": "number", "coords": [], "covariates": [], "covariate": {}, "target": "sst"})
    flat, stack = (worker.estimate({"spec": spec, "n_rows": 27_000, "dim": dim})["seconds"] for dim in (2, 3))
    assert stack > flat


FRENCH = {"measures": "positives", "target": "Positifs", "trials": "Examinés", "covariates": ["Précipitations"]}
SPANISH = {"measures": "cases", "target": "Número de casos", "exposure": "Población"}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Longitude", "Latitude", "Examinés", "Positifs", "Précipitations"], FRENCH),
        (["longitud", "latitud", "Población", "Número de casos", "Temperatura"], SPANISH),
    ],
)
def test_names_in_other_languages(project: Path, names: list[str], expected: dict[str, Any]) -> None:
    frame = survey()[["lon", "lat", "examined", "positive", "temp"]].set_axis(names, axis=1)
    proposal = view_of("data.csv", frame)["proposal"]
    assert {key: proposal.get(key) for key in expected} == expected and proposal["coords"] == names[:2]


def test_coordinates_by_unusual_names(project: Path) -> None:
    odd = survey().rename(columns={"lon": "GPS Longitude (dd)", "lat": "GPS_Latitude"})
    view = view_of("odd.csv", odd)
    assert view["proposal"]["coords"] == ["GPS Longitude (dd)", "GPS_Latitude"]
    assert view["proposal"]["crs"] == "EPSG:4326" and view["points"]["geographic"]
    nameless = view_of("none.csv", survey().rename(columns={"lon": "a", "lat": "b"}))
    assert nameless["points"] is None and "choose the columns" in nameless["notes"][-1]


@pytest.mark.parametrize("name", ["junk.csv", "junk.xlsx", "junk.parquet", "junk.gpkg", "junk.tif", "junk.nc"])
def test_what_cannot_be_read_is_told(project: Path, name: str) -> None:
    (project / "data" / name).write_bytes(bytes(range(256)))
    with pytest.raises(BochnerError, match="junk"):
        view_of(name)


@pytest.mark.parametrize("ending", ["gpkg", "nc"])
def test_python_of_the_drawer_fits_what_the_command_fits(project: Path, ending: str) -> None:
    """In a projected CRS, and with time as a coordinate."""
    name = f"data.{ending}"
    write = {"gpkg": _projected_points, "nc": _stack}[ending]
    write(Path("data") / name)
    view = view_of(name)
    assert view["kind"] == {"gpkg": "table", "nc": "stack"}[ending]
    spec = checked_spec({**view["proposal"], "kernel": "matern32(length_scale=60)", "tune": "none"})
    Path("fits/1/model.toml").write_text(toml_of(spec, name), encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["fit", "--config", "fits/1/model.toml"])
    assert not stop.value.code
    first = bochner.load("fits/1/model.bochner").log_evidence_
    payload = worker.map_of({"model": "fits/1/model.bochner", "config": "fits/1/model.toml"})
    assert payload["rows"] > 10 and payload["observations"]["x"]
    exec(compile(python_of(spec, name, view, "1"), "drawer.py", "exec"), {})
    assert worker.map_of({"model": "fits/1/model.bochner", "config": "fits/1/model.toml"})["rows"] == payload["rows"]
    assert bochner.load("fits/1/model.bochner").log_evidence_ == pytest.approx(first, rel=1e-9)


def _projected_points(path: Path) -> None:
    import geopandas

    table = survey()[["lon", "lat", "temp"]]
    points = geopandas.points_from_xy(table.lon, table.lat)
    geopandas.GeoDataFrame(table[["temp"]], geometry=points, crs=4326).to_crs(32632).to_file(path)


def _stack(path: Path) -> None:
    import xarray

    rng = np.random.default_rng(0)
    axes = {
        "time": pd.date_range("2020-01-01", periods=2),
        "lat": np.linspace(40, 41, 8),
        "lon": np.linspace(10, 11, 9),
    }
    values = rng.normal(size=(2, 8, 9))
    values[rng.random(values.shape) < 0.2] = np.nan
    xarray.DataArray(values, coords=axes, dims=tuple(axes), name="sst").to_netcdf(path, engine="h5netcdf")


def test_few_rows_are_refused_or_cautioned():
    """Too few for any map, few enough for a caution, enough."""
    spec = checked_spec({"target": "temp", "coords": ["lon", "lat"], "drop_bad": True})
    columns = [{"name": name, "missing": 0} for name in ("lon", "lat")] + [{"name": "temp", "missing": 2}]

    def told(n):
        wrong = [{"line": "line 2", "column": "temp", "text": "temp is 'x'"}]
        view = {"file": "a.csv", "kind": "table", "n_rows": n, "columns": columns, "problems": wrong, "points": {}}
        return problems_of(spec, view, ()), cautions_of(spec, view)

    assert "too few" in told(7)[0][0] and not told(7)[1]
    assert not told(20)[0] and "Only 17 rows" in told(20)[1][0]
    assert told(100) == ([], [])


def test_counts_stay_whole_in_the_preview_where_one_is_missing(project: Path) -> None:
    table = survey(30).assign(positive=lambda t: t.positive.where(t.index != 1))
    seen = view_of("a.csv", table)["preview"]
    row = dict(zip(seen["header"], zip(*seen["rows"], strict=True), strict=True))
    assert row["positive"][0] == str(int(table.positive[0])) and row["positive"][1] == ""
    assert row["temp"][0] == str(table.temp[0]) and row["examined"][0] == str(table.examined[0])
