"""Learnable features: their gradient against finite differences, and the ascent that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

from bochner.families import family_named
from bochner.features import FourierMap, NystroemMap, Rows, local_spectrum
from bochner.frequencies import QuasiMonteCarlo, draw_pairs, lattice_frequencies
from bochner.inference import Observations, Responses
from bochner.inference.fits.linear import LinearEngine, fit_truncated
from bochner.inference.schemes.ascent import (
    Evidence,
    Learnable,
    LearnableSpectrum,
    LearnableWaves,
    climb,
    density_of,
    held_out_scores,
    noise_of_few_waves,
    parts_of,
    with_missing,
)
from bochner.inference.schemes.learned_spectra import Verdict, starts_of, with_remainder
from bochner.kernels import Matern, Periodic, SquaredExponential
from tests.laws.registry import DIMS
from tests.laws.registry_models import observe

KERNEL = Matern(0.7, 1.3)


def waves(dim: int) -> LearnableWaves:
    origin = QuasiMonteCarlo().draw(KERNEL, 6, dim, np.random.default_rng(0))
    unit = np.full(dim, 1.4)
    return LearnableWaves(origin, unit, density_of(KERNEL, origin.omega, unit))


def pairs(dim: int) -> LearnableWaves:
    origin = draw_pairs(KERNEL, 5, dim, np.random.default_rng(1))
    return LearnableWaves(origin, np.full(dim, 1.4), density_of(KERNEL, origin.first, np.full(dim, 1.4)))


def spectrum(dim: int) -> LearnableSpectrum:
    box = (np.full(dim, -1.1), np.full(dim, 1.1))
    surface = NystroemMap.at(SquaredExponential(1.0), np.random.default_rng(2).uniform(-1, 1, size=(4, dim)))
    lattice = lattice_frequencies(KERNEL, box[1] - box[0], n_frequencies=12)
    return LearnableSpectrum(local_spectrum(KERNEL, lattice, surface, box))


LEARNABLES: dict[str, Callable[[int], Learnable]] = {"waves": waves, "pairs": pairs, "local-spectrum": spectrum}
every_learnable = pytest.mark.parametrize("learnable_in", LEARNABLES.values(), ids=LEARNABLES.keys())
every_dimension = pytest.mark.parametrize("dim", DIMS)


def counts(dim: int, n: int = 40) -> Responses:
    obs = observe(dim, n)
    y = np.random.default_rng(3).poisson(np.exp(obs.y / 2)).astype(float)
    one, zero = np.ones(n), np.zeros(n)
    return Responses(family_named("poisson"), obs.rows, y, one, zero, one, zero)


def check_gradient(evidence: Evidence) -> None:
    rng = np.random.default_rng(4)
    point = evidence.start + 0.03 * rng.normal(size=len(evidence.start))
    _, gradient = evidence(point)
    directions = rng.normal(size=(6, len(point)))
    h = 1e-6
    slopes = [(evidence(point + h * d)[0] - evidence(point - h * d)[0]) / (2 * h) for d in directions]
    # central differences of values near 100: rounding of 1e-13 * 100 / h = 1e-5, beside slopes near 10
    assert_allclose(directions @ gradient, slopes, rtol=1e-4, atol=2e-4)


@every_learnable
@every_dimension
@pytest.mark.parametrize("reml", [True, False], ids=["evidence", "likelihood"])
@pytest.mark.parametrize("n", [10, 40], ids=["fewer-rows", "more-rows"])
def test_gradient_of_gaussian_evidence(learnable_in, dim, reml, n):
    obs = observe(dim, n, weights=True, errors=True, copies=True)
    check_gradient(Evidence(learnable_in(dim), obs, 0.2, learn_noise=True, reml=reml))


@every_learnable
@every_dimension
@pytest.mark.parametrize("n", [9, 40], ids=["fewer-rows", "more-rows"])
def test_gradient_of_laplace_evidence(learnable_in, dim, n):
    check_gradient(Evidence(learnable_in(dim), counts(dim)[np.arange(n)], 0.1, learn_noise=True, reml=True))


def test_a_kernel_of_lines_shrinks_towards_the_start():
    start = np.array([[1.0], [2.0]])
    density = density_of(Periodic(1.0, period=2.0), start, np.ones(1))
    assert density(start)[0] == 0 and density(start + 1)[0] < 0
    assert_allclose(density(start + 1)[1], -1.0)


def tone(n: int = 200, seed: int = 0) -> Observations:
    """A single wave in noise, which a kernel's own waves miss."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(-5, 5, size=(n, 1))
    y = np.sin(4.3 * coords[:, 0]) + 0.2 * rng.normal(size=n)
    return Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))


