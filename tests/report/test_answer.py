"""The report that answers first: districts, people, hotspots; its numbers are those of the table, in a real browser."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from scipy.special import ndtr

from bochner import SpatialRegressor
from bochner.exceptions import OutsideWarning
from bochner.geo.world import outlines_in
from bochner.kernels import Matern
from bochner.maps import aggregate, hotspots
from bochner.report import Survey, answer_of, card, write_report
from bochner.report.answer import background
from bochner.report.gridded import gridded_layers
from bochner.report.raster import unpack

rasterio = pytest.importorskip("rasterio")
WEST, SOUTH, SIDE = 7.0, 4.0, 4.0  # the corner of Cameroon, with a coast and a border
BOX = shapely.box(WEST, SOUTH, WEST + SIDE, SOUTH + SIDE)


def surface(lon, lat):
    return 1.6 * np.sin(1.5 * (lon - WEST)) + 0.8 * np.cos(1.3 * (lat - SOUTH)) - 1.2


def districts() -> gpd.GeoDataFrame:
    cells = [
        shapely.box(WEST + i, SOUTH + j, WEST + i + 1, SOUTH + j + 1) for i in range(4) for j in range(4)
    ]  # fmt: skip
    names = [f"District {chr(65 + k)}" for k in range(16)]
    return gpd.GeoDataFrame({"name": names}, geometry=cells, crs=4326)


@pytest.fixture(scope="module")
def survey() -> Survey:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": WEST + SIDE * rng.uniform(size=150), "lat": SOUTH + SIDE * rng.uniform(size=150)})
    trials = rng.integers(30, 80, 150)
    return Survey(frame, rng.binomial(trials, 1 / (1 + np.exp(-surface(frame.lon, frame.lat)))), trials=trials)


@pytest.fixture(scope="module")
def model(survey) -> SpatialRegressor:
    model = SpatialRegressor(Matern(120.0, 2.0), family="binomial", noise_variance=0.01, tune=None)
    return model.fit(survey.X, survey.y, trials=survey.trials)


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("people") / "population.tif"
    values = np.random.default_rng(1).integers(100, 900, (80, 80)).astype("float32")
    transform = rasterio.transform.from_origin(WEST, SOUTH + SIDE, SIDE / 80, SIDE / 80)
    with rasterio.open(
        path, "w", driver="GTiff", height=80, width=80, count=1, dtype="float32", crs="EPSG:4326", transform=transform
    ) as file:
        file.write(values, 1)
    return path


@pytest.fixture(scope="module")
def answer(model, people):
    return answer_of(model, districts(), 0.3, weights_raster=people, noun="districts", n_points=60, resolution="12km")


@pytest.fixture(scope="module")
def page(model, survey, answer, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    layers = gridded_layers(model, None, {}, within=districts(), resolution="12km")
    return write_report(model, path, data=survey, answer=answer, layers=layers, response="prevalence")


def test_opening_sentence_counts_districts_and_people(answer):
    first = answer.sentences[0]
    sure = int((answer.chance > 0.9).sum())
    assert first.startswith(f"{sure} of 16 districts are above 30 % with more than 90 % certainty; about ")
    total, low, high = answer.total
    assert low < total < high and total == pytest.approx(answer.areas["total"].sum())
    assert 0 < sure < 16


def test_every_number_of_the_table_is_that_of_aggregate(page, model, people):
    means = aggregate(model, districts(), weights_raster=people, exceed=0.3, n_points=60).set_index("name")
    (table,) = [t for t in pd.read_html(io.StringIO(page.read_text(encoding="utf-8"))) if "affected" in t]
    assert len(table) == 16
    for row in table.itertuples(index=False):
        one = means.loc[row.name]
        assert row.mean == f"{100 * one['mean']:.1f} %".replace(" ", "\u202f")
        assert row.affected == pytest.approx(one["total"], rel=5e-3)  # three digits
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1])
    stored = pd.read_csv(io.StringIO(payload["csv"])).set_index("name")
    np.testing.assert_allclose(stored["total"], means["total"], rtol=1e-9)


@pytest.fixture(scope="module")
def page_of_islands(model, survey, tmp_path_factory) -> Path:
    far = gpd.GeoDataFrame({"name": ["Island"]}, geometry=[shapely.box(20.0, 4.0, 22.0, 6.0)], crs=4326)
    areas = pd.concat([districts(), far], ignore_index=True)
    with pytest.warns(OutsideWarning, match="are left: Island"):
        found = answer_of(model, areas, 1e-4, noun="districts", n_points=60, resolution="12km")
    layers = gridded_layers(model, None, {}, within=areas, resolution="12km")
    path = tmp_path_factory.mktemp("islands") / "report.html"
    return write_report(model, path, data=survey, answer=found, layers=layers, response="prevalence")


def test_districts_without_data_are_marked_and_not_counted(page_of_islands, opened):
    shown = opened(page_of_islands)
    told = shown.inner_text("#answer")
    assert "16 of 17 districts are above 0.01\u202f% with more than 90\u202f% certainty." in told
    assert "1 has no data nearby: Island." in told and told.count("Island") == 1 and "undecided" not in told
    (row,) = shown.locator("#areas-table tr.no-data").all_inner_texts()
    assert row.split("\t")[0].strip() == "Island (no data)" and row.split("\t")[3:] == ["–", "0"]
    assert "Island" not in shown.inner_text("#hotspots")
    assert shown.locator("#areas-table thead th").last.inner_text() == "rows"
    assert any(one["name"] == "Island: no data" for one in shown.evaluate("window.bochner.labels()"))
    assert "Hatched areas have no data nearby." in shown.inner_text("#map-card")
    with shown.expect_download() as waiting:
        shown.click("#save-svg")
    assert waiting.value.path().read_text(encoding="utf-8").count("url(#hatch)") == 1


def test_people_far_from_the_data_are_not_counted(model, tmp_path):
    """An area without data nearby has people, but nobody knows how many of them are affected."""
    areas = gpd.GeoDataFrame({"name": ["Here", "Far"]}, geometry=[BOX, shapely.box(20.0, 4.0, 22.0, 6.0)], crs=4326)
    path, where = tmp_path / "people.tif", rasterio.transform.from_origin(WEST, SOUTH + SIDE, 0.25, 0.25)
    with rasterio.open(
        path, "w", driver="GTiff", height=16, width=64, count=1, dtype="float32", crs="EPSG:4326", transform=where
    ) as file:
        file.write(np.full((16, 64), 1000, dtype="float32"), 1)
    options = {"weights_raster": path, "n_points": 60, "resolution": "40km"}
    with pytest.warns(OutsideWarning, match="Far"):
        both = answer_of(model, areas, 0.3, **options)
    assert both.areas["total"].iloc[1] > 0
    assert both.total == pytest.approx(answer_of(model, areas[:1], 0.3, **options).total)
    assert both.total[0] == pytest.approx(both.areas["total"].iloc[0])
    assert "(areas with data nearby)" in both.sentences[0]
    with pytest.warns(OutsideWarning, match="no place lies near"):
        assert answer_of(model, areas[1:], 0.3, **options).total is None


def test_hotspots_are_judged_by_their_own_area_where_names_are_not_unique(model):
    """An area without data takes no hotspot from another one of the same name."""
    far = gpd.GeoDataFrame({"name": ["District A"]}, geometry=[shapely.box(20.0, 4.0, 22.0, 6.0)], crs=4326)
    same, other = (pd.concat([districts().assign(name="District A"), far.assign(name=name)], ignore_index=True)
                   for name in ("District A", "Far"))  # fmt: skip
    with pytest.warns(OutsideWarning):
        found, unique = (answer_of(model, areas, 0.3, n_points=60, resolution="12km") for areas in (same, other))
    assert len(found.hotspots) == len(unique.hotspots) > 0


def test_hotspots_are_certain_connected_and_named(model, people):
    found = hotspots(model, 0.3, resolution="12km", areas=districts(), weights_raster=people)
    assert len(found) and {"near", "people", "area_km2"} <= set(found.columns)
    lonlat = found[["x", "y"]].set_axis(["lon", "lat"], axis=1)
    assert (model.predict_exceedance(lonlat, 0.3) > 0.88).all()  # maps are interpolated to 0.001 sd
    whole = found.geometry.to_crs(32632).area.sum() / 1e6
    assert found["area_km2"].sum() == pytest.approx(whole, rel=0.02)
    assert not len(hotspots(model, 0.999, resolution="12km"))
    assert not len(hotspots(model, 0.999, resolution="12km", areas=districts()))


def test_coast_and_borders_lie_where_they_should():
    found = outlines_in((WEST, SOUTH, WEST + SIDE, SOUTH + SIDE), "EPSG:4326")
    assert found["coast"] and found["border"]
    utm = outlines_in((2e5, 3e5, 9e5, 9e5), "EPSG:32632")
    assert utm["border"] and all(np.isfinite(line).all() for line in utm["border"])
    assert not outlines_in((0, 0, 1, 1), None)["coast"]
    line = found["border"][0]
    x, y = (line[0] + line[1]) / 2  # a map between two points of a border shows it all the same
    assert outlines_in((x - 1e-3, y - 1e-3, x + 1e-3, y + 1e-3), "EPSG:4326")["border"]


def test_no_outline_ends_within_a_frame(model):
    """A frame wider or taller than the map shows more than the map; lines go on to its edge."""
    flat = background(model, (WEST, SOUTH, WEST + 1, SOUTH + SIDE))
    x = np.concatenate([np.reshape(line, (-1, 2))[:, 0] for line in flat["coast"] + flat["border"]])
    assert x.min() < WEST + 0.5 - 1.1 * SIDE and x.max() > WEST + 0.5 + 1.1 * SIDE


def test_a_click_in_the_table_shows_the_district_and_one_on_the_map_the_row(page, opened):
    shown = opened(page)
    shown.click("#areas-table tbody tr:nth-child(2) button")
    name = shown.inner_text("#areas-table tbody tr:nth-child(2) th")
    assert shown.evaluate("window.bochner.chosen()") == name
    shown.click("#zoom-reset")
    box = shown.locator("#map").bounding_box()
    shown.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    chosen = shown.evaluate("window.bochner.chosen()")
    assert chosen != name and shown.inner_text("#areas-table tr.chosen th") == chosen


def test_the_table_is_sorted_by_its_headings(page, opened):
    shown = opened(page)
    shown.click("#areas-table thead th:nth-child(5) button")
    people = [float(t.replace(",", "")) for t in shown.locator("#areas-table tbody td:nth-child(5)").all_inner_texts()]
    assert people == sorted(people, reverse=True)


def test_names_never_lie_over_each_other_at_any_zoom(page, opened):
    for size in ((1400, 900), (390, 844)):
        shown = opened(page, size)
        for _ in range(5):
            shown.wait_for_timeout(60)
            boxes = shown.evaluate("window.bochner.labels()")
            for i, a in enumerate(boxes):
                for b in boxes[i + 1 :]:
                    apart = a["x"] > b["x"] + b["width"] or b["x"] > a["x"] + a["width"]
                    assert apart or abs(a["y"] - b["y"]) >= 16
            shown.evaluate("window.bochner.zoomBy(1.7)")


def test_downloads_are_whole_files(page, opened, tmp_path):
    shown = opened(page)
    for button, start in (("#save-csv", b"name,"), ("#save-png", b"\x89PNG"), ("#save-svg", b"<svg ")):
        with shown.expect_download() as waiting:
            shown.click(button)
        waiting.value.save_as(tmp_path / "file")
        assert (tmp_path / "file").read_bytes().startswith(start)


def test_geotiff_holds_the_map_that_is_shown(page, opened, tmp_path):
    """Made in the browser, read by GDAL: place, CRS, names of the bands, and the mean under the pointer."""
    shown = opened(page)
    with shown.expect_download() as waiting:
        shown.click("#save-tif")
    waiting.value.save_as(tmp_path / "map.tif")
    data = json.loads(shown.locator("#payload").text_content())
    with rasterio.open(tmp_path / "map.tif") as file:
        assert file.crs.to_epsg() == data["epsg"]["code"] and file.shape == (data["rows"], data["columns"])
        assert np.allclose(file.bounds, data["extent"])
        threshold = data["threshold"]["value"]
        assert file.descriptions == ("mean", "sd", f"exceedance_{threshold:g}") and np.isnan(file.nodata)
        mean, sd, above = file.read()
    known = np.isfinite(mean)
    eta, spread = (unpack(data[name], mean.shape) for name in ("mean", "sd"))
    assert known.any() and (known == np.isfinite(sd)).all()
    limit = np.log(threshold / (1 - threshold))
    assert np.allclose(above[known], ndtr((eta - limit) / spread)[known], atol=1e-5)
    middle = 1 / (1 + np.exp(-eta[known]))
    assert np.all(np.abs(mean[known] - middle) < 0.5 * sd[known] + 1e-6)  # the mean is near the median


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(page, opened, scheme):
    """Contrast, names, order and roles, judged by axe-core, everything unfolded."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    shown = opened(page, color_scheme=scheme, bypass_csp=True)
    shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = axe.Axe().run(shown).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def test_the_page_is_valid_html_and_small(page):
    html5lib = pytest.importorskip("html5lib")
    text = page.read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) and len(text) < 3_000_000
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_notebooks_show_what_was_learned(model):
    html = card(model)
    assert "data:image/png" in html and "Matern" in html and "binomial" in html
    ask = "_repr_mimebundle_"  # what Jupyter asks for
    assert getattr(model, ask)()["text/html"] == html
    assert "data:image/png" not in getattr(SpatialRegressor(), ask)()["text/html"]


