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
