"""The Vecchia likelihood against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from bochner.kernels import Linear, Matern, SquaredExponential
from bochner.kernels.anisotropy import whitening
from bochner.neighbours import Vecchia, limits

every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])
either_likelihood = pytest.mark.parametrize("reml", [True, False])


def kernels(dim):
    """An isotropic kernel, one with a scale per axis, a sum."""
    return [
        Matern(0.4, variance=1.7),
        Matern(tuple(0.2 + 0.3 * np.arange(dim)), nu=0.5),
        SquaredExponential(0.2) + 0.3 * Matern(1.5, nu=0.8, learn_nu=True) + Linear(variance=0.1),
    ]


def survey(n, dim, seed=0):
    """Places (two of them shared), observations far from zero, an intercept and a large covariate."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    if n > 5:
        coords[4] = coords[1]
        coords[5] = coords[2]
    trend = np.column_stack([np.ones(n), 5000 + 300 * rng.normal(size=n)])
    if n > 5:
        trend[5] = trend[2]
    y = 1000 + np.sin(5 * coords.sum(axis=1)) + 0.3 * rng.normal(size=n)
    return coords, y, trend


def dense(kernel, noise_variance, coords, y, trend, known, reml):
    """Log likelihood by dense algebra, one row per copy."""
    n, q = trend.shape
    covariance = kernel(coords) + np.diag(noise_variance + known)
    gram = trend.T @ np.linalg.solve(covariance, trend)
    rest = y - trend @ np.linalg.solve(gram, trend.T @ np.linalg.solve(covariance, y)) if q else y
    value = -0.5 * (n * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + rest @ np.linalg.solve(covariance, rest))
    return value + 0.5 * (q * np.log(2 * np.pi) - np.linalg.slogdet(gram)[1]) if reml else value


def differences(vecchia, kernel, noise_variance, reml, step=1e-4):
    """Gradient by central differences."""
    at = np.r_[kernel.theta, np.log(noise_variance)]

    def value(theta):
        return vecchia.evaluate(kernel.with_theta(theta[:-1]), float(np.exp(theta[-1])), reml)[0]

    return [(value(at + h) - value(at - h)) / (2 * step) for h in step * np.eye(len(at))]


@every_dimension
@either_likelihood
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_all_predecessors_give_the_dense_likelihood(dim, reml, which, n_columns):
    """Exact when nothing is left out; duplicated locations are no problem."""
    coords, y, trend = survey(40, dim)
    kernel, trend = kernels(dim)[which], trend[:, :n_columns]
    y = y if n_columns else y - 1000
    value, _ = Vecchia.plan(coords, y, trend, n_neighbours=40).evaluate(kernel, 0.1, reml)
    assert_allclose(value, dense(kernel, 0.1, coords, y, trend, np.zeros(40), reml), rtol=1e-8, atol=1e-8)


@every_dimension
@either_likelihood
def test_weights_are_copies(dim, reml):
    """A weight w, with a measurement variance, equals w rows."""
    coords, y, trend = survey(30, dim)
    rng = np.random.default_rng(1)
    copies, known = rng.integers(0, 4, 30), rng.uniform(0, 0.5, 30)
    known[5] = known[2]
    rows = np.repeat(np.arange(30), copies)
    kernel = Matern(0.4)
    expected = dense(kernel, 0.2, coords[rows], y[rows], trend[rows], known[rows], reml)
    plan = Vecchia.plan(coords, y, trend, copies.astype(float), known, n_neighbours=30)
    assert_allclose(plan.evaluate(kernel, 0.2, reml)[0], expected, rtol=1e-8)
    repeated = Vecchia.plan(coords[rows], y[rows], trend[rows], None, known[rows], n_neighbours=90)
    assert_allclose(repeated.evaluate(kernel, 0.2, reml)[0], expected, rtol=1e-8)
    assert_allclose(plan.evaluate(kernel, 0.2, reml)[1], differences(plan, kernel, 0.2, reml), rtol=1e-5, atol=1e-5)