def test_a_model_plots_itself(model):
    figure = model.plot("25km")
    assert len(figure.axes) >= 2


@pytest.mark.parametrize("named", [True, False])
def test_people_and_expected_cases_are_told_of_a_rate_by_population(people, named):
    """Cases follow from people only where a rate is by population; people are told in any case."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"lon": WEST + SIDE * rng.uniform(size=60), "lat": SOUTH + SIDE * rng.uniform(size=60)})
    population = pd.Series(rng.integers(500, 5000, 60), name="population")
    cases = rng.poisson(population * np.exp(surface(frame.lon, frame.lat) - 4))
    model = SpatialRegressor(Matern(120.0, 2.0), family="poisson", noise_variance=0.01, tune=None)
    model.fit(frame, cases, exposure=population if named else None)
    found = answer_of(model, districts(), 0.01, weights_raster=people, noun="districts", n_points=30, resolution="30km")
    assert found.header[4:] == (["people", "expected cases", "rows"] if named else ["people", "rows"])
    by_name = found.areas.set_index("name")
    for (name, _), *_, one, _ in found.rows:
        assert one[1] == pytest.approx(by_name.loc[name, "total" if named else "weight"], rel=1e-7)
    assert ("cases are expected in all, 95 % interval" in found.sentences[0]) is named
