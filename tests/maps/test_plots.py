"""Plots: figures with what they should show, and errors where there is nothing to show."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import InputError, KernelError
from bochner.kernels import Matern, Polynomial
from bochner.maps import plot_calibration, plot_map, plot_spectrum, plot_variogram
from tests.maps import surveys
from tests.maps.surveys import survey

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def titles(figure) -> list[str]:
    return [text for ax in figure.axes if (text := ax.get_title(loc="left"))]


def is_drawn(figure, path) -> bool:
    figure.savefig(path)
    return len(np.unique(matplotlib.image.imread(path).reshape(-1, 4), axis=0)) > 20


def test_map_shows_mean_and_sd(tmp_path):
    """Two panels with the pixels of the map, in equal aspect, and colour bars that name the response."""
    model = surveys.gaussian()
    data = survey()
    figure = plot_map(model, 0.05, bounds=(0, 0, 1, 1), data=data, values=data["response"], label="rain (mm)")
    assert titles(figure) == ["Mean", "Standard deviation"]
    first = figure.axes[0]
    image = np.asarray(first.images[0].get_array())
    expected = model.predict(data.iloc[:1].assign(x=0.025, y=0.975)[["x", "y"]])
    assert image.shape == (20, 20)
    assert_allclose(image[0, 0], expected[0], rtol=1e-2)
    assert first.get_aspect() == 1.0
    assert any(ax.get_ylabel() == "rain (mm)" for ax in figure.findobj(matplotlib.axes.Axes))
    assert len(first.collections[0].get_offsets()) == len(data)
    assert is_drawn(figure, tmp_path / "map.png")


def test_map_of_exceedance_has_a_third_panel():
    figure = plot_map(surveys.gaussian(), 0.1, bounds=(0, 0, 1, 1), exceed=1.5)
    assert titles(figure) == ["Mean", "Standard deviation", "Probability above 1.5"]
    assert figure.axes[2].images[0].get_clim() == (0.0, 1.0)


def test_map_of_degrees_is_not_squashed():
    """At 60 degrees north a degree of latitude is drawn twice as long as one of longitude."""
    data = survey()
    frame = data.assign(lon=data["x"], lat=59.5 + data["y"])
    model = SpatialRegressor(Matern(30.0), noise_variance=0.01, tune=None, coords=["lon", "lat"])
    figure = plot_map(model.fit(frame, data["response"]), 0.1, bounds=(0, 59.5, 1, 60.5), bands=["sd"])
    assert_allclose(figure.axes[0].get_aspect(), 2.0, rtol=1e-3)
    assert figure.axes[0].get_xlabel() == "longitude (°)"


def test_map_goes_into_axes_that_are_given():
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    assert plot_map(surveys.gaussian(), 0.1, bounds=(0, 0, 1, 1), axes=axes) is figure
    with pytest.raises(InputError, match="1 axes were given"):
        plot_map(surveys.gaussian(), 0.1, bounds=(0, 0, 1, 1), axes=axes[0])


def test_map_of_an_unknown_band_is_refused():
    with pytest.raises(InputError, match="'median'"):
        plot_map(surveys.gaussian(), 0.1, bounds=(0, 0, 1, 1), bands=["median"])


def test_variogram_shows_bins_and_curve(tmp_path):
    """The curve starts at the noise and rises to noise plus variance."""
    model = surveys.gaussian()
    figure = plot_variogram(model)
    ax = figure.axes[0]
    curve = next(line for line in ax.lines if line.get_label() == "fitted kernel")
    assert_allclose(curve.get_ydata()[0], model.noise_variance_)
    assert curve.get_ydata()[-1] < model.noise_variance_ + model.kernel_.variance
    assert (np.diff(curve.get_ydata()) > 0).all()
    assert ax.get_xlabel() == "distance"
    assert is_drawn(figure, tmp_path / "variogram.png")


def test_calibration_shows_three_panels(tmp_path):
    figure = plot_calibration(surveys.gaussian(), label="rain (mm)")
    assert titles(figure) == ["Probability transform", "Coverage of intervals", "Predicted and observed"]
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels[0].startswith("leave one out (n = 80)")
    assert figure.axes[2].get_xlabel() == "predicted rain (mm)"
    assert is_drawn(figure, tmp_path / "calibration.png")


def test_spectrum_counts_the_waves(tmp_path):
    """Waves are drawn for a model that has them; their share of the variance ends below or at all of it."""
    figure = plot_spectrum(surveys.waves())
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "80 waves" in labels
    share = next(line for line in figure.axes[1].lines if line.get_label().startswith("waves")).get_ydata()
    assert 0.9 < share[-1] <= 1.001 and (np.diff(share) >= 0).all()
    assert is_drawn(figure, tmp_path / "spectrum.png")
    exact = plot_spectrum(surveys.gaussian())
    assert [text.get_text() for text in exact.axes[0].get_legend().get_texts()] == ["kernel"]


def test_spectrum_of_a_polynomial_is_refused():
    X = np.random.default_rng(0).uniform(size=(20, 2))
    model = SpatialRegressor(Polynomial(2), noise_variance=0.1, tune=None).fit(X, X.sum(axis=1))
    with pytest.raises(KernelError, match="not shift-invariant"):
        plot_spectrum(model)
