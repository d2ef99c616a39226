"""What stands on the page, read as HTML: content, privacy, escaping."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialClassifier, SpatialRegressor, load
from bochner.diagnostics import remember
from bochner.exceptions import CheckWarning, InputError
from bochner.kernels import Linear, Matern
from bochner.report import MapLayers, Survey, write_report
from bochner.report.page import as_json
from tests.report.conftest import places, surface


class Reader(HTMLParser):
    """Text that a reader sees, and the addresses that a browser would ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.addresses: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def read(path) -> tuple[str, Reader]:
    html = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(html)
    return " ".join(" ".join(reader.text).split()), reader


def payload(path) -> dict:
    return json.loads(re.search(r'id="payload">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1])


def test_the_page_tells_the_whole_story(report, fitted):
    text, _ = read(report("identity", title="Warm <places>", response="temperature", unit="°C"))
    model = fitted("identity").model
    for words in (
        "Warm <places>", "linear effect of x2", "120 rows", "std. error", "intercept", "log evidence",
        "Kernel: how alike places are", "Variogram: data and model", "Are the predicted laws honest?",
        "Do intervals hold what they promise?", "Residuals", "leave one out", "blocks", "CRPS", "RMSE",
        "found nothing to warn of", "covariate at its mean", "no observation and no place of one",
    ):  # fmt: skip
        assert words in text, words
    for reason in model.choices_.values():
        assert " ".join(reason.split()) in text.replace("\u202f%", " %")


def test_the_page_asks_nobody_for_anything(report):
    for data in (False, True):
        path = report("identity", data=data)
        _, reader = read(path)
        assert all(address.startswith("#") for address in reader.addresses)
        html = path.read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[^\s\"'<>)]+", html)) <= {"http://www.w3.org/2000/svg"}
        assert "default-src 'none'" in html


def test_places_and_responses_are_there_only_when_data_are_given(report, fitted):
    """Neither in words nor in the numbers behind the map, to any number of digits that could name a village."""
    one = fitted("identity")
    without, given = (report("identity", data=data) for data in (False, True))
    assert payload(without)["observations"] is None
    hidden = without.read_text(encoding="utf-8")
    for value in np.r_[one.X[:, 0], one.X[:, 1], one.y]:
        assert f"{value:.7g}" not in hidden
    shown = payload(given)["observations"]
    assert_allclose(np.column_stack([shown["x"], shown["y"]]), one.X[:, :2], rtol=1e-6)
    assert_allclose(shown["value"], one.y, rtol=1e-6)
    assert "Pass it on only to readers who may see them" in read(given)[0]


def test_observations_are_coloured_at_the_covariates_of_the_map(report, fitted):
    one = fitted("identity")
    shown = payload(report("identity", data=True))["observations"]
    effect = one.model.coef_[1] * (one.X[:, 2] - one.X[:, 2].mean())
    assert_allclose(shown["shade"], one.y - effect, rtol=1e-6)


def test_texts_of_the_user_are_escaped(tmp_path):
    pd = pytest.importorskip("pandas")
    nasty = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">&amp;\u2028'
    coords = places(40)
    frame = pd.DataFrame({"<b>east": coords[:, 0], "north'\"": coords[:, 1], nasty: coords[:, 0] % 7})
    model = SpatialRegressor(
        Matern(40.0), coords=["<b>east", "north'\""], covariates=[nasty], noise_variance=0.1, tune=None
    ).fit(frame, surface(coords))
    told = {"title": nasty, "response": nasty, "unit": nasty, "n_pixels": 99}
    path = write_report(model, tmp_path / "nasty.html", data=(frame, surface(coords)), **told)
    html = path.read_text(encoding="utf-8")
    assert html.count("<script") == 2 and html.count("</script>") == 2
    assert "<img" not in html and "<b>" not in html
    assert payload(path)["response"] == nasty
    assert nasty.replace("\u2028", " ").split("&amp;")[0] in read(path)[0]


def test_json_cannot_end_its_element():
    text = as_json({"a": "</script><!--", "b": "\u2028&"})
    assert "<" not in text and ">" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--", "b": "\u2028&"}


def test_the_same_model_makes_the_same_page(fitted, tmp_path):
    one = fitted("identity")
    first, second = (write_report(one.model, tmp_path / f"{i}.html", n_pixels=200) for i in range(2))
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.html", "1.html"]


def test_a_report_of_a_survey_is_small(report):
    assert report("identity", data=True, n_pixels=40_000).stat().st_size < 1_500_000


@pytest.mark.parametrize("link", ["logit", "log"])
def test_counts_have_ratios_and_prevalences(report, link):
    text, _ = read(report(link, data=True, response="rate"))
    assert {"logit": "odds ratio", "log": "rate ratio"}[link] in text
    assert "(in counts)" in text
    assert payload(report(link, data=True, response="rate"))["link"] == link


def test_new_data_judge_the_model(fitted, tmp_path):
    """Rows that the model has not seen are predicted; its own are told apart and left to cross-validation."""
    one = fitted("identity")
    coords = places(50, seed=9)
    X = np.column_stack([coords, np.zeros(50)])
    new = write_report(one.model, tmp_path / "new.html", data=(X, 20 + surface(coords)), n_pixels=99)
    text, _ = read(new)
    assert "data given" in text and "50 rows of the data given" in text
    own, _ = read(write_report(one.model, tmp_path / "own.html", data=(one.X[::-1], one.y[::-1]), n_pixels=99))
    assert "data given:" not in own and "Leave-one-out predictions of all rows" in own


def test_a_loaded_model_reports_with_its_diagnostics_or_with_data(fitted, tmp_path):
    one = fitted("identity")
    one.model.save(tmp_path / "model.bochner")
    model = load(tmp_path / "model.bochner")
    model.set_fitted(replace(model.fitted_, diagnostics=one.diagnostics.as_dict()))
    text, _ = read(write_report(model, tmp_path / "a.html", n_pixels=99))
    assert "leave one out" in text
    model.set_fitted(replace(model.fitted_, diagnostics=None))
    with pytest.raises(InputError, match="neither its rows nor diagnostics"):
        write_report(model, tmp_path / "b.html")
    text, _ = read(write_report(model, tmp_path / "b.html", data=(one.X, one.y), n_pixels=99))
    assert "Are the predicted laws honest?" in text and "flatter the model" in text


def test_findings_of_check_stand_at_the_top(tmp_path):
    rng = np.random.default_rng(1)
    model = SpatialRegressor(Matern(40.0, 0.001), noise_variance=1.0, tune=None).fit(places(50), rng.normal(size=50))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckWarning)
        text, _ = read(write_report(model, tmp_path / "flat.html", n_pixels=99))
    assert text.index("Check these first") < text.index("the map is flat") < text.index("What was chosen")
    assert "found nothing to warn of" not in text


