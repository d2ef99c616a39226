"""Laws of spectra with peaks, lines and axes of their own: drawn, as a lattice, printed, stored."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner import archive, kernels
from bochner.estimators import saved  # registers the kernels with the archive
from bochner.exceptions import KernelError
from bochner.frequencies import lattice_frequencies, shares_of
from bochner.kernels import SpectralKernel, pieces_of, spectral_density, spectral_terms, total_variance
from tests.laws.registry import (
    DIMS,
    KERNELS,
    NO_LATTICE,
    NOT_SHIFT_INVARIANT,
    RICH_KERNELS,
    RULES,
    WITH_DENSITY,
    WITHOUT_DENSITY,
)

NAMES = {name: value for name, value in vars(kernels).items() if name in kernels.__all__}
SMOOTH = {
    name: make for name, make in RICH_KERNELS.items() if all(k.smooth for k in make(2).leaves() + make(1).leaves())
}
LATTICE = {**WITH_DENSITY, **WITHOUT_DENSITY}
ALL = {**KERNELS, **RICH_KERNELS, **NOT_SHIFT_INVARIANT}


def every(registry):
    return pytest.mark.parametrize("kernel_of", registry.values(), ids=registry.keys())


every_rule = pytest.mark.parametrize("name", ["monte-carlo", "quasi", "orthogonal", "structured"])
every_dimension = pytest.mark.parametrize("dim", DIMS)


@every_rule
@every(RICH_KERNELS)
@every_dimension
def test_rule_reproduces_its_kernel(name, kernel_of, dim):
    """Many frequencies together return the covariance they were drawn from."""
    n, kernel, rng = 5_000, kernel_of(dim), np.random.default_rng(8)
    lag = rng.normal(size=(20, dim))
    frequencies = RULES[name].draw(kernel, n, dim, rng)
    assert_allclose(frequencies.mass.sum(), total_variance(kernel), rtol=1e-12)
    # a mean of n cosines has standard error at most sqrt(1 / n)
    assert_allclose(frequencies.covariance(lag), kernel.at(lag), atol=6 * total_variance(kernel) / np.sqrt(n))


@every_rule
@every(SMOOTH)
@pytest.mark.parametrize("dim", [1, 3])
def test_frequencies_are_smooth_in_theta(name, kernel_of, dim):
    """For one seed omega has a derivative in every hyperparameter, so that tuning can follow it."""
    kernel, n = kernel_of(dim), 40
    shares = shares_of(kernel, n)

    def omega(theta):
        return RULES[name].draw(kernel.with_theta(theta), n, dim, np.random.default_rng(2), shares=shares).omega

    here = omega(kernel.theta)
    for direction in np.eye(len(kernel.theta)):
        slopes = [
            (omega(kernel.theta + h * direction) - omega(kernel.theta - h * direction)) / (2 * h) for h in (1e-3, 1e-4)
        ]
        # a jump or a reordering would change a slope by |omega| / h
        assert np.all(np.abs(slopes[0] - slopes[1]) <= 1e-3 * np.linalg.norm(here, axis=1, keepdims=True) + 1e-6)


@every(RICH_KERNELS)
@every_dimension
def test_lines_return_the_covariance(kernel_of, dim):
    """A term is a product of independent pieces; where a piece consists of lines, their cosines are its covariance."""
    lag = np.random.default_rng(3).normal(size=(30, dim))
    for term in spectral_terms(kernel_of(dim)):
        pieces = pieces_of(term, dim)
        product = np.prod([piece.at(lag[:, list(piece.axes)]) for piece in pieces], axis=0)
        assert_allclose(product, np.prod([k.at(lag) for k in term], axis=0), rtol=1e-12)
        for piece in pieces:
            lines = piece.atoms()
            if lines is not None:
                assert not piece.has_density
                found = np.cos(lag[:, list(piece.axes)] @ lines[0].T) @ lines[1]
                assert_allclose(found, piece.at(lag[:, list(piece.axes)]), atol=1e-7 * piece.variance)


@every(LATTICE)
@every_dimension
def test_lattice_returns_the_covariance_up_to_what_it_leaves_out(kernel_of, dim):
    """Densities, lines, axes left out and sums of them: the waves err by what they miss, and the margin's share."""
    kernel, rng = kernel_of(dim), np.random.default_rng(4)
    extent = np.array([2.0, 3.0, 1.5])[:dim]
    waves = lattice_frequencies(kernel, extent, missing=0.02, maximum=6_000)
    missing = 1 - waves.mass.sum() / total_variance(kernel)
    assert -0.002 <= missing <= (0.0201 if dim < 3 else 0.05)
    lag = rng.uniform(-1, 1, size=(100, dim)) * extent
    assert_allclose(waves.covariance(lag), kernel.at(lag), atol=(max(missing, 0) + 0.004) * total_variance(kernel))


@every(NO_LATTICE)
@pytest.mark.parametrize("dim", [2, 3])
def test_what_no_lattice_holds_is_refused_by_name(kernel_of, dim):
    with pytest.raises(KernelError, match=r"(Gneiting|Matern|Empirical) on axes .*features='exact'"):
        lattice_frequencies(kernel_of(dim), np.ones(dim), n_frequencies=20)


@every({**WITHOUT_DENSITY, **NO_LATTICE})
def test_densities_that_do_not_exist_are_refused(kernel_of):
    with pytest.raises(KernelError, match=r"density|constant along axis"):
        spectral_density(kernel_of(3), np.ones((1, 3)))


@every(ALL)
@every_dimension
def test_repr_is_code_that_makes_the_kernel(kernel_of, dim):
    kernel = kernel_of(dim)
    assert eval(repr(kernel), dict(NAMES)) == kernel
    assert "=None" not in repr(kernel) and "=False" not in repr(kernel)


@every(ALL)
@every_dimension
def test_archive_gives_the_kernel_back(kernel_of, dim, tmp_path):
    assert saved.KERNELS
    kernel = kernel_of(dim)
    archive.write(tmp_path / "kernel", "kernel", {"kernel": kernel})
    again = archive.read(tmp_path / "kernel", "kernel")["kernel"]
    assert again == kernel and type(again) is type(kernel)
    x = np.random.default_rng(5).normal(size=(5, dim))
    assert_array_equal(again(x), kernel(x))


@every(RICH_KERNELS)
@pytest.mark.parametrize("dim", [2, 3])
def test_hyperparameters_can_be_reached_by_name(kernel_of, dim):
    """Every learnable number is a parameter of the kernel, under its own name."""
    kernel = kernel_of(dim)
    for h in kernel.hyperparameters:
        path, _, index = h.name.partition("[")
        assert path in kernel.get_params(), h.name
        assert index == "" or isinstance(kernel.get_params()[path], tuple)


def test_products_and_sums_take_every_rich_kernel():
    """Any two of them add and multiply, and the waves of the result return it."""
    lag, n = np.random.default_rng(6).normal(size=(10, 2)), 3_000
    made = [make(2) for make in RICH_KERNELS.values()]
    for first, second in zip(made, made[1:] + made[:1], strict=True):
        for kernel in (first * second, first + second):
            assert all(isinstance(k, SpectralKernel) for k in kernel.leaves())
            waves = RULES["quasi"].draw(kernel, n, 2, np.random.default_rng(7))
            assert_allclose(waves.covariance(lag), kernel.at(lag), atol=6 * total_variance(kernel) / np.sqrt(n))
