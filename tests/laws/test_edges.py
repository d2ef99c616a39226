"""Edges of the mathematics: what is nearly singular, tiny, huge, flat or alone is still what algebra says it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from bochner.exceptions import ConvergenceError, KernelError, PartError
from bochner.families import Poisson, Student
from bochner.families.averages import in_chunks
from bochner.families.poisson import draw_poisson
from bochner.features import FourierMap, Rows
from bochner.features import limits as feature_limits
from bochner.features.operators import SplitOperator, UnavailableOperator
from bochner.frequencies import Frequencies, QuasiMonteCarlo, lattice, lattice_frequencies, lattice_mass
from bochner.frequencies.torus import fade
from bochner.inference import Observations, Responses
from bochner.inference.fits.exact import leave_out_exact
from bochner.inference.fits.fixed_effects import _unknown
from bochner.inference.fits.folds import HeldOut
from bochner.inference.fits.iterative import leave_out_iterative
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.fits.newton import find_mode
from bochner.inference.learning.judge import likeness
from bochner.inference.schemes import ascent
from bochner.kernels import Empirical, Matern, OnAxes, Periodic, SquaredExponential, gneiting
from bochner.kernels.anisotropy import stretch_of, unstretch
from bochner.kernels.axes import Axes
from bochner.moments import dense_moments, fourier_sums
from bochner.moments.route import prefers_transform
from bochner.neighbours import Vecchia, cells, left_out
from bochner.neighbours import limits as near_limits
from bochner.neighbours.close_pairs import close_pairs
from bochner.posterior import Latent, draw_gaussian
from bochner.posterior.base import _root
from bochner.posterior.response import Response
from bochner.solvers import cholesky_factor, conjugate_gradient
from tests.laws.registry_models import observe

pytestmark = pytest.mark.every_case
RNG = np.random.default_rng


# ------------------------------------------------------------------------------ matrices that are nearly singular


@pytest.mark.parametrize("least", [1.0, 1e-9, 0.0, -1e-13, -1e-9])
def test_draws_of_a_covariance_that_rounding_made_indefinite(least):
    """Eigenvalues of 3, 1 and one that is tiny, zero or a little less: roots are those of the nearest covariance."""
    turned = np.linalg.qr(RNG(0).normal(size=(3, 3)))[0]
    covariance = (turned * [3.0, 1.0, least]) @ turned.T
    nearest = (turned * [3.0, 1.0, max(least, 0.0)]) @ turned.T
    root = _root(covariance)
    assert_allclose(root @ root.T, nearest, atol=1e-8)
    draws = draw_gaussian(np.array([1.0, 2.0, 3.0]), covariance, 20_000, RNG(1))
    assert_allclose(draws.mean(axis=0), [1.0, 2.0, 3.0], atol=0.06)
    assert_allclose(np.cov(draws.T), nearest, atol=0.15)


@pytest.mark.parametrize("short", [1e-13, 1e-9, 1e-5])
def test_small_systems_are_lifted_until_they_can_be_solved(short):
    """A covariance that is indefinite by a share of its size: noise grows tenfold, and by no more than it must."""
    turned = np.linalg.qr(RNG(0).normal(size=(4, 4)))[0]
    covariance = (turned * [2.0, 1.0, 0.5, -short]) @ turned.T
    factor = cells._lower(covariance.copy(), np.zeros(4))
    off = np.tril(factor) @ np.tril(factor).T - covariance
    assert_allclose(off, np.diag(np.diag(off)), atol=1e-12)
    assert short / 2 < np.diag(off).min() and np.diag(off).max() < 30 * short + 1e-11
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cells._lower(-np.eye(4), np.zeros(4))


def test_no_columns_have_no_solution_and_one_has_its_own():
    empty = cholesky_factor(np.zeros((0, 0)), 0)
    assert empty.half_solve(np.zeros((0, 3))).shape == (0, 3) and empty.logdet() == 0.0
    factor = cholesky_factor(np.array([[4.0, 1.0], [1.0, 3.0]]), 0)
    b = np.array([1.0, -2.0])
    assert_allclose(factor.half_solve(b) @ factor.half_solve(b), b @ factor.solve(b))
    assert_allclose(np.sum(factor.half_solve(b[:, None]) ** 2), b @ factor.solve(b))


def test_directions_that_rows_say_nothing_of_are_found():
    first = np.diag([5.0, 3.0])
    assert _unknown(np.diag([4.0, 2.0]), first).shape[0] == 0
    (found,) = _unknown(np.diag([4.0, 1e-12]), first)
    assert abs(found[0]) < 1e-9 < abs(found[1])
    assert (
        _unknown(np.eye(2), np.zeros((2, 2))).shape == (0, 2) and _unknown(np.zeros((0, 0)), np.zeros((0, 0))).size == 0
    )


# ----------------------------------------------------------------------------------------------------- near rows


@pytest.mark.parametrize("sample", [10, 10_000])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_close_pairs_are_those_far_nearer_than_usual(monkeypatch, sample, unit):
    """In any unit, of all rows or of a sample that tells what is usual; rows at one place are a pair, too."""
    monkeypatch.setattr(near_limits, "CLOSE_SAMPLE", sample)
    grid = np.argwhere(np.ones((8, 8), dtype=bool)).astype(float)
    extra = np.concatenate([grid[[10]] + [1e-3, 0.0], grid[[30]], grid[[50]] + [0.4, 0.0]])
    pairs = close_pairs(unit * np.concatenate([grid, extra]))
    assert_array_equal(pairs, [[30, 65], [10, 64]])
    assert len(close_pairs(grid)) == 0 and close_pairs(grid[:1]).shape == (0, 2)
    assert_array_equal(close_pairs(np.zeros((2, 2))), [[0, 1]])


@pytest.mark.parametrize("kind", ["plain", "copies", "repeats"])
def test_information_of_neighbours_is_a_covariance_and_tells_the_noise(kind):
    """Symmetric and never negative; of rows that are noise alone, the information of its log is half their number."""
    rng = RNG(0)
    n = 300
    coords, y = rng.uniform(size=(n, 2)), rng.normal(size=n)
    if kind == "repeats":
        coords = np.repeat(coords[: n // 3], 3, axis=0)
    weight = np.full(n, 3.0) if kind == "copies" else np.ones(n)
    scatter = rng.chisquare(2, n) if kind == "copies" else np.zeros(n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y / np.sqrt(weight), weight, np.zeros(n), scatter)
    plan = Vecchia.plan(*obs.columns, n_neighbours=8, n_points=n, seed=0)
    found = plan.information(Matern(0.1, 1e-6), 1.0)
    assert_allclose(found, found.T)
    assert np.all(np.linalg.eigvalsh(found) > -1e-9)
    # outer products of 300 slopes whose fourth moments are those of squares: a standard error of a fifth
    assert_allclose(found[-1, -1], weight.sum() / 2, rtol=0.5)


# ------------------------------------------------------------------------------------------------------- kernels


@pytest.mark.parametrize("shape", [1e-3, 0.02, 0.5, 3.0])
def test_quantiles_of_gamma_laws_do_not_underflow(shape):
    """P(X <= x) is u; for small x it is x^shape / Gamma(shape + 1), whose logarithm is all that is left of it."""
    u = np.array([0.01, 0.3, 0.7, 0.999])
    log_x = gneiting._log_gamma_quantile(shape, u)
    assert np.all(np.isfinite(log_x)) and np.all(np.diff(log_x) > 0)
    tiny = log_x < -400
    below = np.where(tiny, np.exp(shape * log_x - special.gammaln(shape + 1)), special.gammainc(shape, np.exp(log_x)))
    assert_allclose(below, u, rtol=1e-6)


def test_fading_takes_as_long_as_it_is_told():
    t = np.linspace(0.0, 12.0, 121)
    faded = fade(t, 2.0, 7.0)
    assert_allclose(faded[t <= 2.0], 1, atol=1e-9)
    assert_allclose(faded[t >= 7.0], 0, atol=1e-9)
    assert_allclose(fade(np.array([4.5]), 2.0, 7.0), 0.5)
    assert_allclose(fade(10 * t, 20.0, 70.0), faded, atol=1e-12)


@pytest.mark.parametrize("axes", [0, 1])
def test_lines_on_an_axis_are_lines_along_it(axes):
    """Atoms of a periodic kernel on one of two axes: their cosines sum to the kernel."""
    kernel = OnAxes(Periodic(0.8, period=2.0, variance=1.7), axes)
    omega, mass = kernel.atoms(2)
    assert omega.shape[1] == 2 and not omega[:, 1 - axes].any()
    lag = RNG(0).normal(size=(20, 2))
    assert_allclose(np.cos(lag @ omega.T) @ mass, kernel.lag_covariance(lag), atol=1e-6)
    assert OnAxes(Matern(), axes).atoms(2) is None
    assert not OnAxes(Matern(), axes).has_density(2) and OnAxes(Matern(0.5), (0, 1)).has_density(2)
    w = RNG(1).normal(size=(5, 2))
    assert_allclose(OnAxes(Matern(0.5), (0, 1)).spectral_density(w), Matern(0.5).spectral_density(w))


def test_axes_within_axes_are_named_by_those_of_all():
    assert Axes(only=(2, 0)).inner(0) == 2 and Axes(only=(2, 0)).inner(1) == 0
    assert Axes(without=(-1,)).inner(1) == 1
    assert Axes(only=(2, 0)).inner(Axes(only=(1,))) == Axes(only=(0,))
    assert Axes(without=(0,)).inner(0) == Axes(without=(0,))
    with pytest.raises(KernelError, match="leaves none"):
        Axes(without=(0, 1)).of(2)


@pytest.mark.parametrize("scales", [(2.0, 0.5), (3.0, 1.0, 0.2)])
def test_stretches_are_found_again_from_their_entries(scales):
    for angle in (0.0, 0.3, 1.2, -0.7, np.pi / 2):
        rotation = angle if len(scales) == 2 else (angle, 0.2, -0.4)
        kernel = Matern(scales, rotation=rotation)
        found, turn = unstretch(stretch_of(scales, rotation))
        assert_allclose(found, sorted(scales, reverse=True), rtol=1e-9)
        lag = RNG(0).normal(size=(9, len(scales)))
        assert_allclose(Matern(found, rotation=turn).lag_covariance(lag), kernel.lag_covariance(lag), atol=1e-9)


def test_waves_of_a_sum_of_lines_lie_on_no_lattice():
    waves = lattice_frequencies(Matern(0.5), np.ones(1), n_frequencies=9)
    assert_allclose(lattice_mass(Matern(0.5), waves.lattice), waves.mass)
    with pytest.raises(KernelError, match="on no lattice"):
        lattice_mass(Empirical(((1.0,), (2.0,))), waves.lattice)
    assert Frequencies(np.ones((1, 1)), np.ones(1)).__add__(3) is NotImplemented  # type: ignore[operator]
    far = QuasiMonteCarlo().draw(Matern(0.5), 4, 2, RNG(0))
    assert far.lag_covariance(np.zeros((0, 2))).shape == (0,)


# ------------------------------------------------------------------------------------------------- features, moments


def test_many_rows_of_few_waves_are_transformed_and_few_rows_are_not():
    """The route costs time alone: both give the same sums."""
    waves = lattice_frequencies(SquaredExponential(0.4), np.ones(2), n_frequencies=60)
    features = FourierMap(waves)
    for n, transformed in ((10, False), (20_000, True)):
        coords = RNG(0).uniform(size=(n, 2))
        assert prefers_transform(features, coords) == transformed
        assert not prefers_transform(features, np.column_stack([coords, coords]))
    rows = Rows(coords[:300], np.ones((300, 1)))
    y, weight = RNG(1).normal(size=300), RNG(2).uniform(0.5, 2.0, 300)
    by_transform = fourier_sums(waves, rows, y, weight).scaled(waves.mass, 1.0)
    by_blocks = dense_moments(features, rows, y, weight)
    assert_allclose(np.tril(by_transform.gram), np.tril(by_blocks.gram), atol=1e-6 * np.abs(by_blocks.gram).max())
    assert_allclose(by_transform.projection, by_blocks.projection, atol=1e-6)


def test_an_operator_without_products_says_so_and_one_in_parts_is_whole(monkeypatch):
    coords = RNG(0).uniform(size=(30, 2))
    box = (np.zeros(2), np.ones(2))
    none = UnavailableOperator.offered(Matern(), coords, box)
    assert none.how == "not at all" and none.product_error == np.inf and not none.faithful
    with pytest.raises(PartError, match="no lattice"):
        none.cross(coords[:2], np.ones(30))
    monkeypatch.setattr(feature_limits, "LEAST_TABLED_PAIRS", 10**9)
    operator, v = SplitOperator(Matern(0.3), coords, box), RNG(1).normal(size=(30, 2))
    whole = operator.cross(coords[:9] + 0.01, v)
    assert_allclose(whole, Matern(0.3)(coords[:9] + 0.01, coords) @ v, atol=1e-3)
    # rows that no target is near to
    corner, far = SplitOperator(Matern(0.3), 0.1 * coords, box), np.full((2, 2), 0.95)
    assert_allclose(corner.cross(far, v), Matern(0.3)(far, 0.1 * coords) @ v, atol=1e-3)
    assert_array_equal(Rows(coords, np.ones((30, 1))).extent, np.ptp(coords, axis=0))
    assert [s.stop - s.start for s in Rows(coords, np.ones((30, 1))).chunks(15)] == [15, 15]


# ---------------------------------------------------------------------------------------------------------- families


def test_slopes_in_the_dispersion_of_a_student_are_differences():
    rng = RNG(0)
    y, eta, one = rng.normal(size=12), rng.normal(size=12), np.ones(12)

    def at(log_dispersion):
        family = Student(dispersion=float(np.exp(log_dispersion)), dof=5.0)
        d = family.derivatives(y, eta, one)
        return np.stack([family.log_density(y, eta, one), d.score, d.curvature])

    h = 1e-5
    found = Student(dispersion=0.7, dof=5.0).dispersion_slopes(y, eta, one)
    assert_allclose(np.stack(found), (at(np.log(0.7) + h) - at(np.log(0.7) - h)) / (2 * h), rtol=1e-5, atol=1e-7)


def test_counts_of_any_size_can_be_drawn():
    means = np.repeat([3.0, 1e15, 1e25], 500)
    counts = draw_poisson(means, RNG(0))
    assert np.all(counts >= 0) and np.all(np.isfinite(counts))
    spread = (counts - means) / np.sqrt(means)
    for part in np.split(spread, 3):
        assert abs(part.mean()) < 0.2 and 0.8 < part.std() < 1.2


# ---------------------------------------------------------------------------------------------- searches that fail


def failing(*_):
    raise ConvergenceError("never")


class Unlearnable:
    """An evidence that cannot be had."""

    start = np.zeros(3)

    def __call__(self, vector):
        failing()


def test_an_ascent_that_fails_stays_where_it_began(monkeypatch):
    assert_array_equal(ascent.maximise(Unlearnable(), 5), np.zeros(3))
    obs = observe(2, 60)
    features = FourierMap(QuasiMonteCarlo().draw(Matern(0.5), 4, 2, RNG(0)))
    monkeypatch.setattr(ascent, "find_mode", failing)
    scores = ascent.held_out_scores(features, 0.1, obs[np.arange(40)], obs[np.arange(40, 60)])
    assert len(scores) == 20 and np.all(scores == -np.inf)
    assert ascent.noise_of_few_waves(features, obs, 0.1, 1.0, reml=True) == 0.1


def test_parts_to_learn_from_are_a_fifth_less_than_all():
    known, unknown = ascent.parts_of(RNG(0).normal(size=(100, 5)), 4, 0)
    assert len(known) == 80 and len(unknown) == 20
    assert_array_equal(np.sort(np.r_[known, unknown]), np.arange(100))
    assert_array_equal(ascent._some(np.arange(5), 4, RNG(0), 5), np.arange(5))
    assert len(ascent._some(np.arange(3_000), 1_000, RNG(0))) == 2_500
    some = ascent._some(np.arange(50), 4, RNG(0), 9)
    assert len(np.unique(some)) == 9 and np.all(np.diff(some) > 0)
    # two places cannot be cut into blocks
    known, unknown = ascent.parts_of(np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0), 4, 0)
    assert len(known) + len(unknown) == 40 and not set(known) & set(unknown)


def test_held_out_rows_stand_for_as_much_as_is_wanted():
    """Wanted are places far beyond all rows: of the held-out ones those count that lie most in the open."""
    rows = RNG(0).uniform(size=(200, 2))
    index = np.arange(40)
    held = HeldOut(index, np.zeros(40, dtype=int), np.zeros(40), np.ones(40))
    weight = likeness(rows, [(np.arange(40, 200), index)], held, RNG(1).uniform(90, 91, size=(50, 2)))
    assert len(weight) == 40 and np.all(weight >= 0) and weight.sum() > 0


# ---------------------------------------------------------------------------------------------- rows that are left out


@pytest.mark.parametrize("n_trend", [0, 1, 2])
@pytest.mark.parametrize("columns", [1, 100])
def test_folds_side_by_side_are_those_of_a_dense_factor(monkeypatch, n_trend, columns):
    """Many folds at once or one after the other, whatever the trend; and every row left out in turn."""
    monkeypatch.setattr(feature_limits, "MIN_COEFFICIENTS", 2**10)
    obs = observe(1, 60, trend=n_trend)
    test = np.arange(60) % 4
    folds = [(np.flatnonzero(test != k), np.flatnonzero(test == k)) for k in range(4)]
    kernel = Matern(0.6, 1.5)
    for parts in (folds, None):
        fast = leave_out_iterative(kernel, obs, 0.1, parts, most_factored=10, most_columns=columns)
        dense = leave_out_exact(kernel, obs, 0.1, parts)
        first, second = (held.mean[np.argsort(held.index)] for held in (fast, dense))
        assert_allclose(first, second, atol=2e-3)
        sds = [np.sqrt(held.variance[np.argsort(held.index)]) for held in (fast, dense)]
        assert_allclose(sds[0], sds[1], rtol=0.02)


def test_nearest_rows_are_near_in_the_units_of_the_axes():
    """One axis in metres and one in years: a row left out is predicted from those near it in both."""
    rng = RNG(0)
    coords = rng.uniform(size=(120, 2)) * [1e4, 1.0]
    kernel = Matern((3e3, 0.3), 1.0)
    values = np.linalg.cholesky(kernel(coords) + 1e-3 * np.eye(120)) @ rng.normal(size=120)
    every, noise, units = np.arange(120), np.full(120, 1e-3), np.array([1e4, 1.0])
    _, scaled = left_out(kernel, noise, coords, values, every, every, 8, units)
    _, plain = left_out(kernel, noise, coords, values, every, every, 8)
    _, whole = left_out(kernel, noise, coords, values, every, every, 118)
    assert np.all(scaled >= whole - 1e-9)
    assert np.mean(scaled) < 1.15 * np.mean(whole) and np.mean(plain) > 1.3 * np.mean(whole)


def test_counts_held_out_are_scored_by_their_law():
    """By draws of what is known of each: field, effects of rows, and the counts themselves."""
    rng = RNG(0)
    n = 80
    coords, one = rng.uniform(-1, 1, size=(n, 1)), np.ones(n)
    features = FourierMap(QuasiMonteCarlo().draw(Matern(0.7, 0.5), 5, 1, RNG(1)))
    y = rng.poisson(np.exp(1.0 + np.sin(3 * coords[:, 0]))).astype(float)
    counts = Responses(Poisson(), Rows(coords, one[:, None]), y, one, 0.3 * one, one, 0.05 * one)
    known, unknown = counts[np.arange(60)], counts[np.arange(60, n)]
    scores = ascent.held_out_scores(features, 0.2, known, unknown)
    posterior = find_mode(known, LinearEngine(features, 0.2)).posterior
    mean, variance = posterior.mean(unknown.rows), posterior.variance(unknown.rows)
    eta = 0.3 + mean + np.sqrt(variance + 0.2 + 0.05) * rng.standard_normal((40_000, 20))
    wanted = np.log(np.mean(np.exp(Poisson().log_density(unknown.y, eta, np.ones(20))), axis=0)) / 20
    assert_allclose(scores, wanted, rtol=0.03)


def test_margins_are_looked_for_along_every_axis():
    for dim in (1, 2, 3):
        found = lattice._directions(dim)
        assert_allclose(np.linalg.norm(found, axis=1), 1)
        for axis in np.eye(dim):
            assert np.min(np.linalg.norm(np.abs(found) - axis, axis=1)) < 1e-12
        assert len(np.unique(np.round(found, 9), axis=0)) == len(found)


def test_no_rows_have_no_answers():
    empty = np.zeros(0)
    assert in_chunks(lambda a, b: a + b, 5, empty, empty).shape == (0,)
    assert in_chunks(lambda a, b: a + b, 5, np.ones(3), np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    eta = Latent(np.zeros((2, 0)), np.zeros((2, 0)), np.full(2, 0.5))
    none = Response(Poisson(), eta, empty, new=True)
    assert none.mean.shape == none.quantile(0.5).shape == none.log_density(empty).shape == (0,)


def test_a_residual_is_measured_by_that_of_zero_wherever_it_began():
    """A start at zero is no start; one at the solution has settled at once."""
    rng = RNG(0)
    root = rng.normal(size=(30, 30))
    matrix, b = root @ root.T + 5 * np.eye(30), rng.normal(size=(30, 2))
    given = (lambda v: matrix @ v, lambda v: v / np.diag(matrix)[:, None], b)
    plain, zero = (conjugate_gradient(*given, start=s, max_iterations=4)[1] for s in (None, np.zeros((30, 2))))
    assert_allclose(zero.details["residual"], plain.details["residual"], rtol=1e-9)
    found, report = conjugate_gradient(*given, start=np.linalg.solve(matrix, b), max_iterations=4)
    assert report.details["converged"] and report.details["iterations"] <= 1
    assert_allclose(matrix @ found, b, atol=1e-8)
