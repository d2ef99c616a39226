"""Calibration and scores of counts: steps of the distribution, probabilities beside frequencies, laws by name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from bochner import validation as v
from bochner.exceptions import InputError
from bochner.families import Bernoulli, Binomial, Gamma, NegativeBinomial, Poisson
from bochner.posterior import Latent, Response
from bochner.validation.wilson import wilson_interval

LAWS = {
    "bernoulli": Bernoulli(),
    "binomial": Binomial(),
    "poisson": Poisson(),
    "negative-binomial": NegativeBinomial(dispersion=0.4),
    "gamma": Gamma(dispersion=0.5),
}
every_law = pytest.mark.parametrize("family", LAWS.values(), ids=LAWS.keys())


def simulated(family, rng: np.random.Generator, n: int = 2000) -> tuple[Response, np.ndarray]:
    """A law for each of n rows, and an observation from it."""
    mean, sd = rng.normal(size=n), 0.6
    size = rng.integers(1, 30, size=n).astype(float) if family.size_name else None
    law = Response(family, Latent(mean[None], np.full((1, n), sd**2), np.ones(1)), size, new=True)
    return law, family.draw(mean + sd * rng.normal(size=n), law.sizes, rng)


@every_law
def test_calibrated_laws_look_calibrated(family, rng):
    law, y = simulated(family, rng)
    steps = law.pit_bounds(y)
    assert stats.kstest(v.pit_draw(*steps, rng), "uniform").pvalue > 1e-3
    table = v.coverage_table(*steps)
    # four standard errors of a share; the interval is of two
    assert_allclose(table.coverage, table.level, atol=4 * np.sqrt(0.25 / len(y)))
    assert ((table.lower <= table.coverage) & (table.coverage <= table.upper)).all()
    histogram = v.pit_histogram(*steps)
    assert (np.abs(histogram.share - 0.1) < 4.5 * histogram.standard_error).all()
    assert "coverage" in str(table) and len(str(table).splitlines()) == len(table.level) + 1


def test_laws_too_narrow_show(rng):
    """Predictions without the scatter that the counts have: too few in every interval."""
    law, y = simulated(Poisson(), rng)
    narrow = Response(law.family, Latent(law.eta.means, law.eta.variances / 100, law.eta.mass), law.size, new=True)
    table = v.coverage_table(*narrow.pit_bounds(y), levels=[0.5, 0.9])
    assert (table.upper < table.level).all()


def test_coverage_of_amounts_is_a_share(rng):
    pit = rng.uniform(size=500)
    table = v.coverage_table(pit, pit, [0.5, 0.9])
    assert_allclose(table.coverage, [np.mean(np.abs(2 * pit - 1) <= level) for level in (0.5, 0.9)])
    weighted = v.coverage_table([0.1, 0.5], [0.1, 0.5], [0.5], sample_weight=[1, 3])
    assert_allclose(weighted.coverage, 0.75)


def test_step_counts_with_the_part_inside():
    assert_allclose(v.coverage_table([0.0], [0.5], [0.5]).coverage, 0.5)
    assert_allclose(v.coverage_table([0.3], [0.4], [0.5]).coverage, 1.0)
    assert_allclose(v.coverage_table([0.0], [1.0], [0.8]).coverage, 0.8)


@every_law
def test_scores_by_name_are_those_of_the_law(family, rng):
    law, y = simulated(family, rng, 40)
    weight = rng.uniform(size=40)
    prediction = law.prediction(0.9)
    assert_allclose(prediction.mean, law.mean)
    assert_allclose(prediction.upper, law.quantile(0.95))
    known = {name: score for name, score in v.SCORES.items() if score.applies(prediction)}
    scores = {name: score(y, prediction, sample_weight=weight) for name, score in known.items()}
    assert_allclose(scores["crps"], np.average(law.crps(y), weights=weight))
    assert_allclose(scores["log_score"], np.average(law.log_density(y), weights=weight))
    assert_allclose(scores["rmse"], np.sqrt(np.average((y - law.mean) ** 2, weights=weight)))
    if family.name in ("bernoulli", "binomial"):
        expected = v.brier(y, law.mean / law.sizes, trials=law.sizes, sample_weight=weight)
        assert_allclose(v.get_scores("brier")["brier"](y, prediction, sample_weight=weight), expected)
    else:
        with pytest.raises(InputError, match="no trials, which brier needs"):
            v.get_scores("brier")["brier"](y, prediction)


def test_scores_are_proper(rng):
    """On average nothing scores better than the law that the counts come from."""
    law, y = simulated(NegativeBinomial(dispersion=0.4), rng, 200)
    poisson = Response(Poisson(), law.eta, law.size, new=True)
    biased = Response(law.family, Latent(law.eta.means + 0.4, law.eta.variances, law.eta.mass), law.size, new=True)
    truth, *others = (each.prediction() for each in (law, poisson, biased))
    for other in others:
        assert v.SCORES["crps"](y, truth) < v.SCORES["crps"](y, other)
        assert v.SCORES["log_score"](y, truth) > v.SCORES["log_score"](y, other)


def test_brier_of_positives_is_that_of_single_trials():
    y, p, n = np.array([1.0, 0.0, 3.0]), np.array([0.3, 0.1, 0.8]), np.array([2.0, 1.0, 4.0])
    single, probability = [1, 0, 0, 1, 1, 1, 0], np.repeat(p, n.astype(int))
    assert_allclose(v.brier(y, p, trials=n), v.brier(single, probability))
    weight = np.array([2.0, 1.0, 0.5])
    expected = v.brier(single, probability, sample_weight=np.repeat(weight, n.astype(int)))
    assert_allclose(v.brier(y, p, trials=n, sample_weight=weight), expected)


def test_ends_of_wilsons_interval_solve_its_equation():
    share, n = np.array([0.0, 0.1, 0.5, 1.0]), np.array([10.0, 50.0, 7.0, 30.0])
    for p in wilson_interval(share, n, 0.9):
        assert_allclose((share - p) ** 2, special.ndtri(0.95) ** 2 * p * (1 - p) / n, atol=1e-15)


@pytest.mark.parametrize("trials", [1, 20])
@pytest.mark.parametrize("scatter", [0.0, 0.8])
def test_intervals_of_a_probability_table_hold_the_truth(trials, scatter, rng):
    """Rows that scatter about what was predicted (as surveys do) widen them, where several trials show it."""
    n, inside, bins = 600, 0, 0
    for _ in range(20):
        eta = rng.normal(size=n)
        p = Response(Bernoulli(), Latent(eta[None], np.full((1, n), scatter**2), np.ones(1))).mean
        y = rng.binomial(trials, special.expit(eta + scatter * rng.normal(size=n)))
        table = v.probability_table(y, p, np.full(n, trials), n_bins=6)
        inside += np.sum((table.lower <= table.predicted) & (table.predicted <= table.upper))
        bins += len(table.predicted)
        assert table.n_rows.sum() == n and table.n_trials.sum() == n * trials
    # 95 %, less four standard errors of 120 bins
    assert inside / bins > 0.87


def test_bins_of_a_probability_table():
    y, p = np.array([0, 0, 1, 1, 0, 1]), np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.9])
    table = v.probability_table(y, p, n_bins=4)
    assert_allclose(table.predicted, [0.1, 0.9])  # equal predictions stay together
    assert_allclose(table.observed, [1 / 3, 2 / 3])
    own = v.probability_table(y, p, edges=[0, 0.05, 0.5, 1])
    assert_allclose(own.predicted, [0.1, 0.9])
    assert "95% interval" in str(own) and len(str(own).splitlines()) == 3
    none = v.probability_table(np.zeros(20), np.full(20, 0.05))
    assert none.lower[0] == 0 and 0.1 < none.upper[0] < 0.2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: v.coverage_table([0.5], [0.4]), "0.5 and 0.4 in row 0; needed are P"),
        (lambda: v.coverage_table([0.5], [0.6, 0.7]), "upper has shape"),
        (lambda: v.coverage_table([0.5], [0.6], [95]), "level is 95"),
        (lambda: v.pit_draw([], [], np.random.default_rng(0)), "lower has shape"),
        (lambda: v.brier([3], [0.5], trials=[2]), "between 0 and trials"),
        (lambda: v.brier([0], [0.5], trials=[0]), "trials breaks its bound"),
        (lambda: v.probability_table([2], [0.5]), "y is 2 of 1 in row 0.*Pass `trials`"),
        (lambda: v.probability_table([1], [50]), "between 0 and 1"),
        (lambda: v.probability_table([1], [0.5], edges=[0.6, 1]), "edges do not increase"),
        (lambda: v.probability_table([1], [0.5], n_bins=0), "n_bins=0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
