"""Laws of small parts: series, bounds, chains, transforms in pairs; each against a plain way to the same number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from bochner import SpatialRegressor
from bochner.exceptions import InputError
from bochner.families import FAMILIES as BY_NAME
from bochner.families import Student, stirling
from bochner.families.links import probit
from bochner.features import Rows
from bochner.frequencies import MonteCarlo, lattice_frequencies
from bochner.inference import Observations, Responses
from bochner.inference.fits.base import rows_bytes
from bochner.inference.fits.folds import HeldOut
from bochner.inference.fits.iterative import companion
from bochner.inference.fits.newton import _effective
from bochner.inference.learning.judge import gaps_of
from bochner.inference.learning.other_families import _median_around
from bochner.inference.schemes import rule_waves
from bochner.inference.schemes.learned_spectra import surface_over
from bochner.kernels import Linear, Matern, Polynomial, Scale
from bochner.kernels import limits as kernel_limits
from bochner.kernels.roles import Role, Shape, Start, Variance
from bochner.moments.fourier_sums import _on_lattice
from bochner.solvers.woodbury import woodbury_factor

SIDES, SCALE = np.array([2.0]), Scale(np.array([2.0]), spacing=0.1, variance=3.0)


def test_stirling_is_what_is_left_of_log_gamma():
    """Digits of the remainder itself: differences of log Gamma would lose them all."""
    # Binet: the remainder is the integral of 2 arctan(t / x) / (exp(2 pi t) - 1), smooth and quickly gone
    t, weight = np.polynomial.legendre.leggauss(400)
    t, weight = 6 * (t + 1), 6 * weight
    for x in (2.0, 7.0, 20.0, 21.0, 60.0, 1e4):
        wanted = np.sum(weight * 2 * np.arctan(t / x) / np.expm1(2 * np.pi * t))
        slope = -np.sum(weight * 2 * t / (x**2 + t**2) / np.expm1(2 * np.pi * t))
        assert_allclose(stirling.remainder(x), wanted, rtol=2e-12)
        assert_allclose(stirling.remainder_slope(x), slope, rtol=2e-12)
    assert_allclose(
        stirling.remainder(0.01), special.gammaln(0.01) + 0.49 * np.log(0.01) + 0.01 - np.log(2 * np.pi) / 2
    )


def test_the_tail_of_a_probit_is_that_of_its_hazard():
    """Minus the second derivative of log Phi at -z is h (h - z), with the hazard h by its continued fraction."""
    for z in (30.0, 60.0, 200.0):
        below = z
        for k in range(60, 1, -1):
            below = z + k / below  # phi / Phi(-z) = z + 1 / (z + 2 / (z + 3 / ...))
        curvature, slope = probit._tail(np.array([z]))
        # with d = h - z it is (z + d) d = 1 - 1 / z^2 + ..., and the series has five terms
        assert_allclose(1 - curvature, 1 - (z + 1 / below) / below, rtol=1e-7)
        step = 1e-3 * z
        ends = probit._tail(np.array([z - step, z + step]))[0]
        assert_allclose(np.abs(slope), np.abs(np.diff(ends)) / (2 * step), rtol=1e-4)


def test_bounds_of_variances_and_shapes_hold_many_orders():
    assert_allclose(Variance().bounds(SIDES, SCALE), (3e-4, 3e3))
    assert Shape().bounds(SIDES, SCALE) == (0.05, 100.0)
    # P(sd > LARGE_SD sd of the data) is PRIOR_TAIL of an exponential law
    at = 2 * np.log(kernel_limits.LARGE_SD * np.sqrt(SCALE.variance))
    assert_allclose(Variance().log_prior(at, SIDES, SCALE)[0], np.log(kernel_limits.PRIOR_TAIL))
    assert Shape().log_prior(1.5, SIDES, SCALE) == (-0.5 * 1.5**2, -1.5)


@pytest.mark.parametrize(
    "kernel", [Linear((0.7, 2.5), 1.3), Polynomial((0.7, 2.5), 1.3, degree=3)], ids=["linear", "cubic"]
)
def test_slopes_of_scales_along_axes_are_derivatives(kernel):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    theta, found = kernel.theta, kernel.covariance_and_gradient(x, z)[1]
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        ends = [kernel.with_theta(theta + sign * step)(x, z) for sign in (-1, 1)]
        assert_allclose(found[i], (ends[1] - ends[0]) / 2e-5, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_draws_of_a_chain_count_by_their_correlation(rho):
    """An autoregressive chain of n draws is worth n (1 - rho) / (1 + rho); an odd number of draws as an even one."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20_001, 40))
    chain = np.empty_like(noise)
    chain[0] = noise[0]
    for i in range(1, len(noise)):
        chain[i] = rho * chain[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    for n in (20_000, 20_001):
        assert_allclose(_effective(chain[:n]), n * (1 - rho) / (1 + rho), rtol=0.1)


@pytest.mark.parametrize("n_columns", [2, 3, 4, 5, 6])
def test_sums_on_a_lattice_are_those_of_single_columns(n_columns):
    """Columns travel in pairs; whatever their number, each comes back as its own sum over the rows."""
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(30, 2))
    waves = lattice_frequencies(Matern(0.4, nu=1.5), np.ones(2), n_frequencies=9, seed=0)
    columns = np.vstack([rng.uniform(size=30), rng.normal(size=(n_columns - 1, 30))])
    if n_columns > 3:
        columns[2] = columns[0]  # an intercept is the weights again
    _, found = _on_lattice(waves, coords, columns, 1e-10)
    angle = 2 * np.pi * coords @ (waves.lattice.spacing * waves.lattice.index).T
    wanted = np.exp(1j * angle).T @ columns[1:].T
    error = min(np.abs(found - wanted).max(), np.abs(found - wanted.conj()).max())
    assert found.shape == wanted.shape and error < 1e-7