@every_dimension
@either_likelihood
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("n_points", [60, 25])
def test_gradient_is_the_derivative(dim, reml, which, n_points):
    """With few neighbours, replicates, known variances, and with a sample of the points."""
    coords, y, trend = survey(60, dim)
    weight = np.where(np.arange(60) % 3 == 0, 2.5, 1.0)
    plan = Vecchia.plan(coords, y, trend, weight, 0.1 * weight, n_neighbours=6, n_points=n_points)
    kernel = kernels(dim)[which]
    value, gradient = plan.evaluate(kernel, 0.1, reml)
    assert gradient.shape == (len(kernel.theta) + 1,)
    assert_allclose(plan.value(kernel, 0.1, reml), value, rtol=1e-9)
    assert_allclose(gradient, differences(plan, kernel, 0.1, reml), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows(n):
    """Fewer rows than neighbours, down to one."""
    coords, y, trend = survey(n, 2)
    plan = Vecchia.plan(coords, y, trend[:, :1])
    for reml in (True, False):
        expected = dense(Matern(), 0.1, coords, y, trend[:, :1], np.zeros(n), reml)
        assert_allclose(plan.evaluate(Matern(), 0.1, reml)[0], expected, rtol=1e-8, atol=1e-12)


def test_neighbours_approach_the_exact_value():
    """The error, of eight orders, falls with the neighbours and is far below one likelihood unit at forty."""
    coords, y, trend = survey(300, 2)
    kernel = Matern(0.3)
    exact = dense(kernel, 0.1, coords, y, trend, np.zeros(300), True)

    def error(k: int) -> float:
        plans = [Vecchia.plan(coords, y, trend, n_neighbours=k, seed=seed) for seed in range(8)]
        return float(np.mean([abs(plan.evaluate(kernel, 0.1)[0] - exact) for plan in plans]))

    errors = [error(k) for k in (3, 10, 40)]
    assert errors[0] > errors[1] > errors[2]
    # single orders are off by 0.04 to 0.52
    assert errors[2] < 0.4


def test_sample_estimates_the_value_of_all():
    """The densities of a sample, counted for those they represent, sum to the value of all on average."""
    rng = np.random.default_rng(0)
    coords, y = rng.uniform(size=(2000, 2)), rng.normal(size=2000)
    kernel = Matern(0.2)
    whole = Vecchia.plan(coords, y, n_neighbours=8)
    assert whole.estimate(kernel, 0.5) == whole.evaluate(kernel, 0.5)[0]
    plans = [Vecchia.plan(coords, y, n_neighbours=8, n_points=500, seed=seed) for seed in range(20)]
    assert all(len(plan.targets) == 500 for plan in plans)
    estimates = [plan.estimate(kernel, 0.5) for plan in plans]
    standard_error = np.std(estimates) / np.sqrt(20)
    assert abs(np.mean(estimates) - whole.estimate(kernel, 0.5)) < 4 * standard_error


def test_only_the_first_points_are_evaluated():
    """They lie farther from their predecessors than the others do."""
    coords = np.random.default_rng(0).uniform(size=(2000, 2))
    y = np.zeros(2000)
    whole = Vecchia.plan(coords, y, n_neighbours=5, n_points=400)
    first = Vecchia.plan(coords, y, n_neighbours=5, n_points=400, n_first=500, coarse_share=0.5)
    assert len(first.targets) == len(whole.targets) == 400

    def nearest(plan):
        return np.linalg.norm(plan.coords[plan.targets] - plan.coords[plan.neighbours[:, 0]], axis=1)[10:]

    assert np.median(nearest(first)) > 1.5 * np.median(nearest(whole))
    assert 500 <= first.represents.sum() <= 500 + limits.CLOSE_SHARE * 400  # and one of each close pair


def test_every_repeat_counts_in_a_sample():
    """Rows measured twice show the noise, wherever they lie in the order: soundings of two ships."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(4000, 2))
    coords = np.r_[coords, coords[:300]]
    y = 100 * np.sin(9 * coords[:, 0]) + 3 * rng.normal(size=4300)
    plan = Vecchia.plan(coords, y, n_neighbours=8, n_points=200, n_first=400)
    assert plan.repeats.contrasts.sum() == 300
    noises = np.geomspace(0.5, 80, 60)
    likeliest = noises[np.argmax([plan.evaluate(Matern(0.3, 5000.0), s2)[0] for s2 in noises])]
    # 300 contrasts and the sample: the standard error of the log variance is sqrt(2 / 300) = 0.08
    assert abs(np.log(likeliest / 9)) < 0.3


def test_close_pairs_are_sampled_where_only_the_first_points_are():
    """Without them a short field and noise are the same thing."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(3000, 2))
    coords = np.r_[coords, coords[:50] + 1e-5]
    plan = Vecchia.plan(coords, np.zeros(3050), n_neighbours=5, n_points=400, n_first=800, coarse_share=0.5)
    apart = np.linalg.norm(plan.coords[plan.targets] - plan.coords[plan.neighbours[:, 0]], axis=1)
    assert len(plan.targets) == 400
    assert np.sum(apart < 1e-4) > 35  # the later one of a pair, unless both are among the coarse points or the cap


def test_weights_are_no_repeats():
    """Rows that count twice say nothing of the noise where they are not evaluated."""
    coords = np.random.default_rng(0).uniform(size=(1000, 2))
    plan = Vecchia.plan(coords, np.zeros(1000), weight=np.full(1000, 2.0), n_neighbours=5, n_points=200)
    assert len(plan.repeats.contrasts) == 0


def test_scales_choose_the_neighbours():
    """In the units of a kernel that hardly varies along one axis, neighbours lie along it, and the error falls."""
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(250, 2))
    kernel = Matern((0.02, 2.0))
    y = np.linalg.cholesky(kernel(coords) + 0.1 * np.eye(250)) @ rng.normal(size=250)
    exact = dense(kernel, 0.1, coords, y, np.empty((250, 0)), np.zeros(250), False)
    plain = Vecchia.plan(coords, y, n_neighbours=8).evaluate(kernel, 0.1)[0]
    scaled = Vecchia.plan(coords, y, n_neighbours=8, scales=np.array([0.02, 2.0])).evaluate(kernel, 0.1)[0]
    assert abs(scaled - exact) < 0.5 * abs(plain - exact)


