"""A fit of responses in another unit, seen in their own, is the fit in their own unit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference.fits.base import RescaledFit
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.linear import LinearEngine
from bochner.kernels import Matern
from tests.laws.registry_fits import observations

UNIT, KERNEL, NOISE = 8.0, Matern(0.6, 1.5), 0.05


def waves(kernel, noise):
    features = FourierMap(
        QuasiMonteCarlo().draw(kernel, 12, 2, np.random.default_rng(0)), np.float64, 0.1 * kernel.variance
    )
    return LinearEngine(features, noise)


@pytest.mark.parametrize("engine", [ExactEngine, waves], ids=["exact", "waves"])
def test_a_rescaled_fit_is_the_fit_in_that_unit(engine):
    obs = observations(2)
    own = engine(KERNEL.scaled(UNIT**2), NOISE * UNIT**2).fit(obs)
    inner = engine(KERNEL, NOISE).fit(obs.divided(UNIT))
    ours = RescaledFit(inner, UNIT)
    coords = np.random.default_rng(1).uniform(-1, 1, size=(6, 2))
    rows = Rows(coords, np.column_stack([np.ones(6), coords[:, 0]]))
    for ask in (
        lambda p: p.mean(rows),
        lambda p: p.variance(rows),
        lambda p: np.stack(p.mean_and_variance(rows)),
        lambda p: p.covariance(rows),
        lambda p: p.trend_coef,
        lambda p: p.trend_covariance(),
        lambda p: p.draw(rows, 3, np.random.default_rng(2)),
        lambda p: p.left_out,
        lambda p: np.zeros(0) if p.row_coef is None else p.row_coef,
        lambda p: np.asarray(p.outside(coords)),
    ):
        assert_allclose(ask(ours.posterior), ask(own.posterior), rtol=1e-8, atol=1e-10)
    # a column of waves grows with the unit, so their coefficients in a fit of that unit do not
    assert_allclose(ours.posterior.feature_coef, UNIT * own.posterior.feature_coef, rtol=1e-8)
    assert ours.posterior.cost == own.posterior.cost and ours.posterior.takes_areas == own.posterior.takes_areas
    assert ours.posterior.beyond == own.posterior.beyond
    assert (ours.posterior.waves is None) == (own.posterior.waves is None)
    assert_allclose(ours.noise_variance, own.noise_variance)
    assert_allclose(ours.row_weights(obs), own.row_weights(obs), rtol=1e-8)
    folds = [(np.arange(5, 20), np.arange(5))]
    for theirs, mine in (
        (own.leave_out(obs, folds), ours.leave_out(obs, folds)),
        (own.leave_out_quickly(obs, folds), ours.leave_out_quickly(obs, folds)),
        (own.leave_out(obs, None), ours.leave_out(obs, None)),
    ):
        assert_array_equal(mine.index, theirs.index)
        assert_allclose(mine.mean, theirs.mean, rtol=1e-7)
        assert_allclose(mine.variance, theirs.variance, rtol=1e-7)
    # densities of y / u and of y differ by the factor u in each row, fixed effects integrated out or not
    n, q = len(obs), 2
    assert_allclose(ours.log_evidence - (n - q) * np.log(UNIT), own.log_evidence, rtol=1e-9)
    assert_allclose(ours.log_likelihood - n * np.log(UNIT), own.log_likelihood, rtol=1e-9)
    assert ours.engine is inner.engine and ours.forgets_rows == own.forgets_rows and ours.solver == own.solver