def test_ascent_finds_the_wave_and_never_ends_below_its_start():
    obs = tone()
    origin = QuasiMonteCarlo().draw(Matern(0.4), 5, 1, np.random.default_rng(0))
    unit = np.median(np.abs(origin.omega), axis=0)
    learnable = LearnableWaves(origin, unit, density_of(Matern(0.4), origin.omega, unit))
    parts = parts_of(obs.rows.coords, 10, seed=0)
    start, best = climb(learnable, obs[parts[0]], obs[parts[1]], 0.04, 1.0, learn_noise=True, reml=True)
    assert best.score > start.score and best.evidence > start.evidence
    learned = best.features
    assert isinstance(learned, FourierMap)
    heaviest = learned.frequencies.omega[np.argmax(learned.frequencies.mass)]
    # ten units of length resolve frequencies to 2 pi / 10, and a wave in little noise far better
    assert_allclose(np.abs(heaviest), 4.3, atol=0.1)
    assert_allclose(best.noise_variance, 0.04, rtol=0.4)


def test_variance_that_the_waves_miss_is_carried():
    """One wave for a field of many: rows held out ask for variance beside it."""
    rng = np.random.default_rng(5)
    coords = rng.uniform(-5, 5, size=(150, 1))
    field = np.linalg.cholesky(Matern(0.5)(coords) + 1e-8 * np.eye(150)) @ rng.normal(size=150)
    obs = Observations(Rows(coords, np.ones((150, 1))), field, np.ones(150), np.full(150, 1e-3), np.zeros(150))
    known, unknown = (obs[rows] for rows in parts_of(coords, 2, seed=0))
    waves_ = QuasiMonteCarlo().draw(Matern(0.5), 1, 1, np.random.default_rng(0))
    learnable = LearnableWaves(waves_, np.ones(1), density_of(Matern(0.5), waves_.omega, np.ones(1)))
    point = climb(learnable, known, unknown, 1e-3, 1.0, learn_noise=False, reml=True, iterations=5)[1]
    carried = with_missing(point, known, unknown, 1.0)
    assert carried.features.missing > 0 and carried.score > point.score  # type: ignore[attr-defined]


@every_dimension
def test_parts_are_disjoint_and_bounded(dim):
    coords = np.random.default_rng(6).uniform(size=(3_000, dim))
    known, unknown = parts_of(coords, 200, seed=0, most=900)
    assert not set(known) & set(unknown)
    assert len(known) == 900 and 300 < len(unknown) <= 2_000


def test_held_out_score_is_the_log_density_of_new_observations():
    obs = tone(80)
    features = FourierMap(QuasiMonteCarlo().draw(Matern(0.5), 10, 1, np.random.default_rng(0)))
    known, unknown = obs[np.arange(60)], obs[np.arange(60, 80)]
    phi, psi = features.block(known.rows.coords), features.block(unknown.rows.coords)
    wide = 1e8  # a flat prior on the intercept
    cov = phi @ phi.T + wide + 0.1 * np.eye(60)
    cross = psi @ phi.T + wide
    mean = cross @ np.linalg.solve(cov, known.y)
    var = np.sum(psi**2, axis=1) + wide - np.sum(cross * np.linalg.solve(cov, cross.T).T, axis=1) + 0.1
    expected = np.mean(-0.5 * np.log(2 * np.pi * var) - 0.5 * (unknown.y - mean) ** 2 / var)
    assert_allclose(held_out_scores(features, 0.1, known, unknown).sum(), expected, rtol=1e-5)


