"""The grid that the page's map is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.diagnostics import diagnose
from bochner.exceptions import InputError
from bochner.kernels import Matern
from bochner.report import limits
from bochner.report.layers import MapLayers, predict_layers
from bochner.report.payload import law_gap, threshold_of
from tests.report.conftest import places, surface


@pytest.mark.parametrize("link", ["identity", "logit", "log"])
def test_pixels_hold_the_law_of_the_linear_predictor(fitted, link):
    """The middle of a pixel, with the covariate at its mean, is what `predict_latent` says."""
    one = fitted(link)
    layers = predict_layers(one.model, one.diagnostics, 600)
    x, y = layers.centres()
    row, column = np.argwhere(layers.known)[[3, 100, -5]].T
    table = np.column_stack([x[column], y[row], np.full(3, one.X[:, 2].mean())])
    mean, sd = one.model.predict_latent(table)
    # to within the tolerance of the map, in standard deviations
    assert (np.abs(layers.mean_eta[row, column] - mean) < limits.MAP_TOLERANCE * sd).all()
    assert_allclose(layers.sd_eta[row, column], sd, rtol=limits.MAP_TOLERANCE)
    assert "x2 = " in layers.note and "mean over the data" in layers.note


def test_north_is_up_and_west_is_left(fitted):
    layers = predict_layers(fitted("identity").model, fitted("identity").diagnostics, 600)
    x, y = layers.centres()
    assert np.all(np.diff(x) > 0) and np.all(np.diff(y) < 0)
    width, height = layers.extent[2] - layers.extent[0], layers.extent[3] - layers.extent[1]
    # square pixels, to the rounding of their number
    assert_allclose(layers.shape[1] / layers.shape[0], width / height, rtol=0.06)


def test_a_third_coordinate_is_held_at_its_median():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(80, 2)), rng.uniform(10, 20, size=80)])
    model = SpatialRegressor(Matern((0.3, 0.3, 5.0)), noise_variance=0.1, tune=None).fit(X, X[:, 2] + X[:, 0])
    layers = predict_layers(model, diagnose(model), 100)
    i, j = np.argwhere(layers.known)[7]
    x, y = layers.centres()
    expected = model.predict([[x[j], y[i], np.median(X[:, 2])]])
    assert_allclose(layers.mean_eta[i, j], expected[0])
    assert "slice at x2 = " in layers.note


def test_a_slice_in_time_is_told_by_its_date():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["x", "y"])
    frame["date"] = pd.Timestamp("2005-01-01") + pd.to_timedelta(np.arange(60) % 21, "D")
    kernel = Matern((0.3, 0.3, 5.0))
    model = SpatialRegressor(kernel, noise_variance=0.1, tune=None).fit(frame, frame.x + frame.y)
    assert "slice at date = 2005-01-10" in predict_layers(model, diagnose(model), 100).note
    assert model.fitted_.layout.written("date", 9.5) == "2005-01-10T12:00"


def test_large_maps_are_thinned_pixel_by_pixel():
    mean = np.arange(1000.0 * 700).reshape(1000, 700)
    layers = MapLayers(mean, np.ones_like(mean), (0, 0, 7, 10)).thinned(100)
    assert layers.shape == (100, 70)
    assert np.isin(layers.mean_eta, mean).all()
    # each stands for the middle of its own ten by ten
    assert_allclose(layers.mean_eta[0, 0], mean[5, 5])
    assert_allclose(layers.mean_eta[-1, -1], mean[995, 695])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"mean_eta": np.ones(3), "sd_eta": np.ones(3)}, r"mean_eta is \(3,\).*\(rows, columns\)"),
        ({"mean_eta": np.ones((3, 2)), "sd_eta": np.ones((2, 3))}, "needed are two arrays"),
        ({"mean_eta": np.full((2, 2), np.nan), "sd_eta": np.ones((2, 2))}, "no pixel with both"),
        ({"mean_eta": np.ones((2, 2)), "sd_eta": np.ones((2, 2)), "extent": (1, 0, 0, 1)}, "west < east"),
    ],
)
def test_bad_layers_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        MapLayers(**{"extent": (0, 0, 1, 1), **parts})


@pytest.mark.parametrize("link", ["identity", "logit", "probit", "log"])
def test_threshold_opens_within_the_values_of_the_map(fitted, link):
    one = fitted(link)
    layers = predict_layers(one.model, one.diagnostics, 300)
    limit = threshold_of(one.model.fitted_, layers, None)
    mean = one.model.family_.mean(layers.mean_eta[layers.known])
    assert mean.min() < limit["value"] < mean.max()
    assert limit["low"] < limit["value"] < limit["high"]
    assert 100 < (limit["high"] - limit["low"]) / limit["step"] < 1000


def test_threshold_that_no_mean_can_take_is_refused(fitted):
    one = fitted("logit")
    layers = predict_layers(one.model, one.diagnostics, 300)
    with pytest.raises(InputError, match=r"threshold is 1.5, but a p\w+ lies between 0 and 1"):
        threshold_of(one.model.fitted_, layers, 1.5)
    assert threshold_of(one.model.fitted_, layers, 0.999)["value"] == 0.999


def test_error_of_the_normal_law_is_measured():
    """Against the law of the mixture, and none for a single set of hyperparameters."""
    coords = places(70)
    y = surface(coords) + 0.3 * np.random.default_rng(0).normal(size=70)
    averaged = SpatialRegressor(Matern()).fit(coords, y)
    plain = SpatialRegressor(Matern(40.0), noise_variance=0.1, tune=None).fit(coords, y)
    gaps = []
    for model in (averaged, plain):
        diagnostics = diagnose(model)
        gaps.append(law_gap(model.fitted_, predict_layers(model, diagnostics, 400), diagnostics, 0.5))
    assert 0 < gaps[0] < 0.1
    assert gaps[1] is None


def test_places_on_the_earth_have_kilometres():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": rng.uniform(10, 12, 60), "lat": rng.uniform(60, 61, 60)})
    model = SpatialRegressor(Matern(40.0), noise_variance=0.1, tune=None).fit(frame, frame.lat)
    layers = predict_layers(model, diagnose(model), 400)
    # a degree of longitude at 60.5 north, and one of latitude
    assert_allclose(layers.km_per_unit, (55, 111.4), rtol=0.01)
    side = (layers.extent[2] - layers.extent[0]) * layers.km_per_unit[0] / layers.shape[1]
    assert_allclose(side, (layers.extent[3] - layers.extent[1]) * layers.km_per_unit[1] / layers.shape[0], rtol=0.1)
    assert layers.names == ("lon", "lat")


def test_pixels_are_fewer_where_they_cost_more(fitted):
    from bochner.report.layers import affordable_pixels

    one = fitted("identity").model.fitted_
    mixture = one.model.mixture
    dear = replace(mixture, components=[*mixture.components] * 9)
    many = replace(one, model=replace(one.model, mixture=dear))
    assert affordable_pixels(many) <= affordable_pixels(one) <= 300 * 300
