"""Laplace's evidence: its value against plain algebra, its gradient against finite differences, for every family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from bochner.exceptions import ConvergenceError
from bochner.families import Bernoulli, Binomial, Family, Gamma, NegativeBinomial, Poisson
from bochner.features import Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference import Observations, Responses, next_order_evidence
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.fits.laplace import ExactBound, LinearBound
from bochner.inference.fits.lattice_evidence import LatticeBound, lattice_plan
from bochner.inference.fits.newton import find_mode
from bochner.inference.learning.evidence import Theta
from bochner.inference.learning.ladder import CLUSTERS, PART_ROWS, SPREAD_ROWS, _parts
from bochner.inference.learning.other_families import Parts, bound_exactly
from bochner.inference.observed.responses import merge_equal_responses
from bochner.inference.schemes.whole_kernel import exact_mode
from bochner.kernels import Kernel, Matern, SquaredExponential
from tests.inference.learning.evidences import laplace, slopes_at
from tests.laws.registry import DIMS

FAMILIES: dict[str, Family] = {
    "bernoulli-logit": Bernoulli(),
    "bernoulli-probit": Bernoulli("probit"),
    "binomial-logit": Binomial(),
    "binomial-probit": Binomial("probit"),
    "poisson-log": Poisson(),
    "poisson-identity": Poisson("identity"),
    "negative-binomial": NegativeBinomial(dispersion=0.5),
    "negative-binomial-learned": NegativeBinomial(),
    "gamma": Gamma(dispersion=0.3),
    "gamma-learned": Gamma(),
}
KERNEL = Matern(0.7, 0.8)
ROWS = ("plain", "trend", "weights", "errors", "everything")

# every family in one dimension after the other: the law of a row knows nothing of the places
in_turn = pytest.mark.parametrize(
    ("family", "dim"),
    [(family, DIMS[i % len(DIMS)]) for i, family in enumerate(FAMILIES.values())],
    ids=[f"{name}-{DIMS[i % len(DIMS)]}" for i, name in enumerate(FAMILIES)],
)
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
both_criteria = pytest.mark.parametrize("reml", [True, False], ids=["evidence", "likelihood"])


def respond(family: Family, dim: int, rows: str = "trend", n: int = 30) -> Responses:
    """Responses of a smooth surface; "everything" has a trend, weights, known errors and an offset."""
    rng = np.random.default_rng(20 + dim)
    coords = rng.uniform(-1, 1, size=(n, dim))
    trend = np.column_stack([np.ones(n), rng.normal(size=n)])[:, : 0 if rows == "plain" else 2]
    offset = 0.3 * rng.normal(size=n) if rows == "everything" else np.zeros(n)
    level = 6.0 if family.link == "identity" else 0.4
    eta = level + np.sin(3 * coords.sum(axis=1)) + 0.5 * trend[:, 1:].sum(axis=1) + offset
    size = np.ones(n)
    if family.size_name is not None:
        size = rng.integers(2, 12, size=n).astype(float)
    # enough scatter that a dispersion to be learned shows beside an effect of single rows
    law = family.replace(dispersion=1.2) if family.has_dispersion else family
    y = law.draw(eta, size, rng)
    if family.link == "identity" and rows == "plain":
        offset = np.full(n, level)  # a field of mean zero could not stay above zero
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if rows in ("weights", "everything") else np.ones(n)
    error = rng.uniform(0, 0.2, size=n) if rows in ("errors", "everything") else np.zeros(n)
    return Responses(family, Rows(coords, trend), y, size, offset, weight, error)


def linear_bind(at: Theta, part: Responses, m: int = 12) -> LinearBound:
    dim = part.rows.coords.shape[1]

    def draw(theta):
        return QuasiMonteCarlo().draw(at.kernel.with_theta(theta), m, dim, np.random.default_rng(0))

    return LinearBound(draw, at.kernel.theta, at.noise)


def theta_for(data: Responses, reml: bool, noise: float, kernel: Kernel = KERNEL) -> Theta:
    """With a dispersion where it is to be learned, and a trend near its best where the likelihood is asked for."""
    family = data.with_dispersion().family
    dispersion = 1.2 if family is not data.family else None
    trend = None if reml else fixed_effects(data).coef + 0.05
    return Theta(kernel, noise, (), dispersion, trend)


def check_gradient(data: Responses, bind, reml: bool, noise: float = 0.1) -> None:
    """Slopes in all that is learned are those of the value, and the information is never negative."""
    evidence, theta = laplace(data, bind), theta_for(data, reml, noise)
    point = evidence.at(theta)
    # values near 100 known to 1e-10, so slopes to 1e-6
    assert_allclose(
        point.gradient, slopes_at(evidence, theta, 1e-3 if bind is bound_exactly else 1e-4), rtol=1e-4, atol=5e-5
    )
    assert_allclose(evidence.value(theta)[0], point.value, atol=1e-3)
    assert_allclose(point.information, point.information.T)
    assert np.linalg.eigvalsh(point.information).min() > -1e-8 * np.trace(point.information)


BINDERS = {"exact": bound_exactly, "linear": linear_bind}
every_bound = pytest.mark.parametrize("bind", BINDERS.values(), ids=BINDERS.keys())


@in_turn
@every_bound
def test_gradient_of_the_evidence(family, dim, bind):
    check_gradient(respond(family, dim), bind, True)


@every_family
@every_bound
def test_gradient_of_the_likelihood(family, bind):
    check_gradient(respond(family, 2), bind, False)


@pytest.mark.parametrize("rows", ROWS)
@every_bound
@both_criteria
def test_gradient_for_all_kinds_of_rows(rows, bind, reml):
    check_gradient(respond(Binomial(), 2, rows), bind, reml)


@pytest.mark.parametrize("rows", ROWS)
@every_bound
def test_gradient_for_all_kinds_of_rows_beside_a_dispersion(rows, bind):
    check_gradient(respond(Gamma(), 2, rows, n=20), bind, rows != "everything")


@pytest.mark.parametrize("family", [Binomial(), Gamma()])
def test_gradient_on_a_lattice(family):
    """Of waves whose masses are the kernel's, and of what they leave out beside the noise."""
    r = respond(family, 2, n=120)
    plan = lattice_plan(KERNEL, r.rows.coords, 1.0, 20)
    check_gradient(r, lambda theta, _: LatticeBound(plan, theta.kernel, theta.noise), True)


