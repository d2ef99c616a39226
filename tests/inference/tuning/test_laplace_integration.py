"""Few counts or classes leave open whether there is a field: the Laplace evidence on a grid says so."""

from __future__ import annotations

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.exceptions import BochnerWarning


def _told(model: SpatialRegressor) -> str:
    return str(model.fitted_.model.decided["intervals"])


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore::{BochnerWarning.__module__}.{BochnerWarning.__name__}")
def test_a_field_that_few_classes_do_not_show_is_not_ruled_out() -> None:
    """The evidence of noise is largest without a field; the surface is in doubt all the same."""
    rng = np.random.default_rng(1)
    X, y = rng.uniform(size=(40, 2)), rng.integers(0, 2, 40)
    model = SpatialRegressor(family="bernoulli").fit(X, y)
    mixture = model.fitted_.model.mixture
    assert np.isclose(mixture.mass.sum(), 1) and len(mixture.mass) > 10
    variances = [float(fit.engine.kernel.variance) for fit in model.fitted_.model.fits]
    assert min(variances) < 0.02 < 0.5 < max(variances)
    # a logit known to 0.33 or so if there is no field, and to less if there may be one
    assert np.sqrt(mixture_variance(model, X)).mean() > 0.4


def mixture_variance(model: SpatialRegressor, X: np.ndarray) -> np.ndarray:
    eta = model.predict_distribution(X).law.eta
    low, high = eta.quantile(0.16), eta.quantile(0.84)
    return ((high - low) / 2) ** 2


def test_gaussian_waves_are_averaged_as_the_exact_kernel_is() -> None:
    """The hyperparameters and their masses do not depend on the features that answer."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(40, 2))
    y = np.sin(4 * X[:, 0]) + rng.normal(size=40)
    exact, landmarks = (SpatialRegressor(features=name).fit(X, y) for name in ("exact", "nystroem"))
    assert _told(exact) == _told(landmarks)
    both = [m.predict_distribution(X).sd for m in (exact, landmarks)]
    np.testing.assert_allclose(both[0], both[1], rtol=0.05)
