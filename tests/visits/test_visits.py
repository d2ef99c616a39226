"""Three visits, from file to answer: a messy table, satellite images with clouds, a notebook."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bochner.cli import main
from bochner.demo import write_demo


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert not ended.value.code


@pytest.mark.slow
def test_an_epidemiologist_with_a_messy_table(tmp_path, capsys):
    """French decimals, UTF-16, misprints: to a map, districts, hotspots and a report that agree."""
    files = write_demo(tmp_path / "data")
    villages = pd.read_csv(files.villages)
    text = villages.to_csv(index=False, sep=";", decimal=",").splitlines()
    text[7] = text[7].replace(text[7].split(";")[4], "beaucoup")
    table = tmp_path / "villages.csv"
    table.write_text("\n".join(text), encoding="utf-16")
    model = tmp_path / "m.bochner"
    fit = ("fit", table, "--target", "positive", "--trials", "examined", "--family", "binomial", "--kernel", "matern32")
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in (*fit, "-o", model)])
    assert ended.value.code == 2 and "line 8: positive is 'beaucoup'" in capsys.readouterr().err
    run(*fit, "--drop-bad", "-o", model)
    areas = ("--areas", files.districts, "--weights", files.population)
    run("map", model, "--within", files.country, "--exceed", "20%", "-o", tmp_path / "map.png")
    run("aggregate", model, *areas, "--exceed", "20%", "--points", "40", "-o", tmp_path / "districts.csv")
    run("hotspots", model, "--threshold", "20%", *areas, "-o", tmp_path / "hotspots.geojson")
    run("report", model, "--threshold", "20%", *areas, "--points", "40", "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    means = pd.read_csv(tmp_path / "districts.csv")
    sure = int((means["exceedance_0.2"] > 0.9).sum())
    assert f"{sure} of {len(means)} districts" in page and "line 8: positive is" in page
    assert f"{float(f'{means.total.sum():.3g}'):,.0f} people" in page
    for total in means["total"]:
        assert f"{float(f'{total:.3g}'):,.0f}" in page
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "hotspots.geojson").read_text())["features"]


# pixels north and east, days, and what is run: an image as a default user runs it, and stacks with a kernel named
SIZES = [
    pytest.param((20, 24, 3), id="small"),
    pytest.param((400, 500, 1), id="400 x 500", marks=pytest.mark.slow),
    pytest.param((400, 500, 6), id="6 x 400 x 500", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("size", SIZES)
def test_an_earth_scientist_with_clouds(tmp_path, size):
    """A day, and six days: what comes back can be subtracted from what was given, and clouds are seen through."""
    xr = pytest.importorskip("xarray")
    north, east, days = size
    rng = np.random.default_rng(0)
    lat, lon, time = np.linspace(36, 44, north), np.linspace(0, 10, east), pd.date_range("2020-06-01", periods=days)
    surface = np.sin(1.5 * lon) + np.cos(1.2 * lat[:, None]) + 0.1 * np.arange(days)[:, None, None]
    seen = surface + 0.05 * rng.normal(size=surface.shape)
    row, col = np.mgrid[:north, :east]
    for image in seen:
        for a, b, r in rng.uniform((0, 0, 0.03), (north, east, 0.12), (12, 3)):
            image[(row - a) ** 2 + (col - b) ** 2 < (r * east) ** 2] = np.nan
    stack = xr.DataArray(seen, {"time": time, "lat": lat, "lon": lon}, ("time", "lat", "lon"), "sst").astype("f4")
    (stack if days > 1 else stack[0]).to_netcdf(tmp_path / "given.nc", engine="h5netcdf")
    run("fill", tmp_path / "given.nc", "--kernel", "matern32", "-o", tmp_path / "filled.nc")
    with xr.open_dataset(tmp_path / "filled.nc") as out, xr.open_dataset(tmp_path / "given.nc") as given:
        difference = out["sst"] - given["sst"]
        assert difference.dims == given["sst"].dims and difference.shape == given["sst"].shape
        assert float(abs(difference).max()) < 1e-5 and not out["sst"].isnull().any()
        gap, truth = given["sst"].isnull().values, surface if days > 1 else surface[0]
        assert np.sqrt(np.mean((out["sst"].values - truth)[gap] ** 2)) < 0.3  # the field has sd 0.9
        assert (out["sst_sd"].values[gap] > 0).all() and (out["sst_sd"].values[~gap] == 0).all()


CELLS = [
    "import numpy as np, pandas as pd\nfrom bochner import SpatialRegressor\n"
    "rng = np.random.default_rng(0)\n"
    "data = pd.DataFrame({'lon': rng.uniform(5, 9, 120), 'lat': rng.uniform(45, 48, 120)})\n"
    "data['soil'] = rng.choice(['clay', 'sand'], 120)\n"
    "data['temp'] = 20 + 2 * np.sin(2 * data.lon) + (data.soil == 'clay') + 0.3 * rng.normal(size=120)",
    "model = SpatialRegressor('matern32', coords=['lon', 'lat'], covariates=['soil']).fit(data, data.temp)\nmodel",
    "mean, sd = model.predict(data.head(), return_std=True)\nprint(mean.shape, bool((sd > 0).all()))",
    "simple = SpatialRegressor('matern32').fit(data[['lon', 'lat']], data.temp)\nmodel.plot('40km');",
    "simple",
    "import time\nfrom bochner.estimators.progress import progress_logging\n"
    "with progress_logging(0, 40.0, '31,000 rows'):\n    time.sleep(0.2)",
    "with progress_logging(0, 40.0, '31,000 rows'):\n    time.sleep(0.2)\n    1 / 0",
]


@pytest.mark.slow
def test_a_data_scientist_in_a_notebook(tmp_path, monkeypatch):
    """Executed by a real kernel: the model shows itself, text covariates are taken, plots are pictures."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=300, allow_errors=True, resources=place).execute()
    shown = [cell["outputs"] for cell in book["cells"]]
    assert "soil = " in shown[1][0]["data"]["text/html"]  # the small map holds the most frequent soil
    assert "Matern" in shown[1][0]["data"]["text/html"] and "soil[" in shown[1][0]["data"]["text/html"]
    assert shown[2][0]["text"] == "(5,) True\n"
    assert any("image/png" in output.get("data", {}) for output in shown[3])
    assert "data:image/png" in shown[4][0]["data"]["text/html"]
    (bar,) = shown[5]  # one bar that was moved, not a line for every second
    assert '<progress max="100" value="100"' in bar["data"]["text/html"]
    assert bar["data"]["text/plain"] == "bochner: 31,000 rows: done in 1 s"
    assert shown[6][0]["data"]["text/plain"] == "bochner: 31,000 rows: ended while reading the rows"
    assert shown[6][1]["ename"] == "ZeroDivisionError"
