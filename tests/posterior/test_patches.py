"""Kriging in patches: what a patch answers is what all rows would, to within the tolerance, wherever places lie."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.features import Rows
from bochner.kernels import Matern, OnAxes, Periodic, SquaredExponential
from bochner.posterior import KrigingPosterior
from bochner.posterior.patch import cells
from bochner.posterior.patches import PatchKriging

KERNELS = {
    "rough": Matern(0.3, nu=0.5),
    "smooth": SquaredExponential(0.3),
    "short": Matern(0.01, nu=0.5),
    "stretched": Matern((0.6, 0.1), nu=0.5, rotation=0.7),
    "sum": Matern(0.05, nu=0.5) + Matern(1.0, nu=2.5),
    "ridges": Matern((0.01, 1.0), nu=1.5),
    "turned ridges": Matern((0.5, 0.005), nu=0.5, rotation=0.4),
    "two ways": OnAxes(Matern(0.01), axes=0) + OnAxes(Matern(0.01), axes=1),
    "product": Matern(0.3, nu=0.5) * Matern((0.05, 2.0), nu=0.5),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def posterior(kernel, coords, noise: float = 0.05) -> tuple[SpatialRegressor, KrigingPosterior]:
    rng = np.random.default_rng(5)
    y = np.sin(6 * coords[:, 0]) + 0.3 * rng.standard_normal(len(coords))
    model = SpatialRegressor(kernel, tune=None, noise_variance=noise).fit(coords, y)
    return model, model.fitted_.model.posterior


def errors(patches: PatchKriging, rows) -> np.ndarray:
    """Of mean and sd at each place, in standard deviations."""
    means, variances = patches.moments(rows)
    true_means, true_variances = KrigingPosterior.each_mean_and_variance(patches.posteriors, rows)
    sd = np.sqrt(true_variances)
    assert_allclose(patches.means(rows), true_means, atol=patches.tolerance * sd.max())
    return (np.maximum(np.abs(means - true_means), np.abs(np.sqrt(variances) - sd)) / sd).max(axis=0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_patches_answer_as_all_rows_do(kernel, tolerance, rng):
    """Every place, on the rows themselves too, and whatever the field is like; most are spared the n^2 of all rows."""
    coords = rng.uniform(size=(130, 2))
    model, exact = posterior(kernel, coords)
    axis = np.linspace(0, 1, 45)
    places = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    rows = model.fitted_.layout.map_rows(np.concatenate([places, coords]), {})
    patches = PatchKriging([exact], tolerance)
    error = errors(patches, rows)
    assert np.quantile(error, 0.998) < tolerance and error.max() < 3 * tolerance
    if kernel is not KERNELS["two ways"]:  # whose ridges cross everywhere
        assert patches.n_patched > 0.8 * len(rows)


@pytest.mark.parametrize("noise", [1e-2, 1e-6])
def test_patches_know_how_sure_a_crowd_is(noise, rng):
    """Rows that lie almost at one place, next to places far from any row: sd is right in both."""
    coords = np.concatenate([0.1 + 0.002 * rng.standard_normal((150, 2)), rng.uniform(size=(40, 2))])
    model, exact = posterior(Matern(0.3, nu=1.5), coords, noise)
    axis = np.linspace(0, 1.2, 60)
    rows = model.fitted_.layout.map_rows(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), {})
    error = errors(PatchKriging([exact], 1e-3), rows)
    assert np.quantile(error, 0.998) < 1e-3 and error.max() < 4e-3


def test_kernels_whose_ridges_are_unknown_have_no_patches(rng):
    """A short period may fall between nodes."""
    _, exact = posterior(Periodic(period=0.2, length_scale=0.05) * Matern(1.0), rng.uniform(size=(130, 2)))
    assert KrigingPosterior.patches([exact], 1e-3) is None


@pytest.mark.parametrize("dim", [1, 3])
def test_patches_in_other_dimensions(dim, rng):
    """On a line, and in space; on a sphere patches are thin, and most places lie in one."""
    coords = rng.normal(size=(150, dim))
    if dim == 3:
        coords /= np.linalg.norm(coords, axis=1, keepdims=True)
    model, exact = posterior(Matern(0.5, nu=0.5), coords)
    places = rng.normal(size=(1_500, dim))
    if dim == 3:
        places /= np.linalg.norm(places, axis=1, keepdims=True)
    rows = Rows(places - model.fitted_.layout.centre, np.ones((len(places), exact.rows.trend.shape[1])))
    assert errors(PatchKriging([exact], 1e-2), rows).max() < 1e-2


def test_several_posteriors_are_told_apart(rng):
    """Means and variances come in the order of the posteriors, whichever kernels they share."""
    coords = rng.uniform(size=(130, 2))
    kernels = [Matern(0.3, nu=0.5), Matern(0.1, nu=1.5), Matern(0.3, variance=2.0, nu=0.5)]
    pairs = [posterior(kernel, coords, noise) for kernel, noise in zip(kernels, (0.05, 0.1, 0.2), strict=True)]
    rows = pairs[0][0].fitted_.layout.map_rows(rng.uniform(size=(1_500, 2)), {})
    assert errors(PatchKriging([exact for _, exact in pairs], 1e-2), rows).max() < 1e-2


def test_a_mixture_is_the_same_by_patches(rng):
    """Sets of hyperparameters without mass count in neither; noise of an observation is added to both."""
    coords = rng.uniform(size=(120, 2))
    model = SpatialRegressor().fit(coords, np.sin(6 * coords[:, 0]) + 0.3 * rng.standard_normal(120))
    fitted = model.fitted_
    rows = fitted.layout.map_rows(rng.uniform(size=(1_000, 2)), {})
    patches = fitted.model.mixture.patches(1e-3)
    for new in (False, True):
        quick, exact = fitted.latent(rows, new=new, patches=patches), fitted.latent(rows, new=new)
        assert len(exact.mass) == np.count_nonzero(fitted.model.mixture.mass)
        assert_allclose(quick.mean, exact.mean, atol=2e-3 * exact.sd.min())
        assert_allclose(quick.sd, exact.sd, rtol=2e-3)


def test_no_places_and_few_places(rng):
    """Nothing is asked of nothing, and a few places are kriged one by one."""
    model, exact = posterior(Matern(0.3), rng.uniform(size=(70, 2)))
    patches = PatchKriging([exact], 1e-3)
    for n in (0, 1, 30):
        rows = model.fitted_.layout.map_rows(rng.uniform(size=(n, 2)), {})
        means, variances = patches.moments(rows)
        true = KrigingPosterior.each_mean_and_variance([exact], rows)
        assert_allclose(means, true[0])
        assert_allclose(variances, true[1])
    assert patches.n_patched == 0


def test_cells_hold_every_place_once(rng):
    """Also of places on a line, and of one place many times."""
    for coords in (rng.uniform(size=(500, 2)), np.c_[rng.uniform(size=500), np.zeros(500)], np.zeros((500, 2))):
        parts = cells(coords, np.arange(500), 64)
        assert sorted(np.concatenate(parts)) == list(range(500))


def test_places_that_make_no_patch_are_counted_one_by_one(rng):
    """Each costs an evaluation, and none was patched; asked again, they cost as much again."""
    coords = rng.uniform(size=(130, 2))
    model, exact = posterior(KERNELS["rough"], coords)
    patches, rows = PatchKriging([exact], 1e-2), model.fitted_.layout.map_rows(coords[:3] + 0.01, {})
    patches.moments(rows)
    first = patches.n_evaluated
    means, _ = patches.moments(rows)
    assert patches.n_evaluated - first == 3 and patches.n_patched == 0
    assert_allclose(means[0], exact.mean(rows))


def test_cells_do_not_depend_on_the_unit_of_the_places(rng):
    coords = rng.uniform(size=(400, 2)) * [1.0, 0.3]
    plain, scaled = (cells(unit * coords + unit, np.arange(400), 30) for unit in (1.0, 512.0))
    assert len(plain) == len(scaled) > 8
    for ours, theirs in zip(plain, scaled, strict=True):
        assert_allclose(ours, theirs)
        assert np.prod(np.ptp(coords[ours], axis=0)) < 3 * 0.3 * 30 / 400  # no larger than its share of the box


def test_a_map_of_one_time_is_patched(rng):
    """Places that are flat in one coordinate, whose rows are not."""
    coords = rng.uniform(size=(150, 3))
    model, exact = posterior(Matern((0.2, 0.2, 0.3), nu=1.5), coords)
    axis = np.linspace(0, 1, 40)
    places = np.stack([*np.meshgrid(axis, axis), np.full((40, 40), 0.4)], axis=-1).reshape(-1, 3)
    rows = Rows(places - model.fitted_.layout.centre, np.ones((len(places), exact.rows.trend.shape[1])))
    patches = PatchKriging([exact], 1e-2)
    assert errors(patches, rows).max() < 1e-2 and patches.n_patched > 0.8 * len(rows)
