"""What the text of the paper claims without a figure, on fixed seeds and without timing."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.frequencies import MonteCarlo, Orthogonal
from bochner.paper import (
    collinearity,
    fine_scale,
    kernel_trick,
    make,
    nystroem_vs_rff,
    orthogonal,
    primal_dual,
    quasi,
    schemes,
    structured,
    table1,
    uniform_convergence,
    woodbury,
)
from bochner.paper.clock import slope


def test_collinear_coefficients_wander_and_ridge_holds_them() -> None:
    plain, ridge = collinearity.coefficients(1e-6, seeds=10)
    assert plain.std() > 50
    assert ridge.std() < 0.2
    assert ridge.mean() == pytest.approx(1, abs=0.1)


def test_primal_equals_dual() -> None:
    assert all(primal_dual.difference(p, 1.0, seed=0) < 1e-12 for p in (50, 200, 800))


def test_kernel_trick() -> None:
    x, z = np.random.default_rng(0).normal(size=(2, 30, 2))
    explicit = kernel_trick.quadratic_map(x) @ kernel_trick.quadratic_map(z).T
    np.testing.assert_allclose(explicit, (x @ z.T) ** 2, atol=1e-12)
    assert kernel_trick.ridge_both_ways() < 1e-10
    assert kernel_trick.taylor_error(1.0, 20) < 1e-12


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", list(table1.PAIRS))
def test_every_pair_of_table_1(name: str, dim: int) -> None:
    assert table1.pair_error(table1.PAIRS[name].kernel, dim) < 1e-9


def test_misprints_of_table_1_are_seen() -> None:
    """The Laplacian of the paper has mass sqrt(2 pi) in one dimension; its Cauchy, 2."""
    assert table1.printed_error(table1.PAIRS["Laplacian"], 1)[0] == pytest.approx(np.sqrt(2 * np.pi), rel=1e-4)
    assert table1.printed_error(table1.PAIRS["Cauchy"], 1)[0] == pytest.approx(2, rel=1e-4)
    assert table1.printed_error(table1.PAIRS["squared exponential"], 2)[1] < 1e-9  # right in two dimensions only
    assert table1.printed_error(table1.PAIRS["squared exponential"], 3)[1] > 0.1


def test_largest_error_falls_like_one_over_root_m() -> None:
    for kernel in uniform_convergence.KERNELS.values():
        largest = np.median([uniform_convergence.largest_errors(kernel, seed) for seed in range(8)], axis=0)
        assert slope(uniform_convergence.NUMBERS, largest) == pytest.approx(-0.5, abs=0.1)


def test_woodbury_is_exact_both_ways() -> None:
    rng = np.random.default_rng(0)
    phi, y = rng.normal(size=(120, 30)), rng.normal(size=120)
    np.testing.assert_allclose(woodbury.direct(phi, y), woodbury.through_columns(phi, y), atol=1e-10)
    assert woodbury.backwards(phi.T, y[:30]) < 1e-9


def test_posterior_mean_is_ridge() -> None:
    exhibit = make("posterior_is_ridge", seeds=2)
    assert exhibit.holds


def test_random_features_blur_fine_scale_and_are_too_sure() -> None:
    rough = np.mean([fine_scale.scores(fine_scale.KERNELS["Matern 1/2"], seed) for seed in range(2)], axis=0)
    smooth = np.mean([fine_scale.scores(fine_scale.KERNELS["squared exponential"], seed) for seed in range(2)], axis=0)
    at = 1 + fine_scale.NUMBERS.index(100)
    assert rough[at, 0] > 5 * smooth[at, 0]
    assert rough[0, 1] > 0.9  # coverage of the exact kernel
    assert rough[at, 1] < 0.6


def test_nystroem_beats_random_features_on_clustered_data() -> None:
    distance = nystroem_vs_rff.distances(seed=0)
    assert (distance[0, 1:] < distance[2, 1:]).all()  # with 20 columns for 20 clusters nothing works
    assert distance[0, -1] < 0.5 * distance[2, -1]


def test_quasi_monte_carlo_has_nearly_twice_the_slope() -> None:
    kernel, numbers = quasi.KERNELS["Gaussian kernel"], (64, 256, 1024)
    for name, rule in quasi.RULES.items():
        error = [np.mean([quasi.kernel_error(rule, kernel, m, seed) for seed in range(6)]) for m in numbers]
        expected = -0.5 if name == "Monte Carlo" else -0.95
        assert slope(numbers, error) == pytest.approx(expected, abs=0.2)


def test_variance_of_orthogonal_features_falls_with_the_dimension() -> None:
    ratios = []
    for dim in (1, 4, 16, 64):
        lag = np.ones((1, dim)) / np.sqrt(dim)
        random, perpendicular = (
            orthogonal.variances(rule, dim, lag, 64_000)[0] for rule in (MonteCarlo(), Orthogonal())
        )
        ratios.append(perpendicular / random)
    # 1,000 draws at 64 dimensions: a ratio of variances has a standard error of about 6 %
    assert ratios[0] == pytest.approx(1, abs=0.05)
    assert (np.diff(ratios) < 0).all()
    assert ratios[-1] == pytest.approx(orthogonal.limit(1.0, 64), abs=0.05)


def test_structured_features_are_biased_in_low_dimension_only() -> None:
    assert structured.unguarded_bias(2, 10_000) > 0.1
    # 20,000 cosines: a mean has a standard error of at most 0.007
    assert structured.unguarded_bias(16, 1_250) < 0.03
    assert structured.guarded_bias(2, 10_000) < 0.03


def test_the_best_scheme_depends_on_the_dimension() -> None:
    error = {
        (name, dim): np.mean([schemes.kernel_error(name, dim, 256, seed) for seed in range(5)])
        for name in schemes.LABELS
        for dim in (2, 32)
    }
    ranked = sorted(schemes.LABELS, key=lambda name: error[name, 2])
    assert ranked[:2] == ["lattice", "quasi"]
    assert np.isnan(error["lattice", 32])  # it has one to three dimensions
    assert error["orthogonal", 32] < error["quasi", 32] < error["monte-carlo", 32]
    assert error["structured", 32] < 0.8 * error["monte-carlo", 32]
