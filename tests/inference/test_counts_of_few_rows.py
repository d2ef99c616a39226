"""Counts in a few rows, by brute force: the sampler, fixed effects, and Newton's method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from bochner.exceptions import ConvergenceError, InputError
from bochner.families import Bernoulli, Binomial, Gamma, NegativeBinomial, Poisson
from bochner.features import Rows
from bochner.inference import Responses
from bochner.inference.fits import fixed_effects as fixed
from bochner.inference.fits import newton
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.newton import sample_posterior
from bochner.inference.observed.task import crowding, spacing_units
from bochner.kernels import Matern, Separable

pytestmark = pytest.mark.every_case


def responses_of(family, n: int = 60, dim: int = 1, *, trend: bool = True, seed: int = 0) -> Responses:
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    columns = np.column_stack([np.ones(n), rng.normal(size=n)])[:, : 2 if trend else 0]
    eta = 0.8 + np.sin(5 * coords[:, 0]) + 0.4 * columns[:, 1:].sum(axis=1)
    size = 6.0 * np.ones(n) if isinstance(family, Binomial) else np.ones(n)
    y = (family.replace(dispersion=0.4) if family.has_dispersion else family).draw(eta, size, rng)
    weight = rng.integers(1, 3, n).astype(float)
    return Responses(family, Rows(coords, columns), y, size, 0.2 * rng.normal(size=n), weight, np.zeros(n))


# ------------------------------------------------------------------------------------------------------ the sampler


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_sampler_draws_from_the_posterior(noise):
    """Two rows and a place between, without a trend: mean and sd by a sum over a grid of surfaces."""
    kernel = Matern(0.5, 1.0)
    coords, y = np.array([[0.0], [0.4]]), np.array([0.0, 4.0])
    one, zero = np.ones(2), np.zeros(2)
    given = Responses(Poisson(), Rows(coords, np.zeros((2, 0))), y, one, np.array([0.2, 0.0]), one, zero)
    engine = ExactEngine(kernel, noise)
    place = Rows(np.array([[0.2]]), np.zeros((1, 0)))
    chain = sample_posterior(newton.find_mode(given, engine), place, 1_500, np.random.default_rng(0), thin=1)
    grid = np.linspace(-5, 5, 161)
    effect, mass = np.polynomial.hermite_e.hermegauss(15)
    f, g = (part.ravel() for part in np.meshgrid(grid, grid))
    log_prior = stats.multivariate_normal(np.zeros(2), kernel(coords)).logpdf(np.column_stack([f, g]))
    each = np.ones(len(f))
    for value, latent, offset in zip(y, (f, g), given.offset, strict=True):
        eta = latent[:, None] + offset + np.sqrt(noise) * effect
        each = each * (stats.poisson.pmf(value, np.exp(eta)) @ (mass / mass.sum()))
    weight = each * np.exp(log_prior)
    weight /= weight.sum()
    cross = kernel(place.coords, coords) @ np.linalg.inv(kernel(coords))
    at = cross @ np.stack([f, g])
    mean = float(at[0] @ weight)
    left = float(kernel(place.coords)[0, 0] - (cross @ kernel(coords, place.coords))[0, 0])
    sd = np.sqrt((at[0] - mean) ** 2 @ weight + left)
    assert chain.draws.shape == (1_500, 1) and 1 <= chain.n_evaluations < 8
    # 1,500 draws, of which some hundreds are independent: four standard errors
    error = 4 / np.sqrt(chain.effective)
    assert 200 < chain.effective <= 2_500
    assert_allclose(chain.draws.mean(), mean, atol=error * sd)
    assert_allclose(chain.draws.std(), sd, rtol=error)
    with pytest.raises(InputError, match="together"):
        many = Rows(np.zeros((3_000, 1)), np.zeros((3_000, 0)))
        sample_posterior(newton.find_mode(given, engine), many, 2, np.random.default_rng(0))


# ------------------------------------------------------------------------------------------------ fixed effects


@pytest.mark.parametrize("family", [Poisson(), Binomial(), Bernoulli("probit"), NegativeBinomial(), Gamma()])
def test_fixed_effects_are_the_maximum_of_the_likelihood(family):
    """By a plain search; information is its curvature there, weights and offsets counted."""
    given = responses_of(family)
    found, r = fixed.fixed_effects(given), given.with_dispersion()

    def loss(coef):
        return -r.log_likelihood(r.offset + r.rows.trend @ coef)

    best = optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-7})
    assert_allclose(found.coef, best.x, atol=2e-4)
    eta = r.offset + r.rows.trend @ found.coef
    curvature = r.family.derivatives(r.y, eta, r.size).curvature * r.weight
    assert_allclose(found.information, r.rows.trend.T @ (r.rows.trend * curvature[:, None]), rtol=1e-3)
    assert found.separated.shape[0] == 0
    total, crowded = fixed.information_of(given)
    assert_allclose(total, curvature.sum(), rtol=1e-3)
    assert crowded >= total
    assert fixed.held_where_separated(given) == (given, ())


def test_a_prior_of_the_effects_counts():
    given, prior = responses_of(Poisson()), np.diag([4.0, 9.0])
    found = fixed.fixed_effects(replace(given, trend_precision=prior))

    def loss(coef):
        return -given.log_likelihood(given.offset + given.rows.trend @ coef) + coef @ prior @ coef / 2

    assert_allclose(found.coef, optimize.minimize(loss, np.zeros(2)).x, atol=1e-3)


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 3.0)])
def test_an_effect_without_a_case_is_held(values):
    """A factor level that never has a case runs away; its prior is of one sd between the levels, whatever they are."""
    rng = np.random.default_rng(1)
    level = (np.arange(80) < 20).astype(float)
    y = np.where(level > 0, 0.0, rng.integers(0, 2, 80))
    one, zero = np.ones(80), np.zeros(80)
    columns = np.column_stack([one, np.where(level > 0, values[1], values[0]), rng.normal(size=80)])
    given = Responses(Bernoulli(), Rows(rng.uniform(size=(80, 2)), columns), y, one, zero, one, zero)
    assert fixed.fixed_effects(given).separated.shape[0] == 1
    held, (told,) = fixed.held_where_separated(given)
    assert told.value == (1,) and "one fixed effect has" in str(told)
    assert_allclose(np.diag(held.trend_precision), [0, ((values[1] - values[0]) / 2.5) ** 2, 0])
    assert fixed.held_where_separated(held) == (held, ())
    with pytest.raises(ConvergenceError, match=r"runs away|has run to"):
        newton.find_mode(given, ExactEngine(Matern(0.5, 1e-4), 0.0))
    assert np.isfinite(newton.find_mode(held, ExactEngine(Matern(0.5, 1e-4), 0.0)).log_evidence)
    assert_allclose(fixed._unit(columns)[2], 2 * columns[:, 2].std())


# ---------------------------------------------------------------------------------------------------- Newton's method


@pytest.mark.parametrize("family", [Poisson(), Binomial(), Poisson("identity")])
def test_the_mode_does_not_depend_on_where_it_is_sought_from(family):
    given = responses_of(family, 25)
    if family.link == "identity":
        given = replace(given, y=given.y + 20.0, offset=np.zeros(25))
    engine = ExactEngine(Matern(0.4, 0.5), 0.05)
    plain = newton.find_mode(given, engine)
    flat = newton._State.flat(given)
    common = np.sum(given.weight * given.y) / np.sum(given.weight * given.size)
    assert_allclose(flat.objective(given), given.log_likelihood(flat.eta))
    assert not flat.field.any() and not flat.alpha.any()
    assert_allclose(np.mean(family.mean(flat.eta)), common, rtol=0.1)
    for start in (flat.eta, plain.eta, plain.eta + 0.3):
        found = newton.find_mode(given, engine, start=start)
        assert_allclose(found.eta, plain.eta, atol=1e-3)
        assert_allclose(found.log_evidence, plain.log_evidence, atol=1e-3)
    # at the mode the score is what the field pulls back with
    score = given.weight * given.family.derivatives(given.y, plain.eta, given.size).score
    assert_allclose(score, plain.alpha, atol=2e-3 * np.abs(score).max() + 1e-4)
    assert plain.start is plain.linearised.eta and "Newton steps" in str(plain.solver)


def test_a_step_is_halved_until_it_loses_nothing():
    given = responses_of(Poisson(), 25)
    here = newton._State.flat(given)
    far = newton._State(here.eta + 40.0, here.field, here.alpha, here.coef)
    value = here.objective(given)
    reached, there = newton._search(given, here, far, value)
    assert there >= value - 1e-9 and np.all(reached.eta < far.eta)
    best = newton._State(here.eta + 0.01, here.field, here.alpha, here.coef)
    best = best if best.objective(given) > value else newton._State(here.eta - 0.01, here.field, here.alpha, here.coef)
    reached, there = newton._search(given, here, best, value)
    assert_allclose(reached.eta, best.eta)
    assert there == best.objective(given)
    half = here.towards(far, 0.5)
    assert_allclose(half.eta, here.eta + 20.0)


def test_rates_that_come_down_to_zero_are_refused():
    given = replace(responses_of(Poisson("identity"), 30, trend=True), offset=np.zeros(30))
    fixed._refuse_zero(given, np.full(30, 2.0))
    with pytest.raises(ConvergenceError, match="comes down to zero"):
        fixed._refuse_zero(given, np.r_[1e-5, np.full(29, 2.0)])


# ---------------------------------------------------------------------------------------------- how rows lie


def test_crowds_share_cells():
    rng = np.random.default_rng(0)
    even, weight = rng.uniform(size=(4_000, 2)), np.ones(4_000)
    assert crowding(even, weight) < 1.2
    crowd = np.concatenate([0.5 + 0.01 * rng.uniform(size=(2_000, 2)), even[:2_000]])
    assert crowding(crowd, weight) > 20
    # half of the rows in one cell of many: a quarter of the pairs share it
    assert_allclose(
        crowding(crowd, np.r_[np.zeros(2_000), np.ones(2_000)]), crowding(even[:2_000], weight[:2_000]), rtol=0.3
    )
    assert_allclose(crowding(1e6 * crowd - 5.0, weight), crowding(crowd, weight), rtol=0.1)


def test_space_and_time_have_units_of_their_own():
    """Ten stations at a hundred times: a cell of space is as wide as stations lie apart, one of time as times do."""
    rng = np.random.default_rng(0)
    stations = rng.uniform(0, 50.0, size=(10, 2))
    coords = np.column_stack([np.repeat(stations, 100, axis=0), np.tile(np.arange(100.0), 10)])
    assert spacing_units(Matern(), coords) is None
    space, other, time = spacing_units(Separable(Matern(), Matern()), coords)
    assert space == other and 5 < space < 50
    assert_allclose(time, 99 / 100, rtol=1e-6)
    widest = np.ptp(stations, axis=0).max()
    assert_allclose(space, widest / np.sqrt(10), rtol=1e-6)
