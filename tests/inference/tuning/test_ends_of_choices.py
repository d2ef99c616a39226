"""How a choice of kernels ends: one alone or a mixture, on waves or on parts, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.choices import Choice
from bochner.families import Gaussian, Poisson
from bochner.features import Rows
from bochner.inference import Domain, Responses, Settings
from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.evidence.profile import LaplaceObjective
from bochner.inference.fits.folds import HeldOut
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning import held_out_places, laplace_climb, limits, multiscale
from bochner.inference.tuning.climb import Climb
from bochner.inference.tuning.lattice_search import LatticeSearch
from bochner.inference.tuning.search import Tuned
from bochner.kernels import Matern, SquaredExponential

pytestmark = pytest.mark.every_case
NODES = np.argwhere(np.ones((13, 13), dtype=bool)).astype(float)
GAP = (NODES[:, 0] < 5) & (NODES[:, 1] < 6)
NAMES = (multiscale.ONE_FIELD, multiscale.SUM_OF_THREE)
SINGLE, SUM = Tuned(Matern(2.0), 0.1, 0.0, 1, ("nu",)), Tuned(Matern(1.0) + Matern(4.0), 0.2, 0.0, 1, ())


def stacked(monkeypatch, errors, sds, noise_variance=None, *, likelier=False):
    """The decision, where held-out rows have these errors by each kernel, and sds of field and noise together."""
    rows = NODES[~GAP]
    n = len(rows)
    one, zero = np.ones(n), np.zeros(n)
    responses = Responses(Gaussian(), Rows(rows, one[:, None]), zero, one, zero, one, zero)
    task = Task.of(Settings(), responses, None, Domain(predict_at=NODES[GAP]))
    obs = responses.observations()
    rng = np.random.default_rng(0)

    def by_each(pairs, obs, folds):
        index = np.concatenate([test for _, test in folds])
        fold = np.concatenate([np.full(len(test), k) for k, (_, test) in enumerate(folds)])
        shared = rng.standard_normal(len(index))
        return [
            HeldOut(index, fold, error * shared, np.full(len(index), sd**2 - noise))
            for (_, noise), error, sd in zip(pairs, errors, sds, strict=True)
        ]

    monkeypatch.setattr(multiscale, "held_out_by_each", by_each)
    monkeypatch.setattr(multiscale, "_modulated", lambda *_: None)
    folds = held_out_places.task_folds(obs, task.domain, 0, task.grid)
    candidates = list(zip(NAMES, (SINGLE, SUM), strict=True))
    return multiscale._stacked(candidates, noise_variance, task, obs, folds, NODES[GAP], True, likelier)


def test_one_kernel_that_gaps_find_clearly_better_stands_alone(monkeypatch):
    tuned, told, average = stacked(monkeypatch, (1.0, 6.0), (1.0, 6.0))
    assert told.value == multiscale.ONE_FIELD and average is None
    assert tuned.kernel.length_scale == 2.0 and tuned.at_bounds == () and tuned.by_all_rows
    assert "chosen by CRPS" in str(told) and "together" not in str(told) and "independent gaps" in str(told)
    assert tuned.noise_variance / 0.1 == pytest.approx(tuned.kernel.variance)  # one factor for both


def test_kernels_that_gaps_cannot_tell_apart_are_mixed(monkeypatch):
    monkeypatch.setattr(multiscale, "stacking_weights", lambda judged: np.array([0.3, 0.7])[: len(judged.means)])
    tuned, told, average = stacked(monkeypatch, (1.0, 1.0), (1.0, 1.0))
    assert told.value == "a mixture" and "70% a sum" in str(told) and "together" in str(told)
    assert_allclose(average.mass, [0.7, 0.3])  # the heaviest first
    assert average.kernels[0] == tuned.kernel and len(list(tuned.kernel.leaves())) == 2
    assert_allclose(average.noise_variances, np.array([0.2, 0.1]) * average.kernels[1].variance)


@pytest.mark.parametrize("noise", [None, 0.1])
def test_errors_that_are_larger_than_told_widen_all_variances(monkeypatch, noise):
    """But for a noise that was given."""
    tuned, told, _ = stacked(monkeypatch, (1.3, 6.0), (1.0, 6.0), noise)
    factor = tuned.kernel.variance
    assert 1.2 < factor <= limits.CALIBRATION_RANGE[1] and f"variances times {factor:.2f}" in str(told)
    assert tuned.noise_variance == pytest.approx(0.1 * (factor if noise is None else 1.0))


def test_a_likelier_sum_takes_the_place_of_the_single_field(monkeypatch):
    plain, likelier = (stacked(monkeypatch, (1.0, 1.0), (1.0, 1.0), likelier=likely)[1] for likely in (False, True))
    assert plain.value == multiscale.ONE_FIELD and likelier.value == multiscale.SUM_OF_THREE


# ------------------------------------------------------------------------------------------------- on waves or parts


def counts(n: int = 60) -> Task:
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(n, 1))
    one, zero = np.ones(n), np.zeros(n)
    y = rng.poisson(np.exp(1.5 + np.sin(5 * coords[:, 0]))).astype(float)
    return Task.of(Settings(), Responses(Poisson(), Rows(coords, one[:, None]), y, one, zero, one, zero))


def looked(task: Task) -> tuple[LatticeSearch, LaplaceObjective]:
    parts = LaplaceObjective([task.data[np.arange(0, 30)], task.data[np.arange(30, 60)]], ExactBound, reml=True)
    return LatticeSearch.of(task.data, task.scale, None, parts), parts


def test_waves_choose_a_smoothness_and_keep_its_rivals(monkeypatch):
    """Of the kernel given, values alone; where waves hold none of what was found, nothing."""
    monkeypatch.setattr(limits, "LATTICE_ITERATIONS", 8)
    task = counts()
    begun, _ = looked(task)
    first = Tuned(Matern(0.6, 0.6, nu=1.5), 0.02, 0.0, 1, ())
    free = laplace_climb._on_lattice(task, begun, first)
    assert free.choices[0].name == "kernel" and not free.choices[0].given
    assert free.laplace is not None and free.tuned.by_all_rows
    assert all(rival.kernel.nu != free.tuned.kernel.nu and not rival.failed for rival in free.rivals)
    kernel = SquaredExponential(0.5)
    given = replace(task, settings=Settings(kernel=kernel))
    found = laplace_climb._on_lattice(given, begun, Tuned(kernel, 0.02, 0.0, 1, ()))
    assert found.choices[0].given and found.rivals == () and isinstance(found.tuned.kernel, SquaredExponential)
    monkeypatch.setattr(LatticeSearch, "plan", lambda *_: None)
    assert laplace_climb._on_lattice(given, begun, Tuned(kernel, 0.02, 0.0, 1, ())) is None


def test_parts_are_preferred_where_a_short_field_explains_more(monkeypatch):
    task = counts()
    begun, parts = looked(task)
    long, short = Tuned(SquaredExponential(0.5, 0.5), 0.02, 0.0, 1, ()), Tuned(Matern(1e-4, nu=0.5), 0.02, 0.0, 1, ())
    assert not laplace_climb._rather_by_parts(begun, parts, long, long)  # waves hold it
    assert not laplace_climb._rather_by_parts(begun, parts, replace(short, value=-1e300), long)  # nothing was found
    monkeypatch.setattr(LatticeSearch, "holds", lambda *_: False)
    # two parts of a quarter of the rows each: of all rows, what they gain counts twice
    half = LaplaceObjective([task.data[np.arange(0, 15)], task.data[np.arange(30, 45)]], ExactBound, reml=True)
    monkeypatch.setattr(laplace_climb, "field_gain", lambda *_: 10.0)
    for gain, rather in ((19.0, True), (21.0, False)):
        monkeypatch.setattr(LatticeSearch, "gain", lambda *_, gain=gain: gain)
        assert laplace_climb._rather_by_parts(begun, half, short, long) == rather
    monkeypatch.undo()
    monkeypatch.setattr(LatticeSearch, "holds", lambda *_: False)
    for gain, rather in ((1e6, False), (-1e6, True)):
        monkeypatch.setattr(LatticeSearch, "gain", lambda *_, gain=gain: gain)
        assert laplace_climb._rather_by_parts(begun, parts, short, long) == rather


@pytest.mark.parametrize(("n", "kernel", "asked"), [(60, None, True), (59, None, False), (60, Matern(), False)])
def test_a_sum_of_fields_is_asked_for_of_many_counts(monkeypatch, n, kernel, asked):
    """By the finer of two evidences of parts, which then answers; not of few rows, nor of a kernel that was given."""
    monkeypatch.setattr(limits, "MIN_SUM_ROWS", 60)
    task = counts(n)
    task = replace(task, settings=Settings(kernel=kernel))
    coarse, fine = (LaplaceObjective([task.data], ExactBound, reml=True) for _ in range(2))
    told = Choice("tuning", "composite", text="parts")
    first = Tuned(Matern(0.5, nu=0.5), 0.02, 0.0, 1, ())  # waves have held the roughest
    monkeypatch.setattr(laplace_climb, "laplace_objectives", lambda *_: ([coarse, fine], told))
    monkeypatch.setattr(laplace_climb, "_first_climb", lambda *_: first)
    monkeypatch.setattr(laplace_climb, "_on_lattice", lambda *_: Climb(looked(counts())[0], first, ()))
    monkeypatch.setattr(laplace_climb, "_rather_by_parts", lambda *_: False)
    seen = []
    monkeypatch.setattr(
        laplace_climb, "_near_and_far", lambda _, objective, *__: seen.append(objective) or Climb(None, first, ())
    )
    found = laplace_climb.by_laplace(task, scheme_named("exact"), None)
    assert seen == ([fine] if asked else [])
    assert (found.laplace is fine) == asked and found.choices[0].value == ("composite" if asked else "lattice")


@pytest.mark.parametrize(("found", "rivals", "told"), [(2.5, (), 2.5), (2.5, (1.5,), 1.5), (2.5, (0.5,), None)])
def test_the_roughest_smoothness_that_was_judged_is_told(found, rivals, told):
    """Unless it is the roughest of all; of a kernel that was given nothing was judged."""
    tuned, *others = (Tuned(Matern(0.5, nu=nu), 0.02, 0.0, 1, ()) for nu in (found, *rivals))
    climb = Climb(None, tuned, (), rivals=tuple(others))
    assert [choice.value for choice in laplace_climb._unjudged(counts(), climb)] == ([] if told is None else [told])
    given = replace(counts(), settings=Settings(kernel=Matern()))
    assert laplace_climb._unjudged(given, climb) == []


def test_scatter_is_sought_in_a_rough_field_as_well_as_in_the_dispersion():
    """Poisson counts of a large rough field: with a dispersion they are nearly as likely, and nothing is predicted."""
    rng = np.random.default_rng(11)
    places = rng.uniform(size=(130, 3))
    lags = np.linalg.norm(places[:, None] - places, axis=2) / 0.1
    field = 3.5 * np.linalg.cholesky(np.exp(-lags)) @ rng.normal(size=130)
    rng.uniform(size=(200, 3))
    y = rng.poisson(np.exp(np.clip(1 + field, -15, 12))).astype(float)
    model = SpatialRegressor(family="negative-binomial").fit(places, y).fitted_.model
    assert model.family.dispersion < 1e-3 and model.log_evidence > -524.4
