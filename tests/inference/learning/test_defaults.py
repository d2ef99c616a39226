"""Default fits: what must not change an answer does not, and hardly any rows have one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor

TURN = np.array([[np.cos(np.pi / 6), -np.sin(np.pi / 6)], [np.sin(np.pi / 6), np.cos(np.pi / 6)]])
CHANGES = {"turned": lambda x: x @ TURN, "shifted": lambda x: x + 1e3, "in metres": lambda x: x * 1e3}


def surveyed(n: int, family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict]:
    """Rows of a surface, places to predict, and what fit takes beside them."""
    rng = np.random.default_rng(n)
    places, wanted = rng.random((n, 2)) * [100, 20], rng.random((20, 2)) * [100, 20]
    eta = np.sin(places[:, 0] / 9) + np.cos(places[:, 1] / 5)
    y = eta + 0.3 * rng.standard_normal(n)
    if family == "gaussian":
        return places, wanted, y, {}
    return places, wanted, rng.binomial(15, 1 / (1 + np.exp(-eta))), {"trials": np.full(n, 15)}


def answer(places, wanted, y, family="gaussian", **given) -> tuple[np.ndarray, np.ndarray]:
    model = SpatialRegressor(family=family).fit(places, y, **given)
    return model.predict(wanted, return_std=True) if family == "gaussian" else model.predict_latent(wanted)


@pytest.mark.parametrize(
    ("n", "family"),
    [
        (40, "gaussian"),
        (155, "gaussian"),
        (40, "binomial"),
        (155, "binomial"),
        pytest.param(800, "gaussian", marks=pytest.mark.slow),
    ],
)
def test_coordinates_may_be_turned_shifted_and_scaled(n, family):
    """Means and sds of a default fit stay, within a thousandth of an sd."""
    places, wanted, y, given = surveyed(n, family)
    mean, sd = answer(places, wanted, y, family, **given)
    for moved in CHANGES.values():
        other_mean, other_sd = answer(moved(places), moved(wanted), y, family, **given)
        assert np.max(np.abs(other_mean - mean) / sd) < 1e-3
        assert np.max(np.abs(other_sd / sd - 1)) < 1e-3


@pytest.mark.parametrize("n", [40, 155])
def test_responses_may_have_any_unit_and_level(n):
    places, wanted, y, _ = surveyed(n, "gaussian")
    mean, sd = answer(places, wanted, y)
    for a, b in ((1e-3, 0.0), (50.0, -7.0), (-1.0, 1e3)):
        other_mean, other_sd = answer(places, wanted, a * y + b)
        assert_allclose((other_mean - b) / a, mean, atol=1e-3 * sd.min())
        assert_allclose(other_sd / abs(a), sd, rtol=1e-3)


def test_the_order_of_the_rows_does_not_matter():
    places, wanted, y, _ = surveyed(80, "gaussian")
    order = np.random.default_rng(0).permutation(80)
    (mean, sd), (other_mean, other_sd) = answer(places, wanted, y), answer(places[order], wanted, y[order])
    assert_allclose(other_mean, mean, atol=1e-3 * sd.min())
    assert_allclose(other_sd, sd, rtol=1e-3)


@pytest.mark.parametrize(("n", "weight"), [(2, 1.0), (3, 1.0), (4, 1.0), (30, 0.01)])
def test_hardly_any_rows_are_learned_from(n, weight):
    """Two rows, or many of next to no weight: an answer that is wide and finite."""
    rng = np.random.default_rng(5)
    places = rng.random((n, 2))
    model = SpatialRegressor().fit(places, rng.standard_normal(n), sample_weight=np.full(n, weight))
    mean, sd = model.predict(rng.random((5, 2)), return_std=True)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)


def test_choices_name_form_odds_and_nodes():
    rng = np.random.default_rng(5)
    places = rng.random((50, 2))
    distance = np.linalg.norm(places - 0.5, axis=1)
    model = SpatialRegressor().fit(places, np.cos(9 * distance) + 0.5 * rng.standard_normal(50))
    assert model.choices_["tuning"].value == "exact"
    assert model.choices_["kernel"].value in ("matern", "matern-metric", "near-far")
    assert "posterior odds" in model.choices_["kernel"]
    assert model.choices_["intervals"].value == len(model.fitted_.model.mixture.mass)


def test_an_evidence_that_cannot_be_had_leaves_what_it_began_from(monkeypatch):
    """With a warning, and a flat map that is no cause for a crash."""
    from bochner.exceptions import ConvergenceError, TuningWarning
    from bochner.inference.learning.evidence import Exact

    def failing(*_):
        raise ConvergenceError("never")

    monkeypatch.setattr(Exact, "at", failing)
    places, wanted, y, _ = surveyed(40, "gaussian")
    with pytest.warns(TuningWarning, match="tuning failed"):
        model = SpatialRegressor().fit(places, y)
    assert model.choices_["tuning"].value == "failed"
    assert np.all(np.isfinite(model.predict(wanted)))