def test_shares_of_a_sum_are_whole_and_none_is_empty():
    kernel = Matern(0.3) + Matern(2.0)
    assert MonteCarlo().draw(kernel, 5, 2, np.random.default_rng(0), shares=(4, 1)).n == 5
    for shares in ((5, 0), (4, 2), (5,)):
        with pytest.raises(InputError, match="whole numbers >= 1, one per term"):
            MonteCarlo().draw(kernel, 5, 2, np.random.default_rng(0), shares=shares)


def test_what_is_taken_for_granted_is_told():
    """Nothing is learned, and nothing was given: kernel and noise are choices of the library, and say so."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(20, 2)), rng.normal(size=20)
    told = SpatialRegressor(tune=None).fit(X, y).choices_
    assert "none was given and none is learned" in str(told["noise"]) and told["noise"].value > 0
    assert "none was given and none is learned" in str(told["kernel"])
    assert "noise" not in SpatialRegressor(Matern(), noise_variance=0.1, tune=None).fit(X, y).choices_


@pytest.mark.parametrize("unit", [1e-120, 1e100])
def test_a_trend_is_told_in_the_unit_of_the_response(unit):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 3))
    y = 2.0 + 3.0 * X[:, 2] + 0.1 * rng.normal(size=30)
    given = {"covariates": [2], "tune": None}
    one = SpatialRegressor(Matern(0.3), noise_variance=0.1, **given).fit(X, y)
    other = SpatialRegressor(Matern(0.3, unit**2), noise_variance=0.1 * unit**2, **given).fit(X, unit * y)
    trends = [model.fitted_.model.trend for model in (one, other)]
    if trends[0] is not None:
        assert_allclose(trends[1] / unit, trends[0], rtol=1e-6)
    assert_allclose(other.fitted_.fixed_effects[0] / unit, one.fitted_.fixed_effects[0], rtol=1e-6)
    assert_array_equal(np.shape(other.predict(X)), (30,))


def test_only_the_identity_is_linear():
    eta = np.array([-1.5, 0.25, 2.0])
    for family in BY_NAME.values():
        for link in family.links.values():
            assert link.linear == np.allclose(link.mean(eta), eta)


def test_waves_of_a_rule_are_as_many_as_there_may_be(monkeypatch):
    monkeypatch.setattr(rule_waves, "MAX_RULE_WAVES", 24)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpatialRegressor(Matern(0.05, nu=0.5), features="quasi", noise_variance=0.1, tune=None).fit(X, y)
    assert model.fitted_.model.n_frequencies == 24


def test_surfaces_over_a_line_in_the_plane_are_smooth():
    """An axis along which nothing lies has the reach of the others."""
    rng = np.random.default_rng(0)
    coords = np.column_stack([rng.uniform(0, 4, 40), np.zeros(40)])  # places are around their middle
    one, zero = np.ones(40), np.zeros(40)
    found = surface_over(Observations(Rows(coords, one[:, None]), zero, one, zero, zero), 0)
    wanted = 0.4 * np.ptp(coords[:, 0])
    assert_allclose(found.kernel.length_scale, (wanted, wanted))


@pytest.mark.parametrize(("noise", "there"), [(1e-9, False), (0.5, True)])
def test_waves_accompany_neighbours_where_noise_hides_what_they_leave_out(noise, there):
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(80, 2))
    one, zero = np.ones(80), np.zeros(80)
    obs = Observations(Rows(coords, one[:, None]), rng.normal(size=80), one, zero, zero)
    found = companion(Matern(0.6, 1.0, nu=2.5), obs, noise)
    assert (found is not None) == there


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_waves_accompany_neighbours_in_few_dimensions(dim):
    rng = np.random.default_rng(0)
    rows = Rows(rng.uniform(size=(80, dim)), np.ones((80, 1)))
    obs = Observations(rows, rng.normal(size=80), np.ones(80), np.zeros(80), np.zeros(80))
    found = companion(Matern(2.0, 1.0, nu=2.5), obs, 0.5)
    assert (found is not None) == (dim <= 3)


def test_rows_of_more_dimensions_take_more_memory():
    """Three doubles for every coordinate: as given, in the frame of the model, and in order."""
    assert_allclose(rows_bytes(1_000, 5) - rows_bytes(1_000, 2), 1_000 * 3 * 24.0)
    assert_allclose(rows_bytes(2_000, 2), 2 * rows_bytes(1_000, 2))


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_medians_around_do_not_depend_on_the_units_of_the_axes(unit):
    rng = np.random.default_rng(0)
    coords, y = rng.uniform(size=(80, 2)), rng.normal(size=80)
    one, zero = np.ones(80), np.zeros(80)
    found = [
        _median_around(Responses(Student(), Rows(coords * scale, one[:, None]), y, one, zero, one, zero))
        for scale in ([1.0, 1.0], [unit, 3.0])
    ]
    assert_allclose(found[0], found[1])


def test_two_rows_held_out_may_be_one_gap():
    """Each lies in the gap of the other where they are all there is; a row alone is a gap."""
    coords = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    held = HeldOut(np.array([0, 1, 2]), np.array([0, 0, 1]), np.zeros(3), np.ones(3))
    assert gaps_of(coords, held).tolist() == [0, 0, 1]


def test_roles_that_have_a_unit_say_so():
    """A variance, a shape and a smoothness stay as they are in another unit of the coordinates; a range does not."""
    assert not Variance().measures_lags and not Shape().measures_lags
    assert [h.role.measures_lags for h in Matern((1.0, 2.0), learn_nu=True).hyperparameters] == [
        True,
        True,
        False,
        False,
    ]


def test_a_role_of_which_nothing_is_known_has_a_flat_prior():
    for theta in (-3.0, 0.0, 2.0):
        assert Role().log_prior(theta, SIDES, SCALE) == (0.0, 0.0)
    assert Role().bounds(SIDES, SCALE) == (1e-4, 1e4) and Role().start(0.7, SIDES, SCALE, Start(1.0, 1.0, 1.0)) == 0.7


def test_a_trend_of_which_something_is_known_enters_the_factor():
    """With a prior precision of the trend: the determinant and solutions of the whole precision matrix."""
    rng = np.random.default_rng(0)
    phi, trend, precision = rng.normal(size=(6, 9)), rng.normal(size=(6, 2)), rng.uniform(0.5, 2.0, 6)
    prior = np.array([[2.0, 0.3], [0.3, 1.0]])
    columns = np.column_stack([phi, trend])
    whole = columns.T @ (precision[:, None] * columns)
    whole[:9, :9] += np.eye(9)
    whole[9:, 9:] += prior
    factor = woodbury_factor(phi, trend, precision, prior)
    b = rng.normal(size=11)
    assert_allclose(factor.solve(b), np.linalg.solve(whole, b), rtol=1e-9)
    assert_allclose(factor.logdet(), np.linalg.slogdet(whole)[1], rtol=1e-10)
