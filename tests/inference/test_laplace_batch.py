"""Quick ways to the Laplace evidence of few rows: each agrees with the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.families import Binomial, Gamma, NegativeBinomial, Poisson
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.laplace_batch import evidence_of_many
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.newton import find_mode
from bochner.inference.tuning.limits import GRID_STEP
from bochner.inference.tuning.search import Search
from bochner.kernels import Matern, Scale
from tests.inference.test_laplace import FAMILIES, ROWS, respond

FIELDS, NOISES = np.array([0.1, 0.8, 2.0]), np.array([0.0, 0.2, 0.05])
known = pytest.mark.parametrize(
    ("family", "rows"),
    [(FAMILIES[name], ROWS[i % len(ROWS)]) for i, name in enumerate(FAMILIES) if not name.endswith("learned")],
)


@known
def test_sets_side_by_side_have_the_evidence_of_each_alone(family, rows):
    r = respond(family, 2, rows)
    correlation = r.rows.covariance_within(Matern(0.7))
    start = np.tile(r.start(), (len(FIELDS), 1))
    value, eta = evidence_of_many(r, [correlation] * len(FIELDS), FIELDS, NOISES, start, 1e-5)
    for j, (field, noise) in enumerate(zip(FIELDS, NOISES, strict=True)):
        if np.isnan(value[j]):  # for the line search to see
            continue
        mode = find_mode(r, ExactEngine(Matern(0.7, float(field)), float(noise)), tolerance=1e-12)
        assert_allclose(value[j], mode.log_evidence, atol=1e-5)
        assert_allclose(eta[j], mode.eta, atol=1e-4)
    assert np.isfinite(value).sum() >= 2
    about, _ = evidence_of_many(r, [correlation] * len(FIELDS), FIELDS, NOISES, start, GRID_STEP)
    assert_allclose(about, value, atol=2 * GRID_STEP)


@known
def test_steps_by_one_factor_end_where_steps_by_many_do(family, rows):
    """A fit that is not asked again takes a factor for each step."""

    class Plain(ExactEngine):
        def fit(self, obs):
            fit = super().fit(obs)
            object.__setattr__(fit, "repeats", False)
            return fit

    r = respond(family, 1, rows)
    a, b = (find_mode(r, engine(Matern(0.7, 0.8), 0.1), tolerance=1e-11) for engine in (ExactEngine, Plain))
    assert_allclose(a.eta, b.eta, atol=1e-6)
    assert_allclose(a.log_evidence, b.log_evidence, atol=1e-7)
    assert a.n_steps <= b.n_steps


@pytest.mark.parametrize("family", [Gamma(), NegativeBinomial()], ids=["gamma", "negative-binomial"])
def test_a_dispersion_by_its_slope_is_the_one_of_a_search(family):
    r = respond(family, 2)
    quick, plain = InformedLaplace([r], reml=True), LaplaceObjective([r], ExactBound, reml=True)
    for kernel in (Matern(0.7, 0.8), Matern(0.5, 0.5), Matern(0.4, 0.3)):
        ours, theirs = quick(kernel, 0.0), plain(kernel, 0.0)
        assert_allclose(ours[0], theirs[0], atol=1e-7)
        assert_allclose(ours[1], theirs[1], atol=1e-4)
        assert_allclose(quick.value(kernel, 0.0), theirs[0], atol=1e-3)


@pytest.mark.parametrize("family", [Binomial(), Poisson()], ids=["binomial", "poisson"])
def test_information_is_about_the_curvature_of_the_evidence(family):
    """Of the same sign and size: it is what a climb begins with, no more."""
    r = respond(family, 2, n=80)
    objective = InformedLaplace([r], reml=True)
    kernel = Matern(0.7, 0.8)
    information = objective.information(kernel, 0.1)
    assert np.linalg.eigvalsh(information).min() > -1e-10
    assert objective(kernel, 0.1) is objective(kernel, 0.1)  # value and gradient are kept
    expected = np.zeros_like(information)
    for j in range(len(kernel.theta)):
        step = 1e-4 * np.eye(len(kernel.theta))[j]
        up, down = (objective(kernel.with_theta(kernel.theta + sign * step), 0.1)[1] for sign in (1, -1))
        expected[j] = (down - up) / 2e-4
    ratio = np.diag(information)[:-1] / np.maximum(np.diag(expected)[:-1], 1e-9)
    assert np.all(ratio > 0.1) and np.all(ratio < 20)


@pytest.mark.parametrize("family", [Gamma(), NegativeBinomial()], ids=["gamma", "negative-binomial"])
def test_a_dispersion_climbs_with_the_kernel_to_where_it_would_be_sought_anew(family):
    """Joint slopes are those of the value; a climb in all ends where the evidence is at its best in the dispersion."""
    r = respond(family, 2, n=80)
    objective = InformedLaplace([r], reml=True)
    at = np.r_[Matern(0.7, 0.8).theta, np.log(0.4)]

    def value(x):
        return objective.joint(Matern().with_theta(x[:2]), 0.0, x[2:])

    slopes = np.delete(value(at)[1], 2)  # there is no noise to move
    steps = 1e-4 * np.eye(3)
    assert_allclose(slopes, [(value(at + e)[0] - value(at - e)[0]) / 2e-4 for e in steps], rtol=1e-5, atol=1e-5)
    information = objective.joint_information(Matern(0.7, 0.8), 0.0, at[2:])
    assert np.linalg.eigvalsh(information).min() > -1e-10
    scale = Scale(np.ones(2), 0.05, 1.0)
    found = Search(objective, scale, 0.0).maximise(Matern(0.7, 0.8), 0.0)
    sought = LaplaceObjective([r], ExactBound, reml=True)(found.kernel, 0.0)
    assert_allclose(found.value, sought[0], atol=1e-5)
    assert_allclose(sought[1][:2], 0.0, atol=0.02)
