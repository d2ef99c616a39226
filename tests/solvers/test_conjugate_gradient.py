"""Conjugate gradients: right answers, honest reports."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from bochner.solvers import conjugate_gradient


def system(n=80):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((n, n))
    return a @ a.T + 0.5 * np.eye(n), rng.standard_normal((n, 3))


def test_solves_many_right_hand_sides_at_once():
    A, b = system()
    x, report = conjugate_gradient(lambda v: A @ v, lambda v: v, b, residual=1e-12, max_iterations=1000)
    assert_allclose(x, np.linalg.solve(A, b), rtol=1e-6, atol=1e-8)
    assert report.details["converged"] and report.details["residual"] <= 1e-12


def test_a_good_preconditioner_saves_iterations():
    A, b = system()
    inverse = np.linalg.inv(A + 0.01 * np.eye(80))
    plain = conjugate_gradient(lambda v: A @ v, lambda v: v, b)[1].details["iterations"]
    good = conjugate_gradient(lambda v: A @ v, lambda v: inverse @ v, b)[1].details["iterations"]
    assert good < plain / 5


def test_goes_on_until_probed_values_settle():
    A, b = system()
    probe = np.random.default_rng(1).standard_normal((20, 80))
    x, report = conjugate_gradient(
        lambda v: A @ v, lambda v: v, b, probe=lambda v: probe @ v, tolerance=1e-4, max_iterations=1000
    )
    exact = probe @ np.linalg.solve(A, b)
    assert report.details["accuracy"] <= 1e-4
    assert np.std(probe @ x - exact) < 1e-2 * np.std(exact)


def test_says_when_it_did_not_converge():
    A, b = system()
    report = conjugate_gradient(lambda v: A @ v, lambda v: v, b, max_iterations=3)[1]
    assert not report.details["converged"] and report.details["iterations"] == 3


def test_an_error_that_is_small_enough_ends_it_where_it_falls_fast():
    """The error in the norm of A is what was asked for; so are the solutions, long before the residual is small."""
    A, b = system()
    spread = np.random.default_rng(2).uniform(0.6, 1.6, 80)
    near = np.linalg.inv(A) * np.sqrt(spread) * np.sqrt(spread)[:, None]  # spectra of near @ A within a few times
    exact = np.linalg.solve(A, b)
    least = None
    for enough in (1e-2, 1e-4, 1e-6):
        x, report = conjugate_gradient(lambda v: A @ v, lambda v: near @ v, b, error=np.full(3, enough), residual=1e-12)
        error = np.sqrt(np.sum((x - exact) * (A @ (x - exact)), axis=0))
        assert report.details["converged"] and np.all(error <= 1.1 * enough)
        assert least is None or report.details["iterations"] > least
        least = report.details["iterations"]
    whole = conjugate_gradient(lambda v: A @ v, lambda v: near @ v, b, residual=1e-12)[1].details
    assert least is not None and least < whole["iterations"]


def test_of_steps_that_gain_little_nothing_is_concluded():
    """Without a preconditioner the error falls slowly: only the residual ends it."""
    A, b = system()
    for enough in (0.5, 1e-3):
        x, report = conjugate_gradient(
            lambda v: A @ v, lambda v: v, b, error=np.full(3, enough), residual=1e-10, max_iterations=1000
        )
        off = x - np.linalg.solve(A, b)
        assert report.details["converged"] and np.all(np.sum(off * (A @ off), axis=0) <= enough**2)