@pytest.mark.parametrize("rows", ["plain", "everything"])
@pytest.mark.parametrize("dim", DIMS)
def test_information_on_a_lattice_is_that_of_the_exact_kernel(dim, rows):
    """As far as its waves, which come round after some box, hold the kernel."""
    kernel, noise, n = SquaredExponential(1.2, 0.8), 0.1, (60, 150, 500)[dim - 1]
    r = respond(Binomial(), dim, rows, n=n)
    plan = lattice_plan(kernel, r.rows.coords, 50.0 * n, n // 3)
    waves = laplace(r, lambda theta, _: LatticeBound(plan, theta.kernel, theta.noise))
    found, expected = (each.at(Theta(kernel, noise)).information for each in (waves, laplace(r)))
    scale = np.sqrt(np.diag(expected))
    assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.1)
    assert np.linalg.eigvalsh(found).min() > -1e-9 * np.trace(found)


@every_bound
@both_criteria
def test_gradient_without_an_effect_of_single_rows(bind, reml):
    check_gradient(respond(Binomial(), 2, "everything"), bind, reml, noise=0.0)


@both_criteria
def test_gradient_of_several_parts(reml):
    """A composite: parts share kernel, dispersion and trend, and overlap as they like."""
    data = respond(NegativeBinomial(), 2, "everything", n=60)
    parts, theta = (
        [laplace(data[rows]) for rows in (slice(25), slice(20, 40), slice(40, 60))],
        theta_for(data, reml, 0.1),
    )
    point = Parts(parts).at(theta)
    assert_allclose(point.gradient, slopes_at(Parts(parts), theta), rtol=1e-4, atol=5e-5)
    assert_allclose(point.value, sum(part.at(theta).value for part in parts), rtol=1e-8)
    assert_allclose(point.information, sum(part.at(theta).information for part in parts))


@pytest.mark.parametrize("name", ["poisson-log", "negative-binomial-learned", "gamma-learned", "binomial-logit"])
@both_criteria
def test_an_evaluation_does_not_depend_on_the_ones_before(name, reml):
    """A search may look at absurd kernels; nothing of those may stay."""
    r = respond(FAMILIES[name], 2, n=40)
    evidence, theta = laplace(r), theta_for(r, reml, 0.0)
    fresh = laplace(r).at(theta)
    for absurd in (Matern(0.05, 700.0), Matern(20.0, 1e4), Matern(1.0, 1e-6)):
        evidence.at(replace(theta, kernel=absurd))
        point = evidence.at(theta)
        assert_allclose(point.value, fresh.value, atol=1e-5)
        assert_allclose(point.gradient, fresh.gradient, atol=1e-3)


