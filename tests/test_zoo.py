"""Scores of the zoo: no sum over all counts, so that those with a heavy tail take no longer than others."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "zoo.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no benchmarks")


@pytest.fixture
def zoo(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("zoo", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("baselines", None)


@pytest.mark.parametrize("dispersion", [0.0, 1e-8, 1e-4, 0.01, 0.5, 3.0, 50.0])
def test_crps_of_counts_is_the_sum_over_all_counts(zoo, dispersion):
    y, mean = np.array([0.0, 1.0, 7.0, 40.0, 6.0]), np.array([0.3, 1e-9, 5.0, 20.0, 100.0])
    n = 1 / max(dispersion, 1e-12)
    count = stats.nbinom(n, n / (n + mean)) if dispersion else stats.poisson(mean)
    k = np.arange(1 + int(max(y.max(), count.ppf(1 - 1e-12).max())))[:, None]
    summed = np.sum((count.cdf(k) - (y <= k)) ** 2, axis=0)
    assert_allclose(zoo.crps_of_counts(y, mean, dispersion), summed, rtol=1e-7, atol=1e-9)


def test_counts_with_a_heavy_tail_are_scored_at_once(zoo):
    """A sum would run over a thousand million counts; so far out a negative binomial is a gamma."""
    y, mean, dispersion = np.array([0.0, 1e5, 3e8]), np.full(3, 1e6), 100.0
    a, scale = 1 / dispersion, dispersion * 1e6
    gamma = y * (2 * stats.gamma.cdf(y, a, scale=scale) - 1)
    gamma -= a * scale * (2 * stats.gamma.cdf(y, a + 1, scale=scale) - 1) + scale / special.beta(0.5, a)
    assert_allclose(zoo.crps_of_counts(y, mean, dispersion), gamma, rtol=1e-3)
    table = zoo.Table(np.zeros((3, 2)), np.zeros((3, 0)), y, np.ones(3), np.zeros(3))
    scores = zoo.scores_of("poisson", zoo.Law(mean, dispersion=dispersion), table)
    assert np.isfinite(list(scores.values())).all()
