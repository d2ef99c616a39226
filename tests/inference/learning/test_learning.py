"""Laws of learning: priors are densities, gradients are those of values, integrals are those of a fine grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate as quadrature

from bochner import SpatialRegressor
from bochner.families import family_named
from bochner.features import Rows
from bochner.inference.learning import forms as priors
from bochner.inference.learning.few import evidence_of, forms
from bochner.inference.learning.forms import Sizes
from bochner.inference.learning.integrate import _corners, integrate, peaks
from bochner.inference.learning.modes import Mode, Posterior, search
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task

SIZES = Sizes(extent=3.0, spacing=0.1, sd=2.0)


def task_of(family: str, dim: int, n: int, rng, *, covariates: int = 0) -> Task:
    """Rows with a field, two of them at one place."""
    places = rng.random((n, dim))
    places[1] = places[0]
    trend = np.column_stack([np.ones(n), rng.standard_normal((n, covariates))])
    eta = np.sin(6 * places[:, 0]) + trend[:, 1:].sum(axis=1) / 3
    size = np.ones(n)
    if family == "poisson":
        y = rng.poisson(np.exp(eta + 1)).astype(float)
    elif family == "binomial":
        size = np.full(n, 20.0)
        y = rng.binomial(20, 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = eta + 0.3 * rng.standard_normal(n)
    zero = np.zeros(n)
    responses = Responses(family_named(family), Rows(places, trend), y, size, zero, np.ones(n), zero)
    return Task.of(Settings(shrinks=bool(covariates)), responses)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


# ------------------------------------------------------------------------------------ priors


@pytest.mark.parametrize(
    "density",
    [
        lambda t: priors.range_prior(t, SIZES)[0],
        lambda t: priors.share_prior(t)[0],
        lambda t: priors.sd_prior(t, 0.7)[0],
        lambda t: priors.nu_prior(t)[0],
    ],
    ids=["range", "share", "sd", "smoothness"],
)
def test_prior_of_one_number_is_a_density(density):
    """It integrates to one in the coordinate that a search moves in."""
    total = quadrature.quad(lambda t: np.exp(density(t)), -40, 40, limit=400, points=[-2, 0, 2])[0]
    assert_allclose(total, 1, rtol=1e-3)


def test_prior_of_a_stretch_is_a_density_without_a_direction():
    along = np.linspace(0, 60, 6001)
    density = np.exp([priors.stretch_prior(np.array([r, 0.0]), 2)[0] for r in along])
    assert_allclose(quadrature.trapezoid(2 * np.pi * along * density, along), 1, rtol=1e-3)
    turned = [priors.stretch_prior(np.array([np.cos(a), np.sin(a)]), 2)[0] for a in (0.0, 0.4, 2.0)]
    assert_allclose(turned, turned[0], rtol=1e-12)


# ---------------------------------------------------------------------------------- evidence

KINDS = [("gaussian", 0), ("gaussian", 3), ("poisson", 0), ("binomial", 0)]


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(("family", "covariates"), KINDS)
def test_gradient_is_that_of_the_value(family, covariates, dim, rng):
    """By central differences; the information is never negative."""
    task = task_of(family, dim, 40, rng, covariates=covariates)
    for form in forms(task, None):
        posterior = Posterior(form, evidence_of(task, form))
        x = form.starts()[5] + 0.1 * rng.standard_normal(len(form.names))
        here, step = posterior.at(x), 1e-3
        slopes = [(posterior.value(x + e) - posterior.value(x - e)) / (2 * step) for e in step * np.eye(len(x))]
        assert_allclose(here.gradient, slopes, atol=1e-3)
        assert_allclose(here.value, posterior.value(x), atol=1e-6)
        assert np.linalg.eigvalsh(here.information)[0] > 0


def test_a_common_factor_is_integrated_out(rng):
    """The evidence is that of a fine sum over the factor."""
    task = task_of("gaussian", 2, 30, rng)
    form = forms(task, None)[0]
    x = form.starts()[3]
    integrated = evidence_of(task, form).value(form.at(x))[0]
    held = evidence_of(task, replace(form, free=False))
    theta, logs = form.at(x), np.linspace(-8, 8, 4001)
    values = [
        held.value(replace(theta, kernel=theta.kernel.scaled(s), noise=theta.noise * s))[0] for s in np.exp(logs[::20])
    ]
    assert_allclose(integrated, np.logaddexp.reduce(values) + np.log(20 * (logs[1] - logs[0])), atol=1e-6)


def test_search_ends_where_no_slope_is_left(rng):
    task = task_of("gaussian", 2, 60, rng)
    form = forms(task, None)[1]
    posterior = Posterior(form, evidence_of(task, form))
    modes = search(posterior)
    assert modes[0].status == "climbed"
    assert modes[0].value == max(mode.value for mode in modes)
    gain = 0.5 * modes[0].gradient @ np.linalg.solve(modes[0].information, modes[0].gradient)
    assert gain < 2 * POLICY.climbed


# ------------------------------------------------------------------------------- integration


@dataclass
class Bent:
    """A made-up posterior: a skew density of each entry, which moves a surface."""

    k: int
    form: Bent | None = None
    evidence: Bent | None = None

    def __post_init__(self):
        self.form = self.evidence = self

    def bounds(self):
        return np.tile([-20.0, 20.0], (self.k, 1))

    def frame(self, x):
        return np.eye(len(x))

    def value(self, x):
        return float(np.sum(2 * x - 2 * np.exp(x)))

    def at(self, x):
        if isinstance(x, np.ndarray):
            return Mode(x, self.value(x), 2 - 2 * np.exp(x), np.diag(2 * np.exp(x)), "passed")
        return x

    def surface(self, x, places):
        return np.full(3, float(np.sum(x.x))), np.ones(3)


@pytest.mark.parametrize("k", [1, 2])
def test_integration_agrees_with_a_fine_grid(k):
    """Mass and mean of a skew density in one and two entries."""
    posterior = Bent(k)
    mode = posterior.at(np.zeros(k))
    nodes = integrate(peaks(posterior, [mode]), np.zeros((3, 2)))
    grid = np.linspace(-9, 4, 4001)
    one = np.exp(2 * grid - 2 * np.exp(grid))
    mass, mean = one.sum() * (grid[1] - grid[0]), one @ grid / one.sum()
    assert_allclose(nodes.log_evidence, k * np.log(mass), atol=0.08 * k)
    assert_allclose(nodes.mass @ np.array(nodes.points), np.full(k, mean), atol=0.2)  # a quarter of its sd
    assert nodes.n_directions == k


@pytest.mark.parametrize("k", range(2, 9))
def test_corners_tell_main_effects_from_pairs(k):
    """A two-level design of resolution V: entries and their products are orthogonal."""
    design = _corners(k)
    pairs = [design[:, i] * design[:, j] for i in range(k) for j in range(i)]
    columns = np.column_stack([np.ones(len(design)), design, *pairs])
    assert_allclose(columns.T @ columns, len(design) * np.eye(columns.shape[1]))


# ---------------------------------------------------------------------------------- defaults


@pytest.mark.parametrize("n", [40, 155])
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("change", ["turned", "shifted", "in metres"])
def test_coordinates_may_be_turned_shifted_and_scaled(family, n, change):
    """Means and sds of a default fit stay, within a thousandth of an sd."""
    rng = np.random.default_rng(n)
    places, wanted = rng.random((n, 2)) * [100, 20], rng.random((20, 2)) * [100, 20]
    eta = np.sin(places[:, 0] / 9) + np.cos(places[:, 1] / 5)
    given = {}
    y = eta + 0.3 * rng.standard_normal(n)
    if family == "binomial":
        given = {"trials": np.full(n, 15)}
        y = rng.binomial(15, 1 / (1 + np.exp(-eta)))
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    moved = {"turned": lambda x: x @ turn, "shifted": lambda x: x + 1e3, "in metres": lambda x: x * 1e3}[change]

    def answer(places, wanted):
        model = SpatialRegressor(family=family).fit(places, y, **given)
        return model.predict(wanted, return_std=True) if family == "gaussian" else model.predict_latent(wanted)

    mean, sd = answer(places, wanted)
    other_mean, other_sd = answer(moved(places), moved(wanted))
    assert np.max(np.abs(other_mean - mean) / sd) < 1e-3
    assert np.max(np.abs(other_sd / sd - 1)) < 1e-3


@pytest.mark.parametrize(("n", "weight"), [(2, 1.0), (3, 1.0), (4, 1.0), (30, 0.01)])
def test_hardly_any_rows_are_learned_from(n, weight, rng):
    """Two rows, or many of next to no weight: an answer that is wide and finite."""
    places = rng.random((n, 2))
    model = SpatialRegressor().fit(places, rng.standard_normal(n), sample_weight=np.full(n, weight))
    mean, sd = model.predict(rng.random((5, 2)), return_std=True)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)


def test_choices_name_form_odds_and_nodes(rng):
    places = rng.random((50, 2))
    distance = np.linalg.norm(places - 0.5, axis=1)
    model = SpatialRegressor().fit(places, np.cos(9 * distance) + 0.5 * rng.standard_normal(50))
    assert model.choices_["kernel"].value in ("matern", "matern-metric")
    assert "posterior odds" in model.choices_["kernel"]
    assert model.choices_["intervals"].value == len(model.fitted_.model.mixture.mass)


# ------------------------------------------------------------------------------------ effects


def many_covariates(rng, n: int, p: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A field, one covariate that matters, and others that do not."""
    frame = pd.DataFrame(np.column_stack([rng.random((n, 2)), rng.standard_normal((n, p))]))
    frame.columns = ["x", "y", *(f"b{i}" for i in range(p))]
    truth = np.sin(5 * frame.x) + 0.5 * frame.b0
    return frame, truth.to_numpy(), truth.to_numpy() + 0.3 * rng.standard_normal(n)


