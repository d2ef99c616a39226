"""Every evidence: slopes are those of its value, information is never negative, and the value is that of algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner.frequencies import QuasiMonteCarlo
from bochner.inference import Observations
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.learning.evidence import Exact, Nearest, Theta, Waves
from bochner.inference.learning.other_families import Laplace
from bochner.kernels import Matern
from bochner.neighbours import Vecchia
from tests.inference.learning.evidences import slopes_at, task_of

KERNEL = Matern((0.3, 0.5), 0.8, nu=1.2, learn_nu=True, rotation=0.4)
EFFECTS = [(), (0.3,), (0.3, 2.0)]
with_effects = pytest.mark.parametrize("effects", EFFECTS, ids=["flat", "one block", "two blocks"])


def blocks_for(effects: tuple[float, ...]) -> np.ndarray:
    """Of an intercept and three covariates."""
    return np.array([-1, -1, -1, -1] if not effects else [-1, 0, 0, len(effects) - 1])


def observed(n: int = 40, *, errors: bool = False) -> Observations:
    """Rows of which some stand for several that scatter, with three covariates."""
    rng = np.random.default_rng(1)
    obs = task_of("gaussian", n, covariates=3).obs
    weight = rng.integers(1, 4, len(obs)).astype(float)
    error = rng.uniform(0, 0.2, len(obs)) if errors else np.zeros(len(obs))
    return replace(obs, weight=weight, scatter=0.1 * (weight - 1), error=error)


def check(evidence, theta: Theta, h: float = 1e-3) -> None:
    """Slopes by central differences, and an information that is symmetric and never negative."""
    point = evidence.at(theta)
    assert_allclose(point.gradient, slopes_at(evidence, theta, h), rtol=1e-4, atol=1e-4)
    assert_allclose(evidence.value(theta)[0], point.value, atol=1e-4)
    assert point.information.shape == (len(point.gradient),) * 2
    assert_allclose(point.information, point.information.T, atol=1e-9)
    assert np.linalg.eigvalsh(point.information)[0] > -1e-8 * np.trace(point.information)


# ---------------------------------------------------------------------------------- Gaussian


@with_effects
@pytest.mark.parametrize("free", [True, False], ids=["free factor", "as it is"])
def test_exact(effects, free):
    check(Exact(observed(errors=not free), blocks_for(effects), free), Theta(KERNEL, 0.2, effects))


def test_exact_likelihood():
    check(Exact(observed(errors=True), blocks_for(()), reml=False), Theta(KERNEL, 0.2))


@with_effects
def test_neighbours(effects):
    obs = observed(120, errors=True)
    plan = Vecchia.plan(*obs.columns, n_neighbours=8)
    check(Nearest(plan, obs, blocks_for(effects)), Theta(KERNEL, 0.2, effects))


def test_neighbours_without_a_prior_of_the_trend():
    obs = observed(120)
    check(Nearest(Vecchia.plan(*obs.columns, n_neighbours=8), obs, blocks_for(()), False), Theta(KERNEL, 0.2))


@pytest.mark.parametrize(("effects", "reml"), [(EFFECTS[0], False), *((each, True) for each in EFFECTS)])
def test_waves(effects, reml):
    def draw(kernel, theta):
        return QuasiMonteCarlo().draw(kernel.with_theta(theta), 12, 2, np.random.default_rng(0))

    check(Waves(draw, observed(), blocks_for(effects), reml), Theta(KERNEL, 0.2, effects), 1e-5)


@with_effects
def test_all_neighbours_are_the_exact_kernel(effects):
    obs, theta = replace(observed(), scatter=np.zeros(len(observed()))), Theta(KERNEL, 0.2, effects)
    plan = Vecchia.plan(*obs.columns, n_neighbours=len(obs) - 1)
    ours, exact = Nearest(plan, obs, blocks_for(effects)).at(theta), Exact(obs, blocks_for(effects)).at(theta)
    values = [[one.value for one in (ours, exact)]]
    other = replace(theta, noise=0.5)
    values += [[e.value(other)[0] for e in (Nearest(plan, obs, blocks_for(effects)), Exact(obs, blocks_for(effects)))]]
    assert_allclose(*np.diff(values, axis=0)[0], rtol=1e-5)
    assert_allclose(ours.gradient, exact.gradient, rtol=1e-4, atol=1e-4)


def test_shrunk_effects_are_a_part_of_the_covariance():
    """Two blocks of covariates with normal effects, and a level with a flat prior: an integral over it."""
    obs = task_of("gaussian", 25, covariates=3).obs
    theta, trend = Theta(KERNEL, 0.2, (0.3, 2.0)), obs.rows.trend
    prior = np.array([0.3, 0.3, 2.0])
    sigma = KERNEL(obs.rows.coords) + np.diag(0.2 / obs.weight) + (trend[:, 1:] * prior) @ trend[:, 1:].T
    law = stats.multivariate_normal(np.zeros(len(obs)), sigma)
    levels = np.linspace(-40, 40, 20_001)
    values = law.logpdf(obs.y - levels[:, None])
    expected = values.max() + np.log(np.trapezoid(np.exp(values - values.max()), levels))
    found = Exact(replace(obs, scatter=np.zeros(len(obs))), blocks_for(theta.effects)).value(theta)[0]
    copies = np.sum(0.5 * (obs.weight - 1) * np.log(2 * np.pi * 0.2) + 0.5 * np.log(obs.weight))
    assert_allclose(found, expected - copies, rtol=1e-8)


@with_effects
def test_a_common_factor_is_integrated_out(effects):
    """The evidence is that of a fine sum over the logarithm of the factor, which has a flat prior."""
    obs, theta = observed(30), Theta(KERNEL, 0.2, effects)
    blocks, logs = blocks_for(effects), np.linspace(-8, 8, 161)
    value, scale = Exact(obs, blocks, True).value(theta)
    values = []
    for s in np.exp(logs):
        scaled = Theta(KERNEL.scaled(s), 0.2 * s, tuple(v * s for v in effects))
        values.append(Exact(obs, blocks).value(scaled)[0])
    assert_allclose(value, np.logaddexp.reduce(values) + np.log(logs[1] - logs[0]), atol=1e-6)
    assert abs(logs[np.argmax(values)] - np.log(scale)) < 0.1


# ---------------------------------------------------------------------------- other families


@with_effects
@pytest.mark.parametrize("family", ["binomial", "poisson", "negative-binomial"])
def test_laplace(family, effects):
    data = task_of(family, 30, covariates=3).data.with_dispersion()
    dispersion = 0.6 if family == "negative-binomial" else None
    check(Laplace(data, blocks_for(effects)), Theta(KERNEL, 0.1, effects, dispersion))
    known = replace(data, trend_precision=np.diag([0.5, 0.4, 2.0, 1.0]))  # of a part that begins from all rows
    check(Laplace(known, blocks_for(effects)), Theta(KERNEL, 0.1, effects, dispersion))


@pytest.mark.parametrize("family", ["binomial", "poisson", "negative-binomial"])
def test_laplace_with_a_trend_that_is_held(family):
    data = task_of(family, 30, covariates=3).data.with_dispersion()
    dispersion = 0.6 if family == "negative-binomial" else None
    check(Laplace(data, blocks_for(())), Theta(KERNEL, 0.1, (), dispersion, fixed_effects(data).coef + 0.1))


def test_laplace_of_shrunk_effects_is_that_of_a_wider_covariance():
    """Of effects with a normal prior: linear columns are a field, too."""
    task = task_of("poisson", 30, covariates=3)
    data, theta = task.data, Theta(KERNEL, 0.1, (0.3,))
    trend = data.rows.trend
    found = Laplace(data, blocks_for((0.3,))).at(theta)
    shifted = [Laplace(data, blocks_for((0.3,))).value(replace(theta, effects=(v,)))[0] for v in (1e-8, 0.3, 3.0)]
    bare = replace(data, rows=replace(data.rows, trend=trend[:, :1]))
    assert_allclose(shifted[0], Laplace(bare, blocks_for(())[:1]).value(replace(theta, effects=()))[0], atol=1e-3)
    assert_allclose(shifted[1], found.value, atol=1e-3)
    assert shifted[2] != shifted[1]
