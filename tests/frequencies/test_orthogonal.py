"""Signs and norms of orthogonal frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner.frequencies import Orthogonal
from bochner.frequencies.orthogonal import haar_directions
from bochner.kernels import Matern, OnAxes, Periodic, SpectralMixture, SquaredExponential


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_directions_are_the_factor_whose_r_has_a_positive_diagonal(dim):
    """Gram and Schmidt's Q of a Gaussian matrix is Haar's; with other signs it is not (Mezzadri, 2007)."""
    gaussian = np.random.default_rng(0).standard_normal((4, dim, dim))
    q = haar_directions(4 * dim, dim, np.random.default_rng(0)).reshape(4, dim, dim)
    r = np.swapaxes(q, 1, 2) @ gaussian
    assert_allclose(np.tril(r, -1), 0, atol=1e-12)
    assert (np.diagonal(r, axis1=1, axis2=2) > 0).all()
    assert_allclose(q[:, :, 0], gaussian[:, :, 0] / np.linalg.norm(gaussian[:, :, 0], axis=1, keepdims=True))


def test_the_number_of_directions_is_what_was_asked_for():
    for n, dim in [(1, 3), (3, 3), (4, 3), (7, 2)]:
        assert haar_directions(n, dim, np.random.default_rng(1)).shape == (n, dim)


# drawn by coordinates, or in half of the space only: a sign of each row makes them even
@pytest.mark.parametrize(
    "kernel",
    [SpectralMixture([[3.0, 2.0]], [0.1], [1.0]), OnAxes(Periodic(0.8, 1.7), 0), Matern(0.5), SquaredExponential(2.0)],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_frequency_and_its_negative_are_as_likely(kernel):
    n = 4_000
    omega = Orthogonal().draw(kernel, n, 2, np.random.default_rng(2)).omega
    seen = omega[np.abs(omega[:, 0]) > 0][:, 0]
    # the share of n signs has standard error 1 / (2 sqrt(n)); blocks only make it smaller
    assert abs(np.mean(seen > 0) - 0.5) < 5 / (2 * np.sqrt(len(seen)))


def test_one_sign_for_all_of_a_row():
    """Peaks at (3, 2) and (-3, -2), never at (3, -2)."""
    omega = Orthogonal().draw(SpectralMixture([[30.0, 20.0]], [0.1], [1.0]), 500, 2, np.random.default_rng(3)).omega
    assert (omega[:, 0] * omega[:, 1] > 0).all()


@pytest.mark.parametrize("dim", [2, 3])
def test_norms_follow_the_radial_law_of_the_kernel(dim):
    """Of the squared exponential, |omega|^2 is chi-squared with as many degrees of freedom as there are dimensions."""
    omega = Orthogonal().draw(SquaredExponential(), 3_000, dim, np.random.default_rng(4)).omega
    assert stats.kstest((omega**2).sum(axis=1), stats.chi2(dim).cdf).pvalue > 1e-4
    assert stats.kstest(omega[:, 0], stats.norm.cdf).pvalue > 1e-4


def test_factors_of_a_product_add_their_frequencies():
    """The spectral measure of a product is a convolution: variances of frequencies add."""
    one, other = SquaredExponential(1.0), SquaredExponential(0.5)
    omega = Orthogonal().draw(one * other, 8_000, 2, np.random.default_rng(5)).omega
    assert_allclose(omega.var(axis=0), 1 + 4, rtol=0.1)


def test_axes_that_a_kernel_does_not_see_have_no_frequency():
    omega = Orthogonal().draw(OnAxes(Matern(0.7), 1), 50, 3, np.random.default_rng(6)).omega
    assert (omega[:, [0, 2]] == 0).all() and (omega[:, 1] != 0).all()
    assert "blocks of 3" in Orthogonal().explain(3)