def test_parts_are_clusters_and_a_sample_from_everywhere():
    data = respond(Poisson(), 2, n=4_000)
    *clusters, spread = _parts(data, 0)
    assert [len(c) for c in clusters] == [PART_ROWS] * CLUSTERS and len(spread) == SPREAD_ROWS
    extent = np.ptp(data.rows.coords, axis=0)
    assert all(np.all(np.ptp(c.rows.coords, axis=0) < 0.6 * extent) for c in clusters)
    assert np.all(np.ptp(spread.rows.coords, axis=0) > 0.8 * extent)


# ---------------------------------------------------------------------------- value


def plain_laplace(r: Responses, kernel: Kernel, noise: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Evidence by the book: joint mode of latent values and trend by a general optimiser, and its Hessian."""
    n, q = r.rows.trend.shape
    prior = np.linalg.inv(kernel(r.rows.coords) + np.diag(noise + r.error))
    design = np.column_stack([np.eye(n), r.rows.trend])
    precision = np.zeros((n + q, n + q))
    precision[:n, :n] = prior

    def negative(x):
        eta = design @ x + r.offset
        d = r.family.derivatives(r.y, eta, r.size)
        value = r.family.log_density(r.y, eta, r.size).sum() - 0.5 * x @ precision @ x
        gradient = design.T @ d.score - precision @ x
        return (-value, -gradient, design.T @ (d.curvature[:, None] * design) + precision)

    found = optimize.minimize(
        lambda x: negative(x)[:2],
        np.r_[np.zeros(n), np.linalg.lstsq(r.rows.trend, r.start() - r.offset, rcond=None)[0]],
        jac=True,
        hess=lambda x: negative(x)[2],
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    value, _, hessian = negative(found.x)
    evidence = -value + 0.5 * np.linalg.slogdet(prior)[1] - 0.5 * np.linalg.slogdet(hessian)[1]
    return evidence + 0.5 * q * np.log(2 * np.pi), design @ found.x + r.offset, found.x[n:]


@pytest.mark.parametrize("name", [name for name in FAMILIES if "learned" not in name])
@pytest.mark.parametrize("rows", ["plain", "trend", "errors"])
def test_evidence_and_mode_by_the_book(name, rows):
    r = respond(FAMILIES[name], 2, rows)
    expected, eta, beta = plain_laplace(r, KERNEL, 0.2)
    mode = exact_mode(KERNEL, 0.2, r)
    assert_allclose(mode.log_evidence, expected, rtol=1e-8)
    assert_allclose(mode.eta, eta, atol=1e-5)
    assert_allclose(mode.posterior.trend_coef, beta, atol=1e-5)
    # at the mode the score of each row is its weight in the field
    assert_allclose(r.family.derivatives(r.y, mode.eta, r.size).score, mode.alpha, atol=1e-5)


@every_family
def test_features_and_kernel_have_one_evidence(family):
    """Many waves: the primal and the dual view of nearly the same field."""
    family = family.replace(dispersion=0.5) if family.has_dispersion else family
    r, kernel = respond(family, 1, "everything"), SquaredExponential(0.8, 0.5)
    theta = Theta(kernel, 0.2)
    waves = laplace(r, lambda *a: linear_bind(*a, m=400)).at(theta).value
    exact = laplace(r).at(theta).value
    assert_allclose(waves, exact, atol=0.02)


@every_family
@every_bound
def test_copies_are_weights(family, bind):
    r = respond(family, 2, "everything", n=20)
    r = replace(r, weight=np.arange(20) % 3 + 1.0)
    copies = r[np.repeat(np.arange(20), r.weight.astype(int))]
    copies = replace(copies, weight=np.ones(len(copies)))
    merged = merge_equal_responses(copies)
    assert len(merged) == 20
    a, b, c = (laplace(part, bind).at(theta_for(part, True, 0.2)) for part in (r, merged, copies))
    assert_allclose(b.value, a.value, rtol=1e-9)
    assert_allclose(b.value, c.value, rtol=1e-7)
    assert_allclose(b.gradient, c.gradient, atol=5e-5)


# ----------------------------------------------------------------------- Newton's method


@every_family
@pytest.mark.parametrize("far", [-3.0, 3.0])
def test_the_mode_does_not_depend_on_the_start(family, far):
    family = family.replace(dispersion=0.5) if family.has_dispersion else family
    r = respond(family, 2)
    start = r.start() * (1 + far / 6) if family.link == "identity" else r.start() + far
    engine = ExactEngine(KERNEL, 0.1)
    a, b = (find_mode(r, engine, start=at, tolerance=1e-11) for at in (None, start))
    assert_allclose(a.eta, b.eta, atol=1e-5)
    assert_allclose(a.log_evidence, b.log_evidence, rtol=1e-9)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["poisson-log", "binomial-logit", "binomial-probit", "gamma"])
def test_much_data_in_every_row_is_a_gaussian_response(name, dim):
    """Counts in the millions tell each latent value with a known Gaussian error: the same posterior."""
    family = FAMILIES[name].replace(dispersion=1e-6) if name == "gamma" else FAMILIES[name]
    rng = np.random.default_rng(0)
    coords, n = rng.uniform(size=(30, dim)), 30
    rows = Rows(coords, np.ones((n, 1)))
    size = np.full(n, 1.0 if name == "gamma" else 4e6)
    eta = np.sin(4 * coords[:, 0])
    y = family.draw(eta, size, rng)
    zero, one = np.zeros(n), np.ones(n)
    r = Responses(family, rows, y, size, zero, one, zero)
    mode = exact_mode(KERNEL, 0.1, r)
    own = family.link_of(y / size)
    curvature = family.derivatives(y, own, size).curvature
    gaussian = ExactEngine(KERNEL, 0.1).fit(Observations(rows, own, one, 1 / curvature, zero))
    new = Rows(rng.uniform(size=(10, dim)), np.ones((10, 1)))
    # the likelihood's third derivative shifts the mode by the order of 1 / sqrt(count)
    assert_allclose(mode.posterior.mean(new), gaussian.posterior.mean(new), atol=1e-4)
    assert_allclose(mode.posterior.variance(new), gaussian.posterior.variance(new), rtol=1e-4)
    constants = family.log_density(y, own, size) - 0.5 * np.log(curvature / (2 * np.pi))
    assert_allclose(mode.log_evidence, gaussian.log_evidence + constants.sum(), atol=1e-2)
    assert mode.n_steps <= 4


@pytest.mark.parametrize("family", [Bernoulli(), Poisson()], ids=["presence", "counts"])
def test_a_mode_that_runs_away_is_refused(family):
    """A group without any case: its effect has no end, whatever the field does, though the likelihood hardly gains."""
    group, one, zero = np.arange(30) % 3 == 0, np.ones(30), np.zeros(30)
    rows = Rows(np.random.default_rng(0).uniform(size=(30, 2)), np.column_stack([one, group]))
    y = np.where(group, 0.0, np.arange(30) % 2)
    with pytest.raises(ConvergenceError, match="run"):
        find_mode(Responses(family, rows, y, one, zero, one, zero), ExactEngine(KERNEL, 0.0))


@pytest.mark.parametrize("family", [Bernoulli(), Bernoulli("probit")], ids=["logit", "probit"])
def test_the_next_order_leaves_a_fraction_of_the_error_of_the_evidence(family):
    """Of three rows, whose evidence is an integral over three dimensions."""
    rng = np.random.default_rng(3)
    one = np.ones(3)
    rows = Rows(rng.uniform(size=(3, 2)), np.empty((3, 0)))
    y = np.array([1.0, 0.0, 1.0])
    responses = Responses(family, rows, y, one, 0 * one, one, 0 * one)
    kernel = Matern(0.4, 1.2, nu=0.5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    mass = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / np.sqrt(2 * np.pi) ** 3
    eta = z @ np.linalg.cholesky(kernel(rows.coords)).T
    exact = np.log(mass @ np.exp(sum(family.log_density(y[i], eta[:, i], 1.0) for i in range(3))))
    laplace = ExactBound(kernel, 0.0, responses).point(responses, None).value
    assert abs(next_order_evidence(kernel, 0.0, responses) - exact) < 0.3 * abs(laplace - exact)


def test_the_next_order_is_that_of_plain_algebra():
    responses = respond(Bernoulli(), 2, "plain")
    point = ExactBound(KERNEL, 0.1, responses).point(responses, None)
    seen = point.mode.linearised
    eta, w = seen.eta, seen.curvature
    p = 1 / (1 + np.exp(-eta))
    prior = KERNEL(responses.rows.coords) + 0.1 * np.eye(len(eta))
    covariance = np.linalg.inv(np.linalg.inv(prior) + np.diag(w))
    spread, third, fourth = np.diag(covariance), -w * (1 - 2 * p), -w * (1 - 6 * w)
    plain = fourth @ spread**2 / 8 + (third * spread) @ covariance @ (third * spread) / 8
    assert_allclose(point.next_order, plain, rtol=1e-5)
