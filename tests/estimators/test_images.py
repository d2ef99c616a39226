"""Images: no number of pixels at which quality falls, and what is told where memory ends."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import fft

from bochner import SpatialRegressor
from bochner.inference.fits.base import grid_bytes, iterative_bytes, kriging_bytes
from bochner.kernels import Matern
from bochner.resources import Resources

ROUGH = Matern(6.0, nu=0.5)


def image(shape, kernel, seed=0, noise=0.05, missing=0.2):
    """Truth, and which pixels were seen, of a field drawn on a torus."""
    rng = np.random.default_rng(seed)
    counts = [2 * n for n in shape]
    lags = np.stack(np.meshgrid(*[np.minimum(np.arange(n), n - np.arange(n)) for n in counts], indexing="ij"), axis=-1)
    covariance = kernel.lag_covariance(lags.reshape(-1, len(shape)).astype(float)).reshape(counts)
    power = np.maximum(fft.rfftn(covariance).real, 0.0)
    truth = fft.irfftn(fft.rfftn(rng.standard_normal(counts)) * np.sqrt(power), s=counts)[tuple(map(slice, shape))]
    seen = rng.uniform(size=shape) > missing
    blob = np.linalg.norm(np.argwhere(seen | True) - np.array(shape) / 3, axis=1).reshape(shape) < min(shape) / 8
    seen &= ~blob
    return truth, seen, truth + np.sqrt(noise) * rng.standard_normal(shape)


def test_memory_of_an_image_is_that_of_ffts_not_of_scattered_rows():
    nodes = np.argwhere(np.ones((300, 400), dtype=bool)).astype(float)
    assert kriging_bytes(nodes) == grid_bytes(120_000, 600 * 800)
    assert kriging_bytes(nodes) < 0.5 * iterative_bytes(120_000, 2)
    assert kriging_bytes(np.random.default_rng(0).uniform(size=(1_000, 2))) == iterative_bytes(1_000, 2)


def test_without_a_limit_the_memory_of_the_machine_is_one():
    assert Resources(memory_limit=1_000).room == 1_000
    assert 1e6 < Resources().room < 1e15


def test_a_stack_of_images_is_a_grid_in_three_dimensions():
    kernel = Matern((3.0, 5.0, 5.0), nu=0.5)
    _, seen, y = image((6, 17, 17), kernel, seed=1)
    X, gaps = np.argwhere(seen).astype(float), np.argwhere(~seen).astype(float)
    asked = {"features": "conjugate-gradients", "noise_variance": 0.05, "tune": None, "fit_intercept": False}
    model = SpatialRegressor(kernel, **asked).fit(X, y[seen])
    assert "regular grid, FFT" in str(model.choices_["solver"])
    exact = kernel.covariance(gaps, X) @ np.linalg.solve(kernel.covariance(X, X) + 0.05 * np.eye(len(X)), y[seen])
    assert_allclose(model.predict(gaps), exact, atol=2e-3)


@pytest.mark.slow
def test_beyond_the_memory_held_out_rows_choose_and_it_is_told_in_units_of_the_response():
    truth, seen, y = image((90, 90), ROUGH, seed=2)
    X, gaps = np.argwhere(seen).astype(float), np.argwhere(~seen).astype(float)
    asked = {"kernel": ROUGH, "noise_variance": 0.05, "tune": None}
    whole = SpatialRegressor(**asked).fit(X, y[seen])
    small = SpatialRegressor(**asked, memory_limit="45MB").fit(X, y[seen])
    told = str(small.choices_["n_frequencies"])
    assert "more than the memory_limit" in told and "CRPS" in told and "field of sd" in told
    assert small.fitted_.model.scheme == "nearest"
    errors = [np.sqrt(np.mean((m.predict(gaps) - truth[~seen]) ** 2)) for m in (whole, small)]
    assert errors[1] < 1.1 * errors[0]


def test_waves_that_had_to_do_are_a_finding():
    _, seen, y = image((90, 90), ROUGH, seed=2)
    model = SpatialRegressor(ROUGH, features="lattice", noise_variance=0.05, tune=None, memory_limit="45MB")
    model.fit(np.argwhere(seen).astype(float), y[seen])
    assert model.fitted_.model.scheme == "lattice"
    assert any("leave out a rough part of the field, of sd" in finding for finding in model.check())


def test_a_model_that_has_predicted_can_still_be_copied():
    _, seen, y = image((70, 70), ROUGH, seed=3)
    model = SpatialRegressor(ROUGH, noise_variance=0.05, tune=None).fit(np.argwhere(seen).astype(float), y[seen])
    places = np.argwhere(~seen)[:50].astype(float)
    mean = model.predict(places)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_allclose(other.predict(places), mean, rtol=1e-12)


def test_targets_on_and_off_the_pixels_have_one_surface():
    _, seen, y = image((70, 70), ROUGH, seed=3)
    model = SpatialRegressor(ROUGH, noise_variance=0.05, tune=None).fit(np.argwhere(seen).astype(float), y[seen])
    on = np.argwhere(~seen)[:200].astype(float)
    assert_allclose(model.predict(on + 1e-2), model.predict(on), atol=0.05)


@pytest.mark.slow
def test_an_image_of_many_pixels_is_kriged_as_one_of_few():
    """The 328,000 pixels that were once too many: as near to the truth as a small image of the same field."""
    errors = []
    for side in (150, 640):
        truth, seen, y = image((side, side), ROUGH, seed=4)
        X, gaps = np.argwhere(seen).astype(float), np.argwhere(~seen).astype(float)
        model = SpatialRegressor(ROUGH, noise_variance=0.05, tune=None).fit(X, y[seen])
        lone = gaps[np.linalg.norm(gaps - side / 3, axis=1) > side / 8 + 3]
        errors.append(np.sqrt(np.mean((model.predict(lone) - truth[tuple(lone.astype(int).T)]) ** 2)))
        assert model.fitted_.model.scheme == "conjugate-gradients"
    assert errors[1] < 1.05 * errors[0]
