"""An amplitude over space: larger where errors are, whatever the units of the axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.inference.tuning.varying_amplitude import Errors, _clearly_likelier, amplitude_of


def errors(unit: np.ndarray) -> Errors:
    """Errors of sd 3 in the east and 1 in the west, where a kernel lets expect 1 of the field and little noise."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(600, 2))
    error = np.where(coords[:, 0] > 0.5, 3.0, 1.0) * rng.standard_normal(600)
    return Errors(np.arange(600), coords * unit, error, np.ones(600), np.full(600, 0.01))


def test_amplitudes_follow_the_errors():
    found = amplitude_of(errors(np.ones(2)), 24)
    east, west = found.at(np.array([[0.9, 0.5]])), found.at(np.array([[0.1, 0.5]]))
    assert 2 < east[0] / west[0] < 4 and 0.7 < west[0] < 1.4


def test_amplitudes_do_not_depend_on_the_units_of_the_axes():
    unit, places = np.array([1000.0, 0.01]), np.random.default_rng(1).uniform(size=(30, 2))
    plain, scaled = amplitude_of(errors(np.ones(2)), 12), amplitude_of(errors(unit), 12)
    assert_allclose(scaled.at(places * unit), plain.at(places), rtol=1e-6)


def test_an_amplitude_is_clearly_likelier_where_errors_vary_and_not_where_they_do_not():
    varied = errors(np.ones(2))
    even = replace(varied, error=np.random.default_rng(2).standard_normal(600))
    assert _clearly_likelier(varied, 12) and not _clearly_likelier(even, 12)


def test_a_field_known_to_many_digits_is_not_divided_by_an_amplitude():
    def folded(places):
        return np.abs(places[:, 0] - 0.5) + 0.3 * np.sin(8 * places[:, 1])

    rng = np.random.default_rng(1)
    X, new = rng.uniform(size=(3_200, 2)), rng.uniform(size=(500, 2))
    model = SpatialRegressor().fit(X, folded(X))
    mean, sd = model.predict(new, return_std=True)
    off = np.abs(mean - folded(new))
    assert np.mean(off < 1.96 * sd) > 0.9 and np.median(off) < 5e-6
