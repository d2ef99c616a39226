"""Table 2 and figures 2, 4, 5: the paper's toy example on fixed seeds."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from bochner.paper import figure5, make, table2
from bochner.paper.exhibit import Exhibit


@pytest.fixture(scope="module")
def table() -> Exhibit:
    return make("table2", seeds=50)


@pytest.fixture(scope="module")
def features() -> dict[int, np.ndarray]:
    """Median errors (curves, train and test) for some numbers of frequencies."""
    return {m: np.median(figure5.errors(m, seeds=10)[0], axis=0) for m in (8, 25, 50, 150)}


def test_csv_has_the_columns_that_were_promised(table: Exhibit) -> None:
    rows = list(csv.reader(io.StringIO(table.table.csv())))
    assert rows[0] == [
        *("model", "train_mse_mean", "train_mse_sd", "test_mse_mean", "test_mse_sd", "paper_train", "paper_test")
    ]
    assert [row[0] for row in rows[1:]] == [
        *("linear", "kernel regression, truncated", "kernel regression, exact", "kernel ridge")
    ]


@pytest.mark.parametrize("model", ["linear", "kernel regression, truncated", "kernel ridge"])
def test_the_papers_numbers_lie_within_three_standard_deviations(table: Exhibit, model: str) -> None:
    (row,) = (row for row in table.table.rows if row[0] == model)
    train, train_sd, test, test_sd, paper_train, paper_test = map(float, row[1:])
    assert (paper_train, paper_test) == table2.PRINTED[model]
    assert abs(train - paper_train) <= 3 * train_sd
    assert abs(test - paper_test) <= 3 * test_sd


def test_typical_runs_are_near_the_papers_too() -> None:
    """Three standard deviations of a long tail allow much; the medians allow less."""
    runs = [table2.fit_models(seed)[0] for seed in range(50)]
    for model in ("linear", "kernel regression, truncated", "kernel ridge"):
        train, test = np.median([run[model] for run in runs], axis=0)
        assert train == pytest.approx(table2.PRINTED[model][0], rel=0.1)
        assert test == pytest.approx(table2.PRINTED[model][1], rel=0.25)


def test_exact_least_squares_interpolates_and_explodes(table: Exhibit) -> None:
    (row,) = (row for row in table.table.rows if row[0] == "kernel regression, exact")
    assert float(row[1]) < 0.05  # training error
    assert float(row[3]) > 1e4  # test error


def test_ridge_needs_less_than_half_the_test_error_of_kernel_regression(table: Exhibit) -> None:
    test = {str(row[0]): float(row[3]) for row in table.table.rows}
    assert test["kernel ridge"] < 0.5 * test["kernel regression, truncated"]
    assert table.holds


def test_unregularised_test_error_rises_towards_the_threshold_and_ridge_stays_flat(
    features: dict[int, np.ndarray],
) -> None:
    exact = [features[m][0, 1] for m in (8, 25, 50)]
    assert exact[0] < exact[1] < exact[2]
    assert exact[2] > 1e3 * exact[0]
    ridge = [features[m][2, 1] for m in (8, 25, 50, 150)]
    assert max(ridge) < 1.15 * min(ridge)


def test_training_error_of_kernel_regression_falls_and_that_of_ridge_stays(features: dict[int, np.ndarray]) -> None:
    truncated, ridge = ([features[m][curve, 0] for m in (8, 25, 50, 150)] for curve in (1, 2))
    assert (np.diff(truncated) < 0).all()
    assert max(ridge) < 1.15 * min(ridge)


def test_error_descends_again_beyond_the_threshold() -> None:
    """Double descent, with the rough kernel: few, as many as points, many."""
    few, threshold, many = (np.median(figure5.second_descent(m, seeds=5)) for m in (12, 50, 400))
    assert threshold > 1e3 * few
    assert many < 1e-2 * threshold


def test_map_of_figure_2_makes_the_problem_linear() -> None:
    before, after = (float(row[1]) for row in make("figure2", seeds=2).table.rows)
    assert before < 0.1
    assert after == pytest.approx(1)
