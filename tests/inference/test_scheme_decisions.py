"""What schemes decide by: how many waves are enough, which precision, and when the nearest rows are asked instead."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from bochner.choices import Choice
from bochner.exceptions import ApproximationWarning, MemoryLimitError
from bochner.families import Gaussian, Poisson
from bochner.features import Rows, operators
from bochner.inference import Responses, Settings
from bochner.inference.fits.base import column_bytes, exact_bytes, max_columns
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes import lattice_scheme, rule_waves, whole_kernel
from bochner.inference.schemes.base import Case, double_precision, raised_noise, wave_precision
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.schemes.rule_waves import Number
from bochner.kernels import Matern, Periodic, SquaredExponential
from bochner.resources import Resources

pytestmark = pytest.mark.every_case

SQUARE = (np.zeros(2), np.ones(2))


def task_of(family=None, n: int = 80, dim: int = 2, of=None, noise: float = 0.2, **settings) -> Task:
    rng = np.random.default_rng(dim)
    coords = rng.uniform(size=(n, dim))
    field = np.sin(4 * coords[:, 0])
    if of is not None:
        field = linalg.cholesky(of(coords) + 1e-9 * np.eye(n), lower=True) @ rng.standard_normal(n)
    family = family or Gaussian()
    y = field + noise * rng.standard_normal(n) if family.observes_eta else rng.poisson(np.exp(field)).astype(float)
    one, zero = np.ones(n), np.zeros(n)
    responses = Responses(family, Rows(coords, one[:, None]), y, one, zero, one, zero)
    return Task.of(Settings(**settings), responses)


# ------------------------------------------------------------------------------------------------- how many waves


def test_waves_may_leave_out_less_where_more_rows_share_a_wave():
    """Rows of one wave length share what is left out: their number times it is a share of the noise, in all."""
    mass, noise, m = np.full(400, 1e-3), 0.01, np.arange(1, 401)

    def allowed(n, noise=noise, laplace=False, whole=False):
        return lattice_scheme._allowed(mass, n, noise, laplace=laplace, whole=whole)

    for n in (100, 5_000, 150_000):
        assert_allclose(allowed(n), 1e-4 * noise * np.minimum(1, np.maximum(m, 30) / n))
        assert_allclose(allowed(n, whole=True), allowed(n))
    assert_allclose(allowed(5_000, laplace=True), 100 * allowed(5_000))
    assert_allclose(allowed(10**7), 0.05 * noise)
    assert_allclose(allowed(10**7, 100.0), 0.01)
    assert_allclose(allowed(50_000, laplace=True), 0.015 * noise)
    # of a surface that can be had otherwise, a small part of what stays unknown of it
    unknown = np.sum(mass / (1 + mass * 10**7 / (2 * noise)))
    seen = allowed(10**7, whole=True)
    assert_allclose(seen, np.maximum(1e-4 * noise * np.maximum(m, 30) / 10**7, 0.03 * unknown))


def test_waves_of_which_rows_say_nothing_may_go():
    """Of no information nothing is told; of much, all that the waves beyond hold, beside what no wave does."""
    mass, variance = np.array([0.4, 0.3, 0.2, 0.05]), 1.0
    assert_allclose(lattice_scheme._untold(mass, variance, 0.0), 0)
    some, more, all_of_it = (lattice_scheme._untold(mass, variance, t) for t in (1.0, 1e3, 1e14))
    for told in (some, more, all_of_it):
        assert np.all(np.diff(told) < 0)
    assert np.all(some < more) and np.all(more < all_of_it)
    beyond = 0.05
    assert_allclose(all_of_it * beyond, beyond + np.array([0.55, 0.25, 0.05, 0.0]), rtol=1e-6)
    # by hand for one wave: two columns, each known with precision a t / 2 beside its prior of one
    known = 0.8 * 5 / 2
    wanted = 0.2 * known / (1 + known) / (1 - 0.8 * known / (1 + known))
    assert_allclose(lattice_scheme._untold(np.array([0.8]), 1.0, 5.0), wanted)


def n_waves(noise: float, n: int = 500, **given) -> int:
    found = lattice_scheme.lattice_waves(Settings(), SquaredExponential(0.25), noise, n, SQUARE, **given)
    return found.features.frequencies.n


def test_less_noise_and_more_rows_ask_for_more_waves():
    assert n_waves(1e-3) > n_waves(1e-1) > n_waves(10.0)
    assert n_waves(1e-2, 100_000) > n_waves(1e-2, 500)
    # information of rows can only spare waves
    assert n_waves(1e-2, information=1e-3) < n_waves(1e-2, information=1e9) < n_waves(1e-2)


def test_waves_are_those_asked_for_and_say_what_they_leave_out():
    asked = lattice_scheme.lattice_waves(Settings(n_frequencies=17), Matern(0.2), 0.1, 500, SQUARE)
    assert asked.features.frequencies.n == 17 and asked.choice.given and asked.left is None
    missing = 1 - asked.features.frequencies.mass.sum()
    assert_allclose(asked.features.missing, missing)
    with pytest.raises(MemoryLimitError):
        lattice_scheme.lattice_waves(
            Settings(n_frequencies=5_000, resources=Resources(memory_limit=10**7)), Matern(0.2), 0.1, 500, SQUARE
        )


def test_columns_are_as_many_as_memory_holds():
    for limit in (10**6, 10**8):
        most = max_columns(limit, 10**6)
        assert column_bytes(most) <= limit < column_bytes(2 * most)
        assert max_columns(limit, 5) == 5
    assert max_columns(None, 77) == 77 and max_columns(1, 10) == 1


# ---------------------------------------------------------------------------------------------- who answers instead


def test_a_rough_kernel_of_few_rows_has_a_dense_factor():
    """Unless memory does not hold it: then conjugate gradients, and their name is said."""
    task = task_of(of=Matern(0.1, nu=0.5), features="lattice")
    solved = scheme_named("lattice").solve(task, Average.single(Matern(0.1, nu=0.5), 0.04))
    assert solved.scheme == "exact" and "the dense factor is cheaper" in str(solved.choices[0])
    less = replace(task.settings, resources=Resources(memory_limit=int(exact_bytes(80)) - 1))
    little = lattice_scheme._why_no_iteration(replace(task, settings=less))
    assert "more than the memory_limit" in little
    assert lattice_scheme._why_no_iteration(task) is None


@pytest.mark.parametrize(
    ("settings", "family", "may"),
    [
        ({}, None, True),
        ({"features": "lattice"}, None, False),
        ({"n_frequencies": 20}, None, False),
        ({"noise_variance": 0.0, "learns": False}, None, False),  # least squares is asked for
        ({"resources": Resources(memory_limit=1_000)}, None, False),
        ({}, Poisson(), False),
    ],
)
def test_nearest_rows_are_asked_where_features_are_ours_to_choose(settings, family, may):
    task = task_of(family, **settings)
    assert whole_kernel.may_be_nearest(task) == may


@pytest.mark.parametrize(("length", "better"), [(0.15, True), (1e-3, False)])
def test_nearest_rows_are_taken_where_they_predict_better(length, better):
    """A rough field with little noise is near its neighbours; with a kernel that forgets them, few waves do better."""
    of, noise, kernel = Matern(0.15, nu=0.5), 0.05**2, Matern(length, nu=0.5)
    task = task_of(of=of, noise=0.05, n=300)
    settings = replace(task.settings, n_frequencies=6)
    waves = lattice_scheme.lattice_waves(settings, of, noise, 300, task.covered_box)
    mode = lattice_scheme.linear_mode(task, waves.features, noise)
    found, told = whole_kernel.nearest_are_better(kernel, noise, task.obs, mode, 0, left=0.25)
    assert found == better and "leave out a field of sd 0.5" in told and "CRPS of 30 held-out rows" in told
    if better:  # and so do random waves that miss the tolerance, where they are ours to choose
        scheme = scheme_named("orthogonal")
        scheme.number = lambda *_: Number(6, Choice("n_frequencies", 6), 0.1)
        solved = scheme.solve(task, Average.single(kernel, noise))
        assert solved.scheme == "nearest" and "30 held-out rows" in str(solved.choices[0])
        asked = replace(task, settings=replace(task.settings, features="orthogonal"))
        with pytest.warns(ApproximationWarning):
            assert scheme.solve(asked, Average.single(kernel, noise)).scheme == "orthogonal"


def test_waves_are_not_taken_whose_sd_would_be_far_too_large():
    """New observations of much noise do not tell: what is left out is compared with what the nearest leave unknown."""
    kernel, noise = Matern(0.5, nu=2.5), 1.0
    task = task_of(of=kernel, noise=1.0, n=600)
    waves = lattice_scheme.lattice_waves(replace(task.settings, n_frequencies=30), kernel, noise, 600, task.covered_box)
    mode = lattice_scheme.linear_mode(task, waves.features, noise)
    better, told = whole_kernel.nearest_are_better(kernel, noise, task.obs, mode, 0, left=3.0)
    assert better and "the nearest rows leave one of" in told


@pytest.mark.parametrize(("length", "scheme"), [(1.5, "lattice"), (0.05, "nearest")])
def test_waves_or_the_nearest_answer_where_no_products_can_be_had(length, scheme, monkeypatch):
    """Whichever predict held-out rows better; it is said why, and what the waves leave out."""
    monkeypatch.setattr(lattice_scheme, "MAX_EXACT_ROWS", 50)
    monkeypatch.setattr(lattice_scheme, "MAX_LATTICE_WAVES", 200)
    monkeypatch.setattr(operators, "OPERATORS", (operators.UnavailableOperator,))
    kernel = Matern(length, nu=2.5)
    task = task_of(of=kernel, noise=0.5, n=2_000)
    solved = scheme_named("lattice").solve(task, Average.single(kernel, 0.25))
    assert solved.scheme == scheme
    told = " ".join(map(str, solved.choices))
    assert "no lattice of waves holds the field" in told
    assert "leave out a field of sd" in told and "CRPS of 200 held-out rows" in told


@pytest.mark.parametrize(("tolerance", "told"), [(1e-6, True), (10.0, False)])
def test_waves_that_miss_the_tolerance_are_told(tolerance, told):
    task = task_of(of=Matern(0.3), n_frequencies=12, tolerance=tolerance, noise_variance=0.04, learns=False)
    assert Number(5, None, 0.1).misses(0.09) and not Number(5, None, 0.1).misses(0.11)
    assert not Number(5, None).misses(0.0)
    scheme = scheme_named("quasi")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        number = replace(scheme.number(task, Matern(0.3)), error=0.1)
        scheme.number = lambda *_: number
        solved = scheme.solve(task, Average.single(Matern(0.3), 0.04))
    assert any(issubclass(w.category, ApproximationWarning) for w in seen) == told
    assert solved.scheme == "quasi" and solved.n_frequencies == 12 and solved.kernel_error == 0.1


def test_noise_is_raised_by_what_waves_leave_out_only_where_it_is_learned():
    kernel, scheme = Matern(0.1, nu=0.5), scheme_named("quasi")

    def noise_of(task: Task, error: float) -> float:
        scheme.number = lambda *_: Number(6, Choice("n_frequencies", 6), error)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return scheme.solve(task, Average.single(kernel, 0.01)).modes[0].noise_variance

    learned, given = task_of(of=kernel, features="quasi"), task_of(of=kernel, features="quasi", noise_variance=0.01)
    assert noise_of(learned, 0.5) > 0.01
    assert noise_of(given, 0.5) == noise_of(learned, 1e-9) == 0.01
    assert noise_of(task_of(of=kernel, features="quasi", n=8), 0.5) == 0.01  # more columns than rows
    assert raised_noise(0.2, 0.2) == () and raised_noise(0.1, 0.2) == ()
    (told,) = raised_noise(0.3, 0.2)
    assert told.value == 0.3 and "instead of 0.2" in str(told)


def test_frequencies_follow_theta_only_where_that_is_affordable_and_smooth(monkeypatch):
    asked = {"n_frequencies": 20, "kernel": Matern(0.3)}
    scheme = scheme_named("quasi")
    assert scheme.own_draw(task_of(**asked)) is not None
    assert scheme.own_draw(task_of(n_frequencies=20)) is None
    assert scheme.own_draw(task_of(kernel=Matern(0.3), n_frequencies="auto")) is None
    lines = Periodic(1.0, period=0.5)
    assert scheme.own_draw(replace(task_of(), settings=Settings(kernel=lines, n_frequencies=20))) is None
    settings = Settings(kernel=Matern(0.3), n_frequencies=20)
    task = replace(task_of(n=80), settings=settings)
    work = 80 * 40 * 40  # rows, the smaller of columns and rows, and columns
    monkeypatch.setattr(rule_waves, "MAX_FEATURE_TUNING_WORK", work)
    assert scheme.own_draw(task) is not None
    monkeypatch.setattr(rule_waves, "MAX_FEATURE_TUNING_WORK", work - 1)
    assert scheme.own_draw(task) is None


def test_landmarks_are_those_asked_for_or_as_many_as_rows():
    scheme, kernel = scheme_named("nystroem"), Matern(0.3)
    assert scheme.number(task_of(n=70), kernel).m == 70
    assert scheme.number(task_of(n=1_100), kernel).m == 1_000
    small = task_of(n=70, resources=Resources(memory_limit=20_000))
    assert 1 <= scheme.number(small, kernel).m < 30
    asked = scheme.number(task_of(n=70, n_frequencies=12), kernel)
    assert asked.m == 12 and asked.choice.given
    assert scheme.suits(Case(10, 2, Matern())) is None


# ------------------------------------------------------------------------------------------------------- precision


@pytest.mark.parametrize(
    ("noise", "few", "asked", "dtype"),
    [
        (0.1, 10, "auto", "float32"),
        (0.1, 10_000, "auto", "float64"),
        (1e-7, 10, "auto", "float64"),
        (1e-7, 10, "float32", "float32"),
        (0.1, 10, "float64", "float64"),
    ],
)
def test_waves_are_rounded_where_noise_hides_it_and_rows_are_many(noise, few, asked, dtype):
    task = task_of(resources=Resources(dtype=asked))
    found, told = wave_precision(task, Matern(), noise, few)
    assert np.dtype(found).name == told.value == dtype and told.given == (asked != "auto")
    assert bool(double_precision(task, "why")) == (asked == "float32")
