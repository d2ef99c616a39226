"""Scores: closed forms against integrals and simulation, limits, weights, and refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from bochner import validation as v
from bochner.exceptions import InputError

value = st.floats(-50, 50)
spread = st.floats(0.01, 20)


def crps_by_integral(y: float, cdf: Callable[[float], float], low: float, high: float) -> float:
    """The definition: the integral of (F(x) - 1{x >= y})^2."""
    below = integrate.quad(lambda x: cdf(x) ** 2, low, y, limit=400, epsabs=1e-11)[0]
    above = integrate.quad(lambda x: (1 - cdf(x)) ** 2, y, high, limit=400, epsabs=1e-11)[0]
    return float(below + above)


@pytest.mark.parametrize(("y", "mean", "sd"), [(0, 0, 1), (1.3, 0.2, 0.5), (-4, 1, 2), (3, 3.01, 0.05)])
def test_crps_is_its_integral(y: float, mean: float, sd: float) -> None:
    expected = crps_by_integral(y, stats.norm(mean, sd).cdf, min(y, mean) - 9 * sd, max(y, mean) + 9 * sd)
    assert_allclose(v.crps([y], [mean], [sd]), expected, rtol=1e-7)


def test_crps_of_a_mixture_is_its_integral() -> None:
    means, sds, mass = np.array([-1.0, 0.5, 3.0]), np.array([0.5, 1.0, 0.3]), np.array([0.2, 0.5, 0.3])
    expected = crps_by_integral(0.7, lambda x: float(mass @ stats.norm.cdf(x, means, sds)), -15, 15)
    assert_allclose(v.crps_mixture([0.7], means[:, None], sds[:, None], mass), expected, rtol=1e-7)


@given(y=value, mean=value, sd=spread)
def test_mixture_of_equals_is_the_gaussian(y: float, mean: float, sd: float) -> None:
    one = v.crps([y], [mean], [sd])
    three = v.crps_mixture([y], np.full((3, 1), mean), np.full((3, 1), sd), [0.2, 0.3, 0.5])
    assert_allclose(three, one, rtol=1e-10, atol=1e-11)


def test_crps_of_draws_tends_to_the_gaussian(rng: np.random.Generator) -> None:
    y, mean, sd = rng.normal(size=(3, 20))
    sd = np.abs(sd) + 0.1
    m = 20_000
    draws = mean + sd * rng.normal(size=(m, 20))
    # each row is a mean of m draws whose sd is at most about sd: standard error of the mean of 20 rows
    assert_allclose(v.crps_sample(y, draws), v.crps(y, mean, sd), atol=6 * sd.max() / np.sqrt(20 * m))


def test_crps_of_few_draws_is_fair(rng: np.random.Generator) -> None:
    """Two draws a row, many rows: no bias, where the plain form would be off by 0.28."""
    n = 100_000
    score = v.crps_sample(np.zeros(n), rng.normal(size=(2, n)))
    # one row's fair score has variance below 1
    assert_allclose(score, v.crps([0.0], [0.0], [1.0]), atol=6 / np.sqrt(n))


@given(y=value, draws=st.lists(value, min_size=2, max_size=12))
def test_crps_of_draws_is_the_double_sum(y: float, draws: list[float]) -> None:
    x, m = np.array(draws), len(draws)
    expected = np.abs(x - y).mean() - np.abs(x[:, None] - x).sum() / (2 * m * (m - 1))
    assert_allclose(v.crps_sample([y], x[:, None]), expected, atol=1e-10)


@given(y=value, mean=value, tiny=st.sampled_from([0.0, 1e-320, 1e-200, 1e-30]))
def test_crps_without_spread_is_the_absolute_error(y: float, mean: float, tiny: float) -> None:
    assert v.crps([y], [mean], [0.0]) == abs(y - mean)
    assert_allclose(v.crps([y], [mean], [tiny]), abs(y - mean), atol=1e-29)
    assert_allclose(v.crps_mixture([y], [[mean], [mean]], [[0.0], [0.0]], [0.5, 0.5]), abs(y - mean), atol=1e-300)


@given(y=value, mean=value, sd=spread, scale=st.floats(0.1, 100), shift=value)
def test_crps_has_the_unit_of_y(y: float, mean: float, sd: float, scale: float, shift: float) -> None:
    moved = v.crps([scale * y + shift], [scale * mean + shift], [scale * sd])
    assert_allclose(moved, scale * v.crps([y], [mean], [sd]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wrong", [(0.3, 1.0), (0.0, 0.7), (0.0, 1.4)])
def test_proper_scores_prefer_the_truth(wrong: tuple[float, float], rng: np.random.Generator) -> None:
    y = rng.normal(size=50_000)
    truth, other = (v.Prediction.gaussian(np.full(y.shape, mean), sd) for mean, sd in ((0.0, 1.0), wrong))
    assert v.SCORES["crps"](y, truth) < v.SCORES["crps"](y, other)
    assert v.SCORES["interval_score"](y, truth) < v.SCORES["interval_score"](y, other)
    assert v.SCORES["log_score"](y, truth) > v.SCORES["log_score"](y, other)


def test_log_score_is_the_mean_log_density(rng: np.random.Generator) -> None:
    y, mean = rng.normal(size=(2, 9))
    sd = rng.uniform(0.1, 2, size=9)
    assert_allclose(v.log_score(y, mean, sd), stats.norm.logpdf(y, mean, sd).mean())


def test_point_scores_by_hand() -> None:
    y, mean = [1.0, 2.0, 6.0], [2.0, 2.0, 4.0]
    assert_allclose(v.rmse(y, mean), np.sqrt(5 / 3))
    assert_allclose(v.mae(y, mean), 1.0)
    assert_allclose(v.bias(y, mean), -1 / 3)
    assert_allclose(v.brier([1, 0, 1], [0.8, 0.4, 1.0]), (0.04 + 0.16) / 3)


def test_interval_scores_by_hand() -> None:
    y, lower, upper = [0.0, 3.0, 1.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]
    assert_allclose(v.interval_score(y, lower, upper, 0.9), 1 + 20 * (1 + 1) / 3)
    assert_allclose(v.coverage(y, lower, upper), 1 / 3)


def test_pit_is_uniform_when_calibrated(rng: np.random.Generator) -> None:
    mean, sd = rng.normal(size=5000), rng.uniform(0.1, 3, size=5000)
    transform = v.pit(rng.normal(mean, sd), mean, sd)
    assert stats.kstest(transform, "uniform").pvalue > 1e-4
    assert_allclose(v.pit([1, 2, 3], [2, 2, 2], 0.0), [0, 0.5, 1])


@pytest.mark.parametrize("name", sorted(v.SCORES))
def test_weight_two_is_a_row_twice(name: str, rng: np.random.Generator) -> None:
    y, mean = rng.normal(size=(2, 6))
    weight = np.array([2, 1, 0, 1, 2, 3])
    score = v.SCORES[name]
    again = np.repeat(np.arange(6), weight)
    sd = rng.uniform(0.5, 1, size=6)
    prediction, twice = v.Prediction.gaussian(mean, sd), v.Prediction.gaussian(mean[again], sd[again])
    if not score.applies(prediction):  # one of positives out of trials
        y, trials = np.array([0.0, 2, 1, 3, 1, 0]), np.array([1.0, 2, 4, 3, 2, 5])
        share = rng.uniform(size=6)
        prediction = v.Prediction(trials * share, trials=trials)
        twice = v.Prediction((trials * share)[again], trials=trials[again])
    assert_allclose(score(y, prediction, weight), score(y[again], twice))


@given(st.integers(1, 30), st.floats(0.05, 0.99))
@settings(max_examples=25)
def test_gaussian_prediction_has_its_quantiles(n: int, level: float) -> None:
    sd = np.linspace(0.1, 2, n)
    prediction = v.Prediction.gaussian(np.arange(n), sd, level)
    low, high = stats.norm.interval(level, np.arange(n), sd)
    assert prediction.lower is not None
    assert prediction.upper is not None
    assert_allclose(prediction.lower, low)
    assert_allclose(prediction.upper, high)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: v.rmse([1.0, 2.0], [1.0, 2.0, 3.0]), r"mean has shape \(3,\)"),
        (lambda: v.rmse([[1.0, 2.0]], [1.0, 2.0]), "y has shape"),
        (lambda: v.mae([], []), "at least one"),
        (lambda: v.mae([np.nan], [0.0]), "NaN"),
        (lambda: v.crps([1.0], [1.0], [-1.0]), ">= 0"),
        (lambda: v.log_score([1.0], [1.0], [0.0]), "> 0"),
        (lambda: v.interval_score([1.0], [2.0], [1.0]), "swap"),
        (lambda: v.interval_score([1.0], [0.0], [1.0], level=95), "0.95"),
        (lambda: v.brier([2], [0.5]), "0 or 1"),
        (lambda: v.brier([1], [1.5]), "between 0 and 1"),
        (lambda: v.crps_sample([1.0, 2.0], np.zeros((2, 7))), "Transpose"),
        (lambda: v.crps_sample([1.0, 2.0], np.zeros((1, 2))), "at least 2"),
        (lambda: v.crps_mixture([1.0], [[1.0]], [[1.0], [1.0]], [1.0]), "components"),
        (lambda: v.crps_mixture([1.0], [[1.0], [1.0]], [[1.0], [1.0]], [1.0, 1.0]), "divide"),
        (lambda: v.crps_mixture([1.0], [[1.0], [1.0]], [[1.0], [1.0]], [1.0]), "one probability per component"),
        (lambda: v.rmse([1.0], [1.0], sample_weight=[0.0]), "zero everywhere"),
        (lambda: v.rmse([1.0, 2.0], [1.0, 2.0], sample_weight=[-1.0, 2.0]), "sample_weight"),
        (lambda: v.Prediction(np.zeros((2, 2))), "mean has shape"),
        (lambda: v.Prediction(np.zeros(2), level=1.0), "level"),
        (lambda: v.Prediction(np.zeros(2), sd=np.ones(3)), "sd has shape"),
        (lambda: v.SCORES["crps"]([1.0], v.Prediction(np.zeros(1))), "no sd, which crps needs"),
        (lambda: v.get_scores("rsme"), "did you mean 'rmse'"),
        (lambda: v.get_scores(["rmse", "interval"]), "did you mean 'interval_score'"),
        (lambda: v.get_scores([]), "at least one"),
    ],
)
def test_bad_input_is_refused_with_a_hint(call: Callable[[], object], hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        call()


@pytest.mark.parametrize("name", sorted(v.SCORES))
def test_a_score_says_what_it_is(name: str) -> None:
    """Every score has its own name, a label and a meaning, and refuses a prediction that lacks a part."""
    score = v.SCORES[name]
    assert score.name == name
    assert score.label and score.meaning
    lacking = v.Prediction(np.zeros(1))
    if not score.applies(lacking):
        with pytest.raises(InputError, match=f"which {name} needs"):
            score([1.0], lacking)


def test_scores_are_found_by_name_or_given() -> None:
    def mine(y: object, prediction: v.Prediction, sample_weight: object = None) -> float:
        return 7.0

    assert list(v.get_scores("mae")) == ["mae"]
    assert list(v.get_scores(("bias", "rmse"))) == ["bias", "rmse"]
    assert v.get_scores({"mine": mine})["mine"]([1.0], v.Prediction(np.zeros(1))) == 7.0
