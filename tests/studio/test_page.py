"""The studio in a real browser: from a dropped file to the files that a user takes away."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bochner.report.page import MAP_SCRIPTS
from tests.studio.browsing import district_file, drop, image_with_gaps, large_map, messy_table, running_studio

pytest.importorskip("fastapi")
LAPTOP, PHONE = (1400, 900), (390, 844)
ASSETS = Path(__file__).parents[2] / "src" / "bochner" / "studio" / "assets"
DONE = 240_000  # ms that a fit or a job may take on a busy machine


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with running_studio(tmp_path_factory.mktemp("projects")) as found:
        yield found


@pytest.fixture(scope="module")
def visit(browser, address):
    """Opens a page of the studio; in the end none may have asked another host for anything, or reported an error."""
    contexts, asked, complaints = [], [], []

    def heard(text):
        # a refusal that a test provokes, and advice to one that looks at pixels
        if "status of 4" not in text and "willReadFrequently" not in text:
            complaints.append(text)

    def opened(query="", size=LAPTOP, **options):
        viewport = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(DONE)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: heard(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}{query}")
        page.wait_for_selector("html[data-ready=yes]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
    own = address.partition("?")[0]
    assert all(url.startswith((own, "data:", f"blob:{own}")) for url in asked)


def violations(page, *parts):
    """What axe-core finds in some parts of the page, or in all of it, everything unfolded; it stays so."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(100)
    context = {"include": [[part] for part in parts]} if parts else None
    found = axe.Axe().run(page, context, {"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:120]) for one in found]


def taken(page, what, folder):
    """A file that a button makes and downloads."""
    with page.expect_download() as waiting:
        page.click(f"#make-{what}")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.fixture(scope="module")
def survey(visit, tmp_path_factory):
    """The whole way of a messy table; what was seen on it, for the tests below."""
    folder, seen = tmp_path_factory.mktemp("survey"), SimpleNamespace(axe={}, files={})
    page = visit()
    seen.axe["start"] = violations(page, "#start")
    drop(page, "#drop", messy_table(folder / "survey.csv"), district_file(folder / "districts.geojson"))
    page.wait_for_selector("#preview")
    seen.axe["data, model"] = violations(page, "#data-step", "#model-step", "#fit-step")
    seen.story, seen.wrong, seen.flags = (page.inner_text(part) for part in ("#data-story", "#wrong-rows", "#flags"))
    names = page.locator("[data-role-of]")
    seen.roles = dict(names.evaluate_all("all => all.map(one => [one.dataset.roleOf, one.value])"))
    seen.bold = page.locator("#steps b").count()
    seen.problems, seen.off = page.inner_text("#model-problems"), page.is_disabled("#fit")
    page.click("#mend-swap")
    page.wait_for_selector("#flags", state="detached")
    seen.mended = page.inner_text("#data-story")
    page.check("#drop-bad")
    page.select_option("#kernel", "matern32")
    page.wait_for_selector("#model-ready")
    page.uncheck("#covariate-0")
    page.wait_for_selector("#fit:enabled")
    seen.estimate = page.locator("#estimate", has_text=re.compile(r"\d")).inner_text()
    page.click("#fit")
    page.wait_for_selector(".run")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    seen.running = page.inner_text("#fit-body")
    page.wait_for_selector("#map-card #map")
    page.wait_for_selector("#check-body .tiles")
    page.fill("#resolution", "0.15deg")
    with page.expect_response(re.compile(r"/fits/\d+/map$")):
        page.click("#draw-map")
    page.locator("#said", has_text="The map is drawn.").wait_for(state="attached")
    seen.axe["check, map"] = violations(page, "#check-step", "#map-step")
    seen.check = page.inner_text("#check-body")
    page.locator("#threshold").fill("0.3")
    page.click("#decide")
    page.wait_for_selector("#areas-table")
    seen.answer, seen.cells = page.inner_text("#answer"), page.locator("#areas-table tbody tr").count()
    seen.axe["decide"] = violations(page, "#decide-step")
    for what in ("geotiff", "areas", "hotspots", "report"):
        seen.files[what] = taken(page, what, folder)
    page.click("#drawer-toggle")
    page.wait_for_selector("#drawer-shell")
    seen.axe["drawer"] = violations(page, "#drawer")
    seen.shell, seen.python, seen.toml = (page.inner_text(f"#drawer-{part}") for part in ("shell", "python", "toml"))
    page.keyboard.press("Escape")
    seen.page, seen.query = page, page.evaluate("location.search").replace("?", "&")
    return seen


def test_a_messy_table_is_recognised(survey):
    assert "survey.csv is a table with 60 rows" in survey.story
    assert "forty" in survey.wrong and "swapped" in survey.flags
    assert survey.roles["Longitude (deg)"] == "x" and survey.roles["Latitude (deg)"] == "y"
    assert survey.roles["positive"] == "target" and survey.roles["examined"] == "trials"
    assert "amiss" in survey.problems and survey.off
    assert "mended" in survey.mended  # the swapped place was exchanged in a copy


def test_names_of_columns_are_text(survey):
    assert "<b>height" in survey.roles
    assert survey.bold == 0 and "<b>height" in survey.page.inner_text("#preview")


def test_cost_is_told_before_and_a_fit_is_found_again_after_a_reload(survey):
    assert re.search(r"\d", survey.estimate) and "B" in survey.estimate
    assert re.search(r"running|done|Working|\d+ %", survey.running) and "fit 1" in survey.running


def test_checks_are_told_in_words_and_charts(survey):
    assert "of held-out values in 95" in survey.check and "Range: before and with the data" in survey.check
    assert survey.page.locator("#check-body svg.chart").count() >= 4
    assert survey.page.locator("#residuals-map").count() == 1
    assert "binomial responses say little of the range" in survey.check and "nothing to warn of" not in survey.check


def test_districts_are_answered_and_found_on_the_map(survey):
    assert re.match(r"\d of 5 districts (is|are) above 30 %", survey.answer) and survey.cells == 5
    assert "1 has no data nearby" in survey.answer and survey.answer.count("Faraway") == 2  # told, and in the table
    assert survey.page.inner_text("#areas-table tr.no-data th") == "Faraway (no data)"
    assert survey.page.evaluate("studio.panel.data.areas.map((one) => one.no_data ?? false)") == [False] * 4 + [True]
    survey.page.click("#areas-table tbody tr:not(.no-data) button")
    name = survey.page.locator("#areas-table tbody tr:not(.no-data) th").first.inner_text()
    assert survey.page.evaluate("studio.panel.data.areas[studio.panel.chosen].name") == name


def test_files_are_whole_and_agree_with_the_page(survey):
    import rasterio

    table = pd.read_csv(survey.files["areas"]).set_index("name")
    shown = dict(survey.page.locator("#areas-table tbody tr").evaluate_all(
        "all => all.map(row => [row.cells[0].textContent, Number(row.cells[1].dataset.value)])"
    ))  # fmt: skip
    cells = [f"{name} (no data)" if blank else name for name, blank in table["no_data"].items()]
    np.testing.assert_allclose([shown[name] for name in cells], table["mean"], rtol=1e-7)
    assert survey.files["areas"].name == "districts.csv" and survey.files["report"].name == "report.html"
    with rasterio.open(survey.files["geotiff"]) as file:
        assert file.count >= 3 and str(file.crs) == "EPSG:4326"
        x, y = 10.4, 5.6
        mean = next(file.sample([(x, y)]))[0]
    found = survey.page.evaluate("([x, y]) => studio.panel.valueAt(x, y)", [x, y])
    assert found["mean"] == pytest.approx(mean, abs=0.03)  # pixels of two grids
    html = survey.files["report"].read_text(encoding="utf-8")
    assert "districts" in html and "payload" in html
    assert json.loads(survey.files["hotspots"].read_text())["type"] == "FeatureCollection"


def test_the_drawer_holds_what_was_run(survey):
    for command in ("fit --config fits/1/model.toml", "aggregate", "hotspots", "report", "--exceed 0.3"):
        assert command in survey.shell
    assert 'target = "positive"' in survey.toml and "SpatialRegressor(" in survey.python
    compile(survey.python, "drawer", "exec")


def test_axe_finds_no_violation_in_any_step(survey):
    assert survey.axe == {step: [] for step in survey.axe} and len(survey.axe) == 5


def test_a_click_on_the_map_tells_value_and_interval(survey):
    page = survey.page
    page.locator("#map").scroll_into_view_if_needed()
    x, y = page.evaluate("studio.panel.map.view.toCanvas(10.4, 5.6)")
    page.locator("#map").click(position={"x": x, "y": y})
    assert page.inner_text("#read-mean").endswith("%") and " to " in page.inner_text("#read-interval")
    page.click("[data-layer=exceedance]")
    assert "Probability that the prevalence lies above" in page.inner_text("#layer-words")


def test_a_phone_in_the_dark_and_the_keyboard_are_served(visit, survey):
    """One page, opened again: at three widths nothing sticks out, axe-core is content, and keys reach every step."""
    page = visit(survey.query, PHONE, color_scheme="dark")
    page.wait_for_selector("#map-card #map")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for width in (LAPTOP[0], 320, PHONE[0]):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    page.focus("#measures-positives")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#exposure")
    assert page.evaluate("document.activeElement.id") == "measures-cases"
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("#trials")
    page.focus("#drawer-toggle")
    page.keyboard.press("Enter")
    page.wait_for_selector("#drawer-shell")
    page.keyboard.press("Escape")
    assert page.is_hidden("#drawer") and page.evaluate("document.activeElement.id") == "drawer-toggle"


def test_a_map_has_the_pixels_that_are_on_the_screen(survey):
    page, asked = survey.page, re.compile(r"/fits/\d+/jobs$")
    page.route(asked, lambda route: route.fulfill(status=422, json={"error": "not now"}))
    page.fill("#resolution", "0.3deg")
    with page.expect_request(asked) as sent:
        page.evaluate("document.getElementById('draw-map').click()")  # as assistive programs do: moves no focus
    assert sent.value.post_data_json["resolution"] == "0.3deg"
    page.unroute(asked)
    page.fill("#resolution", "0.15deg")


def test_a_large_map_follows_the_slider(visit, survey):
    """Every frame has its threshold; how many there are in a second is measured by `benchmarks/studio.py`."""
    page = visit("&project=none", PHONE)
    page.route(re.compile(r"/fits/\d+/map$"), lambda route: route.fulfill(json=large_map(400)))
    page.goto(page.url.partition("?")[0] + "?" + survey.query[1:])
    page.wait_for_selector("#map-card #map")
    frames = page.evaluate((ASSETS.parents[3] / "tests/studio/slide.js").read_text())
    assert len(frames) == 46 and page.evaluate("studio.panel.layer") == "exceedance"
    assert page.evaluate("studio.panel.threshold") == pytest.approx(0.1 + 0.8 * 5 / 40)
    assert page.evaluate("performance.memory.usedJSHeapSize") < 500e6


def test_errors_are_told_in_sentences_and_a_project_can_be_removed(visit, tmp_path):
    page = visit("&project=nowhere")
    assert "there is no project 'nowhere'" in page.inner_text("#start .message.error")
    (tmp_path / "notes.csv").write_text("only one line without numbers\n")
    drop(page, "#drop", tmp_path / "notes.csv")
    page.wait_for_selector(".message.error")
    said = page.inner_text(".message.error")
    assert said.endswith(".") and "notes.csv" in said
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#leave")
    page.click("[data-remove-project=notes]")
    page.wait_for_selector("[data-remove-project=notes]", state="detached")
    (tmp_path / "setup.exe").write_bytes(b"MZ")
    drop(page, "#drop", tmp_path / "setup.exe")
    page.wait_for_selector(".message.error")
    assert "cannot be read" in page.inner_text(".message.error")
    assert page.evaluate("fetch('/api/projects/setup').then((answer) => answer.status)") == 404  # nothing was begun


def test_an_image_with_gaps_is_filled(visit, tmp_path):
    import rasterio

    page = visit()
    source = image_with_gaps(tmp_path / "image.tif", 18)
    drop(page, "#drop", source)
    page.wait_for_selector("#places-map")
    assert violations(page, "#data-step", "#model-step") == []
    page.select_option("#kernel", "matern32")
    page.select_option("#features", "exact")
    page.wait_for_selector("#fit:enabled")
    page.click("#fit")
    page.click(".run .cancel")
    page.wait_for_selector(".status.cancelled")
    page.select_option("#tune", "none")
    page.locator("#estimate", has_text="rows").wait_for()
    page.click("#fit")
    page.wait_for_selector("#map-card #map")
    with rasterio.open(source) as file:
        seen = file.read(1, masked=True)
        gap = file.xy(*np.argwhere(seen.mask).mean(axis=0).round().astype(int))
    assert page.evaluate("([x, y]) => studio.panel.valueAt(x, y)", gap) is not None
    with rasterio.open(taken(page, "geotiff", tmp_path)) as file:
        filled = file.read(1)
    np.testing.assert_allclose(filled[~seen.mask], seen.compressed(), rtol=1e-6)
    assert np.isfinite(filled[seen.mask]).all() and 17 < filled[seen.mask].mean() < 23
    assert taken(page, "report", tmp_path).read_text(encoding="utf-8").count("<html") == 1
    page.click("#drawer-toggle")
    page.wait_for_selector("#drawer-shell")
    assert "--fill-only" in page.inner_text("#drawer-shell")
    page.click("#drawer-close")
    no_code_of_another_fit_is_shown(page)
    compare_with_a_rougher_kernel(page)


def no_code_of_another_fit_is_shown(page):
    """The drawer is empty from the click that opens it until the code of the fit that is chosen is there."""
    page.click("[data-fit='1']")
    page.evaluate("document.getElementById('drawer-toggle').click()")
    assert page.locator("#drawer-shell", has_text="fits/2").count() == 0
    page.click("[data-fit='2']")
    page.locator("#drawer-shell", has_text="fits/2").wait_for()
    page.click("#drawer-close")


def compare_with_a_rougher_kernel(page):
    """A second fit stands beside the first: scores of both, and where their maps differ."""
    page.select_option("#kernel", "matern12")
    page.fill("#fit-name", "rough")
    page.wait_for_selector("#fit:enabled")
    page.click("#fit")
    page.wait_for_selector("[data-fit='3'][aria-pressed=true] + .status.done")
    page.evaluate("document.getElementById('compare').open = true")
    page.click("#compare-go")
    page.wait_for_selector("#difference-map")
    assert "rough" in page.inner_text("#compare-scores thead")
    assert page.locator("#compare-scores tbody tr").count() >= 4
    assert violations(page, "#fit-step") == []


def test_every_module_is_asked_for_at_once():
    """The page names all of its modules, so that none waits for another to be read."""
    named = set(re.findall(r'href="/assets/([\w.]+\.js)"', (ASSETS / "index.html").read_text()))
    assert named == {*MAP_SCRIPTS, *(path.name for path in ASSETS.glob("*.js"))} - {"studio.js"}


def test_no_module_writes_html():
    for path in [*ASSETS.glob("*.js"), *(ASSETS.parents[1] / "report" / "assets").glob("*.js")]:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text()), path


SLOW_SAVES = """const own = window.fetch;
window.fetch = async (address, options) => {
  if (options?.method === "PUT") await new Promise((resolve) => setTimeout(resolve, 300));
  return own(address, options);
};"""


def typed(text):
    """Types a CRS and leaves the field as it is, focused."""

    def edit(page):
        page.fill("#crs", "")
        page.focus("#crs")
        page.keyboard.type(text)

    return edit


EDITS = {
    "text": (typed("EPSG:4258"), "crs", "EPSG:4258"),
    "text, again": (typed("EPSG:4269"), "crs", "EPSG:4269"),
    "select": (lambda page: page.select_option("#kernel", "matern12"), "kernel", "matern12"),
    "checkbox": (lambda page: page.check("#covariate-0"), "covariates", ["extra"]),
    "coordinate": (lambda page: page.select_option("[data-role-of=north2]", "y"), "coords", ["lon", "north2"]),
    "radio": (lambda page: page.check("#measures-cases"), "measures", "cases"),
}
STARTS = {
    "mouse": lambda page: page.click("#fit"),
    "keyboard": lambda page: (page.focus("#fit"), page.keyboard.press("Enter")),
    "assistive program": lambda page: page.evaluate("document.getElementById('fit').click()"),  # moves no focus
}


@pytest.fixture(scope="module")
def edited(visit, tmp_path_factory):
    """A page whose saves take their time; its table has two columns of latitudes."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"lon": 9 + 3 * rng.random(60), "lat": 4 + 3 * rng.random(60)})
    table = table.assign(extra=rng.random(60), north2=table["lat"] + 0.01, number=rng.integers(0, 9, 60))
    path = tmp_path_factory.mktemp("edited") / "villages.csv"
    table.to_csv(path, index=False)
    page = visit()
    drop(page, "#drop", path)
    page.wait_for_selector("#preview")
    page.evaluate("document.getElementById('more').open = true")
    page.select_option("#target", "number")
    page.wait_for_selector("#fit:enabled")
    page.evaluate(SLOW_SAVES)
    return page


@pytest.mark.parametrize("start", STARTS)
def test_a_fit_waits_for_the_last_edit(edited, start):
    """Whatever was changed, and however the fit is started at once: it gets what is on the screen."""
    for edit, field, value in EDITS.values():
        edit(edited)
        with edited.expect_response(lambda answer: answer.url.endswith("/fits")) as begun:
            STARTS[start](edited)
        fit = begun.value.json()
        assert not fit.get("error") and fit["spec"][field] == value, fit
        edited.evaluate("(fit) => fetch(`/api/projects/villages/fits/${fit}`, { method: 'DELETE' })", fit["id"])
    assert edited.input_value("#crs") == "EPSG:4269"
    edited.uncheck("#covariate-0")
    edited.select_option("[data-role-of=lat]", "y")
    with edited.expect_response(lambda answer: answer.url.endswith("/estimate")):
        edited.check("#measures-number")


@pytest.mark.parametrize(("kernel", "code"), [("matern32", 4258), ("matern52", 4269)])
def test_a_text_is_typed_on_while_an_earlier_change_is_saved(edited, kernel, code):
    with edited.expect_response(lambda answer: answer.url.endswith("/estimate")):  # asked for after the save
        edited.select_option("#kernel", kernel)
        edited.focus("#crs")
        edited.keyboard.press("Control+A")
        edited.keyboard.type("EPSG:")
    edited.keyboard.type(str(code))
    with edited.expect_response(lambda answer: answer.url.endswith("/fits")) as begun:
        edited.click("#fit")
    fit = begun.value.json()
    assert not fit.get("error") and (fit["spec"]["kernel"], fit["spec"]["crs"]) == (kernel, f"EPSG:{code}")
    edited.evaluate("(fit) => fetch(`/api/projects/villages/fits/${fit}`, { method: 'DELETE' })", fit["id"])


def test_a_crs_that_does_not_exist_is_refused_in_the_model_step(edited):
    before = edited.evaluate("fetch('/api/projects/villages').then((one) => one.json())")
    typed("EPSG:9")(edited)
    edited.click("#fit")
    edited.wait_for_selector("#model-problems")
    assert "the CRS 'EPSG:9' is not known" in edited.inner_text("#model-problems")
    assert edited.locator("#model-ready").count() == 0 and edited.is_disabled("#fit")
    assert edited.input_value("#crs") == "EPSG:9"
    after = edited.evaluate("fetch('/api/projects/villages').then((one) => one.json())")
    assert len(after["fits"]) == len(before["fits"])
    edited.fill("#crs", "EPSG:4258")
    edited.keyboard.press("Enter")
    edited.wait_for_selector("#model-ready")