def test_nothing_to_warn_of_is_said_only_where_every_check_was_made(fitted, tmp_path):
    model = fitted("identity").model
    remember(model)
    model.save(tmp_path / "model.bochner")
    text, _ = read(write_report(load(tmp_path / "model.bochner"), tmp_path / "all.html", n_pixels=99))
    assert "found nothing to warn of" in text
    old = load(tmp_path / "model.bochner")
    old.set_fitted(replace(old.fitted_, doubts=None))  # as of a file that earlier versions wrote
    text, _ = read(write_report(old, tmp_path / "some.html", n_pixels=99))
    assert "nothing to warn of" not in text and "Whether intervals are too narrow was not checked" in text


def test_layers_of_the_caller_are_taken_as_they_are(fitted, tmp_path):
    one = fitted("identity")
    mean = np.linspace(15, 25, 12).reshape(3, 4)
    layers = MapLayers(
        mean, np.full((3, 4), 0.5), (0, 0, 4, 3), "EPSG:3035", ("E", "N"), (0.001, 0.001), "From rasters."
    )
    path = write_report(one.model, tmp_path / "own.html", layers=layers, threshold=21.0)
    text, _ = read(path)
    found = payload(path)
    assert "From rasters." in text and "covariate at its mean" not in text
    assert found["extent"] == [0, 0, 4, 3] and found["names"] == ["E", "N"] and found["threshold"]["value"] == 21.0
    assert found["lengthUnit"] == "km"


def test_observations_follow_the_map_across_the_antimeridian(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    lon = (rng.uniform(176, 184, size=60) + 180) % 360 - 180
    frame = pd.DataFrame({"lon": lon, "lat": rng.uniform(-20, -15, size=60)})
    model = SpatialRegressor(Matern(200.0), noise_variance=0.1, tune=None).fit(frame, frame.lat)
    found = payload(write_report(model, tmp_path / "fiji.html", data=(frame, frame.lat), n_pixels=99))
    west, _, east, _ = found["extent"]
    assert east - west < 10 and west < min(found["observations"]["x"]) < max(found["observations"]["x"]) < east
    assert found["geographic"] and found["lengthUnit"] == "km"


def test_classifiers_of_two_classes_report_as_one_model(tmp_path):
    coords = places(80)
    labels = np.where(surface(coords) > 0, "wet", "dry")
    options = {"kernel": Matern(40.0), "noise_variance": 0.0, "tune": None}
    model = SpatialClassifier(**options).fit(coords, labels)
    assert payload(write_report(model, tmp_path / "two.html", n_pixels=99))["link"] == "logit"
    three = SpatialClassifier(**options).fit(coords, np.where(coords[:, 0] > 600, "far", labels))
    with pytest.raises(InputError, match="has 3 classes, and a map shows one"):
        write_report(three, tmp_path / "three.html")


def test_one_coordinate_is_drawn_as_a_curve(tmp_path):
    x = np.linspace(0, 10, 60)[:, None]
    model = SpatialRegressor(Matern(2.0), noise_variance=0.01, tune=None).fit(x, np.sin(x[:, 0]))
    html = write_report(model, tmp_path / "line.html", data=(x, np.sin(x[:, 0]))).read_text(encoding="utf-8")
    assert "95 % interval of the surface" in html.replace("\u202f", " ") and "payload" not in html


def test_a_kernel_that_is_not_stationary_has_no_curve(tmp_path):
    coords = places(40)
    model = SpatialRegressor(Linear(), noise_variance=0.1, tune=None).fit(coords, coords[:, 0] / 100)
    text, _ = read(write_report(model, tmp_path / "linear.html", n_pixels=99))
    assert "Kernel: how alike" not in text and "Variogram" in text


def test_formulas_report_as_arrays_do(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    coords = places(60)
    frame = pd.DataFrame({"x": coords[:, 0], "y": coords[:, 1], "h": coords[:, 0] % 9, "t": surface(coords)})
    model = SpatialRegressor.from_formula("t ~ h + gp(x, y)", kernel=Matern(40.0), noise_variance=0.1, tune=None).fit(
        frame
    )
    text, _ = read(write_report(model, tmp_path / "formula.html", data=(frame, frame.t), n_pixels=99))
    assert "linear effect of h" in text


def test_data_in_another_shape_are_refused(fitted, tmp_path):
    with pytest.raises(InputError, match=r"data is a ndarray; needed is the pair \(X, y\)"):
        write_report(fitted("identity").model, tmp_path / "x.html", data=np.ones((3, 3)))
    assert Survey(np.ones((2, 2)), [1, 2], trials=[2, 4]).response.tolist() == [0.5, 0.5]