def test_a_matrix_chooses_neighbours_along_turned_axes():
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(250, 2))
    kernel = Matern((2.0, 0.02), rotation=0.7)
    y = np.linalg.cholesky(kernel(coords) + 0.1 * np.eye(250)) @ rng.normal(size=250)
    exact = dense(kernel, 0.1, coords, y, np.empty((250, 0)), np.zeros(250), False)
    plain = Vecchia.plan(coords, y, n_neighbours=8).evaluate(kernel, 0.1)[0]
    w = whitening(kernel.length_scale, kernel.rotation)
    turned = Vecchia.plan(coords, y, n_neighbours=8, scales=w).evaluate(kernel, 0.1)[0]
    assert abs(turned - exact) < 0.5 * abs(plain - exact)


@either_likelihood
def test_column_spanned_by_others_is_left_out(reml):
    """A constant column beside the intercept changes nothing."""
    coords, y, trend = survey(50, 2)
    twice = np.column_stack([trend, np.zeros(50), trend.sum(axis=1)])
    plain = Vecchia.plan(coords, y, trend)
    redundant = Vecchia.plan(coords, y, twice)
    assert redundant.columns.shape == plain.columns.shape
    gradients = [plan.evaluate(Matern(0.3), 0.1, reml)[1] for plan in (plain, redundant)]
    assert_allclose(*gradients, rtol=1e-8)


def test_without_noise_repeated_places_stay_finite():
    """Two values at one place contradict a noise of zero: very unlikely, yet a number."""
    coords, y, trend = survey(30, 2)
    value, gradient = Vecchia.plan(coords, y, trend).evaluate(Matern(0.3), 0.0)
    assert value < -1e5
    assert np.isfinite(gradient[:-1]).all()


def test_same_seed_gives_the_same_bits():
    """Threads do not change the sum."""
    rng = np.random.default_rng(0)
    coords, y = rng.uniform(size=(3000, 2)), rng.normal(size=3000)
    values = [Vecchia.plan(coords, y, n_points=1500, seed=7).evaluate(Matern(0.1), 0.3)[0] for _ in range(2)]
    assert values[0] == values[1]


def test_parameters_of_a_simulated_field_are_recovered():
    """Maximum of the likelihood within a few standard errors of the truth, from a sample of the points."""
    rng = np.random.default_rng(3)
    coords = rng.uniform(size=(1500, 2))
    truth = np.r_[Matern(0.08).theta, np.log(0.1)]
    y = 5 + np.linalg.cholesky(Matern(0.08)(coords) + 0.1 * np.eye(1500)) @ rng.normal(size=1500)
    plan = Vecchia.plan(coords, y, np.ones((1500, 1)), n_points=800)

    def loss(theta):
        value, gradient = plan.evaluate(Matern().with_theta(theta[:2]), float(np.exp(theta[2])))
        return -value, -gradient

    found = minimize(loss, np.log([0.3, 2.0, 0.5]), jac=True, method="L-BFGS-B").x
    # over twelve such fields the estimates had sd 0.065 (length scale), 0.13 (variance) and 0.056 (noise)
    assert (abs(found - truth) < 5 * np.array([0.065, 0.13, 0.056])).all()


@every_dimension
def test_information_is_about_minus_the_hessian(dim):
    """Over draws of the kernel itself the means agree, in every direction, to what six times 400 slopes scatter."""
    rng, kernel, noise = np.random.default_rng(dim), Matern(0.1, nu=1.5), 0.2
    coords = rng.uniform(size=(400, dim))
    root = np.linalg.cholesky(kernel(coords) + noise * np.eye(400))
    informations, hessians = [], []
    for _ in range(6):
        plan = Vecchia.plan(coords, root @ rng.normal(size=400), np.ones((400, 1)), n_neighbours=12)
        at = np.r_[kernel.theta, np.log(noise)]
        slopes = [
            plan.evaluate(kernel.with_theta((at + h)[:-1]), float(np.exp((at + h)[-1])))[1]
            - plan.evaluate(kernel.with_theta((at - h)[:-1]), float(np.exp((at - h)[-1])))[1]
            for h in 1e-3 * np.eye(3)
        ]
        hessians.append(-np.array(slopes) / 2e-3)
        informations.append(plan.information(kernel, noise))
    information, hessian = np.mean(informations, axis=0), np.mean(hessians, axis=0)
    assert_allclose(np.linalg.eigvals(np.linalg.solve(information, hessian)).real, 1.0, atol=0.5)