def test_useless_covariates_are_shrunk(rng):
    """With forty of them the surface is nearer to the truth than with flat priors."""
    frame, _, _ = many_covariates(rng, 120, 40)
    truth = np.sin(5 * frame.x.to_numpy())
    frame["z"] = truth + 0.7 * rng.standard_normal(120)
    names = list(frame.columns[2:42])
    learned = SpatialRegressor(coords=["x", "y"], covariates=names).fit(frame[:80].drop(columns="z"), frame.z[:80])
    flat = SpatialRegressor.from_formula(f"z ~ {' + '.join(names)} + gp(x, y)").fit(frame[:80])
    errors = [np.sqrt(np.mean((m.predict(frame[80:]) - truth[80:]) ** 2)) for m in (learned, flat)]
    assert errors[0] < 0.7 * errors[1], errors


def test_more_covariates_than_rows(rng):
    frame, truth, y = many_covariates(rng, 60, 90)
    model = SpatialRegressor(coords=["x", "y"], covariates=list(frame.columns[2:])).fit(frame[:40], y[:40])
    mean, sd = model.predict(frame[40:], return_std=True)
    assert np.all(sd > 0)
    assert np.mean(np.abs(mean - truth[40:]) < 1.96 * sd) > 0.7


def test_shrunk_effects_are_kept_with_the_model(rng, tmp_path):
    """A saved model leaves rows out, and predicts, as the one that was fitted."""
    from bochner import load

    frame, _, y = many_covariates(rng, 50, 8)
    model = SpatialRegressor(coords=["x", "y"], covariates=list(frame.columns[2:])).fit(frame, y)
    model.save(tmp_path / "m.bochner")
    assert_allclose(load(tmp_path / "m.bochner").predict(frame), model.predict(frame), rtol=0, atol=0)
    held = model.cross_validate()
    assert 0.7 < np.mean(np.abs(held.observed - held.prediction.mean) < 1.96 * held.prediction.sd) <= 1.0