@every_dimension
@pytest.mark.parametrize("reml", [True, False])
def test_noise_of_few_waves_is_the_most_likely_one_that_is_not_less_than_given(dim, reml):
    """Rescaled moments say the same as a fit anew; waves that leave much out raise the noise, enough waves do not."""
    obs = observe(dim, 120)
    for kernel, raised in ((Matern(0.1, 2.0, nu=0.5), True), (Matern(5.0, 4.0, nu=2.5), None)):
        features = FourierMap(QuasiMonteCarlo().draw(kernel, 8, dim, np.random.default_rng(0)))
        fit = fit_truncated(features, obs, 0.02, 2.0, reml=reml)
        noise = fit.noise_variance
        again = LinearEngine(features, noise).fit(obs)
        assert_allclose([fit.log_evidence, fit.log_likelihood], [again.log_evidence, again.log_likelihood], rtol=1e-8)
        assert_allclose(fit.posterior.coef, again.posterior.coef, rtol=1e-6, atol=1e-9)
        assert noise >= 0.02
        found = [LinearEngine(features, s).fit(obs) for s in np.geomspace(0.02, 2.0, 30)]
        best = max(f.log_evidence if reml else f.log_likelihood for f in found)
        assert (fit.log_evidence if reml else fit.log_likelihood) > best - 0.1
        assert raised is None or noise > 0.02


def test_noise_that_only_the_waves_see_is_carried_as_field():
    """Noise beyond that of the tuned kernel becomes missing variance; less than it stays as it is."""
    features = FourierMap(QuasiMonteCarlo().draw(Matern(0.6), 5, 2, np.random.default_rng(0)), np.float64, 0.1)
    more = with_remainder(Verdict(features, 0.5, "told", True), 0.2, 5)
    assert more.noise_variance == 0.2 and more.n_frequencies == 5
    assert more.features.missing == pytest.approx(0.1 + 0.3)
    less = with_remainder(Verdict(features, 0.1, "told", True), 0.2, 5)
    assert less.noise_variance == 0.1 and less.features.missing == 0.1


def test_rows_are_held_out_in_blocks_up_to_three_dimensions():
    """Of a held-out row the nearest other is held out, too, but at the rim of a block; in five dimensions seldom."""
    shares = []
    for dim in (2, 5):
        coords = np.random.default_rng(0).uniform(size=(600, dim))
        known, unknown = parts_of(coords, 10, 0)
        assert not set(known) & set(unknown) and len(known) + len(unknown) == 600
        near = cKDTree(coords).query(coords[unknown], k=2)[1][:, 1]
        shares.append(np.isin(near, known).mean())
    assert shares[0] < 0.55 < 0.65 < shares[1]  # four fifths are known


def test_noise_of_few_waves_is_no_more_than_the_field():
    """Of responses that scatter far more than the field could, waves take the size of the field for noise."""
    obs = observe(2, 80)
    wild = replace(obs, y=30 * np.random.default_rng(0).standard_normal(80))
    features = FourierMap(QuasiMonteCarlo().draw(Matern(0.5), 6, 2, np.random.default_rng(0)))
    assert noise_of_few_waves(features, wild, 0.01, 2.0, reml=True) == 2.0


def test_every_start_has_the_variance_of_the_kernel():
    """Whether waves are drawn from the kernel, or lie at the peaks of the data's spectrum."""
    kernel = Matern(0.4, 3.0)
    for name, waves in starts_of(0, kernel, 12, observe(2, 300)):
        assert_allclose(waves.mass.sum(), 3.0, rtol=1e-6, err_msg=name)


@every_dimension
@pytest.mark.parametrize("make", [waves, pairs])
def test_a_climb_starts_at_what_it_was_given(make, dim):
    """Whatever unit the frequencies are moved in."""
    learnable = make(dim)
    there, origin = learnable.at(learnable.start), learnable.origin
    found = there.frequencies if hasattr(there, "frequencies") else there.pairs
    for name in ("omega",) if hasattr(origin, "omega") else ("first", "second"):
        assert_allclose(getattr(found, name), getattr(origin, name), rtol=1e-12)
    assert_allclose(found.mass, origin.mass)
