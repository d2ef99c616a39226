"""Bell and sparse matrices of the built-in NUFFT."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate

from bochner.nufft import limits
from bochner.nufft.gridding import Gridding
from bochner.nufft.kaiser_bessel import UPSAMPLING, KaiserBessel, kernel_for

WIDTHS = range(2, 16)


@pytest.mark.parametrize("width", WIDTHS)
def test_taps_are_the_bell(width):
    """Polynomials reproduce the bell far below the error that its width allows."""
    t = np.linspace(0, 1, 400)
    u = t[:, None] + np.arange(width) - width / 2
    bell = KaiserBessel(width)
    assert_allclose(bell.taps(t), bell.at(u), atol=max(2e-14, 0.02 * 10.0 ** (1 - width)))


@pytest.mark.parametrize("width", [2, 7, 13])
@pytest.mark.parametrize("xi", [0.0, 0.1, 0.25])
def test_transform_is_the_fourier_integral(width, xi):
    """Closed form against quadrature."""
    bell = KaiserBessel(width)
    numeric, _ = integrate.quad(lambda u: bell.at(np.array(u)) * np.cos(2 * np.pi * xi * u), -width / 2, width / 2)
    assert_allclose(bell.transform(np.array(xi)), numeric, rtol=1e-9)


@pytest.mark.parametrize("n_bells", [1, 2, 3, 6])
@pytest.mark.parametrize("eps", 10.0 ** -np.arange(1, 13))
def test_kernel_is_wide_enough_for_eps(eps, n_bells):
    """Root mean square of all aliases, over the modes that are used, stays below eps; the outermost below 6 eps."""
    bell = kernel_for(eps, n_bells)
    xi = np.linspace(0, 1 / (2 * UPSAMPLING), 60)
    aliases = np.r_[-40:0, 1:41]
    z = np.sqrt((bell.beta**2 - (np.pi * bell.width * (xi[:, None] + aliases)) ** 2).astype(complex))
    spectrum = bell.width * (np.sinh(z) / z).real / np.i0(bell.beta)
    relative = np.linalg.norm(spectrum, axis=1) / bell.transform(xi)
    assert np.sqrt(n_bells * np.mean(relative**2)) < 1.1 * eps
    assert np.sqrt(n_bells) * relative.max() < 6 * eps


@pytest.mark.parametrize("grid_shape", [(40,), (30, 45), (18, 24, 20)], ids=str)
@pytest.mark.parametrize("kept", [0, 2**28])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_chunks_tiles_and_threads_leave_the_bits_alone(monkeypatch, grid_shape, kept, n_jobs):
    """Many small chunks give the matrix of one large one, and the order of summation is fixed."""
    rng = np.random.default_rng(0)
    cells = rng.uniform(size=(500, len(grid_shape))) ** 2 * grid_shape
    cells[:3] = np.array(grid_shape) * np.array([[0.0], [0.5], [1.0]])
    values = rng.normal(size=(2, 500)) + 1j * rng.normal(size=(2, 500))
    grid = rng.normal(size=(2, *grid_shape)) + 1j * rng.normal(size=(2, *grid_shape))
    bell = KaiserBessel(6)
    whole = Gridding(cells, grid_shape, bell, np.dtype(float), 1)
    monkeypatch.setattr(limits, "CHUNK_ENTRIES", 5_000)
    monkeypatch.setattr(limits, "KEPT_BYTES", kept)
    single = Gridding(cells, grid_shape, bell, np.dtype(float), 1)
    cut = Gridding(cells, grid_shape, bell, np.dtype(float), n_jobs)
    for _ in range(2):  # the second time with kept matrices
        assert_allclose(cut.spread(values), whole.spread(values), atol=1e-12)
        assert_allclose(cut.interpolate(grid), whole.interpolate(grid), atol=1e-12)
        assert_array_equal(cut.spread(values), single.spread(values))


@pytest.mark.parametrize("grid_shape", [(30,), (16, 20), (12, 14, 16)], ids=str)
def test_spreading_is_a_sum_of_periodic_bells(grid_shape):
    """Against the definition, point by point."""
    rng = np.random.default_rng(1)
    cells = rng.uniform(size=(15, len(grid_shape))) * grid_shape
    values = rng.normal(size=(1, 15))
    bell = KaiserBessel(5)
    expected = np.zeros(grid_shape)
    for place, value in zip(cells, values[0], strict=True):
        heights = value
        for y, count in zip(place, grid_shape, strict=True):
            distance = (np.arange(count) - y + count / 2) % count - count / 2
            heights = np.multiply.outer(heights, np.where(np.abs(distance) <= 2.5, bell.at(distance), 0.0))
        expected += heights
    # taps are polynomials, good to 1e-8 at width 5
    assert_allclose(Gridding(cells, grid_shape, bell, np.dtype(float), 1).spread(values)[0], expected, atol=1e-6)
