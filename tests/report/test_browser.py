"""The page in a real browser: it opens offline, and its map answers to pointer, keys, slider and touch."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.report import write_report
from bochner.report.raster import unpack
from tests.report.conftest import places, surface

every_link = pytest.mark.parametrize("link", ["identity", "logit", "probit", "log"])
LAPTOP, PHONE = (1440, 900), (390, 844)


def places_on(path, count=25):
    """Middles of some pixels that are not blank."""
    data = json.loads(re.search(r'id="payload">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1])
    rows, columns = data["rows"], data["columns"]
    at = np.argwhere(unpack(data["cover"], (rows, columns)) > 0.51)
    at = at[:: max(1, len(at) // count)]
    west, south, east, north = data["extent"]
    x = west + (at[:, 1] + 0.5) / columns * (east - west)
    return np.column_stack([x, north - (at[:, 0] + 0.5) / rows * (north - south)])


def normal_mean(function, mean, sd):
    """Mean of a function of a normal variable, by adaptive quadrature."""
    density = lambda z: function(mean + sd * z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)  # noqa: E731
    return integrate.quad(density, -14, 14, limit=400)[0]


LOOK = """() => {
  const canvas = document.getElementById('map');
  const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 4) {
    const colour = bytes[i] * 65536 + bytes[i + 1] * 256 + bytes[i + 2];
    seen.add(colour);
    sum = (sum * 31 + colour) | 0;
  }
  return [seen.size, sum];
}"""


def pixels(page) -> int:
    """A number that changes when the drawn map does."""
    page.wait_for_timeout(80)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(LOOK)[1]


def test_it_opens_offline_without_an_error(report, opened):
    page = opened(report("identity"))
    assert page.title() == "Map of response"
    assert page.locator("#map-loading").count() == 0
    # the map is more than one colour, and its legend has numbers
    colours, _ = page.evaluate(LOOK)
    assert colours > 100
    assert len(page.locator("#legend-ticks span").all_inner_texts()) >= 3


def test_layers_are_switched_by_click_and_by_keyboard(report, opened):
    page = opened(report("identity"))
    seen = {"mean": pixels(page)}
    page.click("[data-layer=sd]")
    page.wait_for_selector("[data-layer=sd][aria-pressed=true]")
    seen["sd"] = pixels(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-layer=exceedance][aria-pressed=true]")
    seen["exceedance"] = pixels(page)
    assert len(set(seen.values())) == 3
    pressed = page.locator("[data-layer][aria-pressed=true]")
    assert pressed.count() == 1 and pressed.get_attribute("data-layer") == "exceedance"
    assert "Probability that the response lies above" in page.inner_text("#layer-words")
    assert page.inner_text("#legend-ticks").split("\n")[-1].startswith("100")


@every_link
def test_the_browser_knows_the_law_as_the_library_does(report, opened, fitted, link):
    """Mean, sd, interval and exceedance of the response at pixels, for thresholds the page was not made with."""
    path, model = report(link), fitted(link).model
    page = opened(path)
    coords = places_on(path)
    covariate = fitted(link).X[:, 2].mean()
    table = np.column_stack([coords, np.full(len(coords), covariate)])
    expected = model.predict(table, return_std=True)
    low, high = (float(np.quantile(expected[0], q)) for q in (0.2, 0.8))
    for threshold in (low, high):
        page.evaluate("t => bochner.setThreshold(t)", threshold)
        found = page.evaluate("places => places.map(([x, y]) => bochner.valueAt(x, y))", coords.tolist())
        # 16 bits over the range of eta
        close = {"rtol": 2e-4, "atol": 1e-4 * float(np.ptp(expected[0]))}
        assert_allclose([f["mean"] for f in found], expected[0], **close)
        assert_allclose([f["sd"] for f in found], expected[1], rtol=2e-3, atol=close["atol"])
        assert_allclose([f["exceedance"] for f in found], model.predict_exceedance(table, threshold), atol=1e-3)
        assert_allclose([f["interval"] for f in found], model.predict_interval(table), **close)


@every_link
def test_moments_and_tails_agree_with_quadrature(report, opened, link):
    """In the middle, far out, and where nothing is certain."""
    page = opened(report(link))
    inverse = {"identity": lambda e: e, "logit": special.expit, "probit": special.ndtr, "log": np.exp}[link]
    for eta, sd in ((0.3, 0.5), (-4.0, 1.0), (2.0, 2.0)):
        first, second = (normal_mean(lambda e, k=k: inverse(e) ** k, eta, sd) for k in (1, 2))
        found = page.evaluate("([e, s]) => bochner.moments(e, s)", [eta, sd])
        assert_allclose(found, (first, np.sqrt(second - first**2)), rtol=2e-4)
        threshold = float(inverse(np.array(eta + 1.5 * sd)))
        above = page.evaluate("([e, s, t]) => bochner.exceedance(e, s, t)", [eta, sd, threshold])
        assert_allclose(above, special.ndtr(-1.5), rtol=1e-6)
    certain = page.evaluate("bochner.moments(0.7, 0)")
    assert_allclose(certain, (inverse(0.7), 0), atol=1e-8)


def test_the_slider_moves_probability_and_areas(report, opened):
    page = opened(report("identity"))
    page.click("[data-layer=exceedance]")
    low, high = (float(page.get_attribute("#threshold", name)) for name in ("min", "max"))
    seen = []
    for value in (low, (low + high) / 2, high):
        page.locator("#threshold").fill(str(value))
        seen.append((float(page.inner_text("#share-expected").split("\u202f")[0]), pixels(page)))
    shares = [share for share, _ in seen]
    assert shares[0] > 95 > shares[1] > 5 > shares[2]
    assert len({drawn for _, drawn in seen}) == 3
    # keys move it too, by its own step, and the number follows
    page.focus("#threshold")
    page.keyboard.press("ArrowLeft")
    assert_allclose(
        float(page.input_value("#threshold-number")), high - float(page.get_attribute("#threshold", "step"))
    )


def test_the_number_field_takes_any_threshold(report, opened):
    page = opened(report("log"))
    page.fill("#threshold-number", "0")
    assert page.inner_text("#share-expected").startswith("100")
    page.fill("#threshold-number", "-3")  # no rate is as low
    assert page.inner_text("#share-expected").startswith("100")
    page.fill("#threshold-number", "1000000")
    assert page.inner_text("#share-expected").startswith("0")
    page.fill("#threshold-number", "")
    assert page.inner_text("#threshold-words") == "1,000,000"


def test_hover_tells_the_values_of_the_place(report, opened, fitted):
    page = opened(report("identity", response="heat", unit="K"))
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    named = re.fullmatch(r"x0 ([\d,.]+), x1 ([\d,.]+)", page.inner_text("#read-place"))
    x, y = (float(text.replace(",", "")) for text in named.groups())
    model, covariate = fitted("identity").model, fitted("identity").X[:, 2].mean()
    mean, sd = model.predict([[x, y, covariate]], return_std=True)
    # half a pixel of the map away, at most
    assert_allclose(float(page.inner_text("#read-mean").split()[0]), mean[0], atol=0.15)
    assert_allclose(float(page.inner_text("#read-sd").split()[0]), sd[0], rtol=0.2)
    assert page.is_visible("#tooltip") and page.inner_text("#tooltip").startswith("mean ")
    assert page.is_visible("#legend-marker")
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] - 60)
    assert page.is_hidden("#tooltip") and page.inner_text("#read-mean") == "–"


def test_arrow_keys_move_the_pointer_and_zoom_works(report, opened):
    page = opened(report("identity"))
    page.focus("#map")
    page.keyboard.press("ArrowRight")
    first = page.inner_text("#read-place")
    page.keyboard.press("Shift+ArrowUp")
    assert page.inner_text("#read-place") != first and page.inner_text("#read-mean") != "–"
    page.keyboard.press("Escape")
    whole = pixels(page)
    page.keyboard.press("+")
    assert pixels(page) != whole and page.is_enabled("#zoom-reset")
    page.click("#zoom-reset")
    page.mouse.move(5, 5)
    assert page.is_disabled("#zoom-reset")


def test_dragging_moves_a_zoomed_map_and_the_wheel_scrolls_the_page(report, opened):
    page = opened(report("identity"))
    box = page.locator("#map").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.wheel(0, 200)
    for _ in range(100):  # scrolling takes its time
        if page.evaluate("window.scrollY") > 50:
            break
        page.wait_for_timeout(50)
    assert page.evaluate("window.scrollY") > 50
    page.evaluate("window.scrollTo(0, 0)")
    page.click("#zoom-in")
    page.mouse.move(*middle)
    before = page.inner_text("#read-place")
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 30, steps=4)
    page.mouse.up()
    page.mouse.move(*middle)
    assert page.inner_text("#read-place") != before


def test_observations_can_be_hidden_and_are_absent_without_data(report, opened):
    page = opened(report("identity", data=True))
    shown = pixels(page)
    page.uncheck("#observations")
    assert pixels(page) != shown
    assert opened(report("identity")).locator("#observations").count() == 0


@pytest.mark.parametrize("size", [LAPTOP, PHONE, (820, 1180), (320, 640)])
def test_nothing_sticks_out_at_any_width(report, opened, size):
    page = opened(report("logit", data=True, title="A long title of a survey of prevalences"), size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.locator("#map").bounding_box()["width"] > 0.6 * min(size[0], 700)
    clipped = page.evaluate(
        "() => [...document.querySelectorAll('h1, h2, h3, p, dd, dt, li, button')]"
        ".filter(e => !e.matches('.hide, .on-paper *') && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    )
    assert clipped == []


def test_a_tap_on_a_phone_reads_the_map(report, opened):
    page = opened(report("identity", data=True), PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    box = page.locator("#map").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.inner_text("#read-mean") != "–" and page.is_visible("#tooltip")


def test_it_prints_every_layer_and_no_control(report, opened, tmp_path):
    page = opened(report("identity", data=True))
    page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes()))
    assert 3 <= pages <= 8
    page.emulate_media(media="print")
    assert page.is_hidden(".map-card") and page.is_hidden("nav")
    maps = page.locator("canvas[data-print]")
    assert maps.count() == 3
    drawn = maps.evaluate_all("all => all.map(c => c.toDataURL().length)")
    assert min(drawn) > 10_000 and len(set(drawn)) == 3
    assert all(box["width"] > 200 for box in (maps.nth(i).bounding_box() for i in range(3)))


def test_texts_of_the_user_are_never_run(opened, tmp_path):
    pd = pytest.importorskip("pandas")
    nasty = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
    coords = places(40)
    frame = pd.DataFrame({"<i>east": coords[:, 0], nasty: coords[:, 1]})
    model = SpatialRegressor(Matern(40.0), noise_variance=0.1, tune=None).fit(frame, surface(coords))
    path = write_report(model, tmp_path / "nasty.html", title=nasty, response=nasty, unit=nasty, n_pixels=99)
    page = opened(path)
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.click("[data-layer=exceedance]")
    assert page.evaluate("window.hacked") is None
    assert page.inner_text("h1") == nasty and nasty in page.inner_text("#layer-words")
