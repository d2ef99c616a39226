"""Places in degrees, bare degrees and km: an image is judged in the same gaps, by the same neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import SpatialRegressor
from bochner.inference import Domain
from bochner.inference.schemes.lattice_scheme import LatticeScheme
from bochner.inference.tuning import held_out_places, sums
from bochner.inference.tuning.objectives import gaussian_objectives
from bochner.kernels import Matern
from tests.inference.tuning.test_multiscale import task_of

UNITS = {"degrees": (0.0093, 0.0093), "km": (0.825, 1.028), "other km": (0.82917, 1.0341)}
ORIGIN = np.array([-95.85588607172643, 37.06811132610509])


def image(unit: str) -> np.ndarray:
    nodes = np.stack(np.meshgrid(np.arange(40.0), np.arange(36.0)), axis=-1).reshape(-1, 2)
    cloud = (np.hypot(*(nodes - [12, 25]).T) < 6) | (np.hypot(*(nodes - [33, 8]).T) < 4)
    return (nodes[~cloud] + ORIGIN) * UNITS[unit]


@pytest.fixture(scope="module")
def pixels():
    return task_of(image("degrees"))


@pytest.mark.parametrize("unit", ["km", "other km"])
def test_gaps_are_the_same_in_every_unit(pixels, unit):
    task = task_of(image(unit))
    folds, others = (held_out_places.task_folds(t.obs, Domain(), 0, t.grid) for t in (task, pixels))
    for fold, other in zip(folds, others, strict=True):
        assert_array_equal(fold[1], other[1])


@pytest.mark.parametrize("unit", ["km", "other km"])
def test_neighbours_are_the_same_in_every_unit(pixels, unit):
    plans = [gaussian_objectives(t, LatticeScheme())[0][0].plan for t in (task_of(image(unit)), pixels)]
    assert_array_equal(plans[0].neighbours, plans[1].neighbours)
    assert_array_equal(plans[0].targets, plans[1].targets)


def test_whitened_places_do_not_know_the_unit():
    """A rotated metric, and the same with one axis in another unit: the sum is learned from the same coordinates."""
    unit = np.array([1.0, 0.8])
    root = np.array([[1 / 3, 0.2], [-0.1, 1 / 2]])
    kernels = []
    for w in (root, root / unit):
        # length scales and rotation of the metric w'w
        values, axes = np.linalg.eigh(w.T @ w)
        kernels.append(Matern(tuple(values**-0.5), rotation=float(np.arctan2(axes[1, 0], axes[0, 0]))))
    coords = np.random.default_rng(0).uniform(size=(50, 2))
    obs = [task_of(places).obs for places in (coords, coords * unit)]
    white = [sums._whitened(o, k).rows.coords for o, k in zip(obs, kernels, strict=True)]
    assert_allclose(white[0], white[1], rtol=1e-10)
    places = obs[0].rows.coords
    far = places[:, None] - places[None]
    assert_allclose(
        np.linalg.norm(white[0][:, None] - white[0][None], axis=-1), np.linalg.norm(far @ root.T, axis=-1), atol=1e-10
    )


@pytest.mark.parametrize("unit", [(1e6, 1e-3), (30.0, 1.0)])
def test_a_weak_field_is_found_whatever_the_units_of_its_axes(unit):
    rng = np.random.default_rng(7)
    places = rng.uniform(size=(1_800, 2))
    field = np.sin(9 * places[:, 0]) * np.cos(11 * places[:, 1])
    y = field + 2 * rng.normal(size=len(places))
    mean = SpatialRegressor().fit(places[:1_300] * unit, y[:1_300]).predict(places[1_300:] * unit)
    assert np.corrcoef(mean, field[1_300:])[0, 1] > 0.8


def test_counts_of_a_weak_field_are_told_apart_whatever_the_units_of_its_axes():
    rng = np.random.default_rng(7)
    places, unit = rng.uniform(size=(700, 2)), (1e6, 1e-3)
    field = np.sin(7 * places[:, 0]) * np.cos(8 * places[:, 1])
    y = rng.negative_binomial(0.5, 0.5 / (0.5 + np.exp(1 + field))).astype(float)
    alike, apart = (
        SpatialRegressor(family="negative-binomial").fit(places[:400] * u, y[:400]).predict(places[400:] * u)
        for u in (1.0, unit)
    )
    assert np.corrcoef(apart, field[400:])[0, 1] > 0.9 * np.corrcoef(alike, field[400:])[0, 1] > 0.4


@pytest.mark.slow
def test_few_counts_are_averaged_over_ranges_in_the_extents_of_unlike_axes_too():
    rng = np.random.default_rng(7)
    places, unit = rng.uniform(size=(450, 2)), (1e6, 1e-3)
    field = np.sin(7 * places[:, 0]) * np.cos(8 * places[:, 1])
    y = rng.poisson(np.exp(0.5 + field)).astype(float)
    alike, apart = (
        SpatialRegressor(family="poisson").fit(places[:150] * u, y[:150]).predict(places[150:] * u) for u in (1.0, unit)
    )
    assert np.corrcoef(apart, field[150:])[0, 1] > 0.95 * np.corrcoef(alike, field[150:])[0, 1] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e3, 1e-3])
@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_thousands_of_counts_and_classes_do_not_depend_on_the_unit_of_an_axis(family, unit):
    """Beyond rows whose evidence is exact, length scales begin in the ratio of the extents where that is likelier."""
    rng = np.random.default_rng(2)
    n = 2_600
    X = rng.uniform(size=(n + 300, 2))
    kernel = Matern(0.25, nu=0.5)
    eta = np.linalg.cholesky(kernel(X, X) + 1e-8 * np.eye(n + 300)) @ rng.normal(size=n + 300)
    y = rng.poisson(np.exp(eta)) if family == "poisson" else rng.uniform(size=n + 300) < 1 / (1 + np.exp(-2 * eta))
    means = []
    for size in (1.0, unit):
        places = X * np.array([1.0, size])
        model = SpatialRegressor(family=family).fit(places[:n], y[:n].astype(float))
        means.append(model.predict(places[n:]))
    assert np.corrcoef(*means)[0, 1] > 0.97
