"""What is learned and what is not: noise that has no room, rows that say nothing, doubt that a grid can hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import FallbackWarning, InputError
from bochner.families import Binomial, Gamma, Gaussian, Poisson, Student
from bochner.features import Rows
from bochner.inference import Domain, Responses, Settings
from bochner.inference.observed.average import Average
from bochner.inference.observed.task import Task
from bochner.inference.schemes.choose import scheme_named
from bochner.inference.tuning import laplace_climb, learning, limits, rare_cases
from bochner.inference.tuning.climb import Climb
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Matern, Sum
from tests.inference.tuning.objectives import NOISE, SCALE, quadratic, search

pytestmark = pytest.mark.every_case

EXACT = scheme_named("exact")


def task_of(family=None, n: int = 40, dim: int = 2, y=None, size: float = 1.0, error: float = 0.0, **settings) -> Task:
    rng = np.random.default_rng(0)
    family = family or Gaussian()
    rows, one, zero = Rows(rng.uniform(size=(n, dim)), np.ones((n, 1))), np.ones(n), np.zeros(n)
    y = 1.0 + rng.poisson(4.0, n) if y is None else y
    if family.bounded_by_size:
        y = np.minimum(y, size)
    return Task.of(Settings(**settings), Responses(family, rows, y * one, size * one, zero, one, error * one))


# -------------------------------------------------------------------------------------------------------- the noise


@pytest.mark.parametrize(
    ("family", "size", "settings", "noise", "told"),
    [
        (Gaussian(), 1.0, {}, None, ""),
        (Gaussian(), 1.0, {"noise_variance": 0.3}, 0.3, ""),
        (Poisson(), 1.0, {}, None, ""),
        (Poisson(), 1.0, {"learns": False}, 0.0, ""),
        (Poisson(), 1.0, {"noise_variance": 0.3, "learns": False}, 0.3, ""),
        (Gamma(), 1.0, {}, 0.0, "the dispersion of the family"),
        (Gamma(), 1.0, {"noise_variance": 0.2}, 0.2, ""),
        (Binomial(), 1.0, {}, 0.0, "one trial a row"),
        (Binomial(), 9.0, {}, None, ""),
    ],
)
def test_noise_is_learned_where_it_can_be_told(family, size, settings, noise, told):
    found, choices = learning.known_noise(task_of(family, size=size, **settings))
    assert found == noise
    assert [choice.name for choice in choices] == (["noise"] if told else [])
    assert told in "".join(map(str, choices))


def test_values_that_are_not_learned_are_given_or_told():
    """A tenth of the variance, or no effect of single rows; nothing is told of what was given."""
    task = task_of(learns=False)
    average, choices = learning._given(task, *learning.known_noise(task))
    assert_allclose(average.noise_variances, 0.1 * task.scale.variance)
    assert average.kernels == (Matern(),) and [c.name for c in choices] == ["tuning", "kernel", "noise"]
    assert "a tenth of the variance" in str(choices[-1])
    counts = task_of(Poisson(), learns=False)
    average, choices = learning._given(counts, *learning.known_noise(counts))
    assert average.noise_variances[0] == 0 and "no effect of single rows" in str(choices[-1])
    full = task_of(learns=False, kernel=Matern(0.2), noise_variance=0.5)
    average, choices = learning._given(full, *learning.known_noise(full))
    assert average.pairs == [(Matern(0.2), 0.5)] and [c.name for c in choices] == ["tuning"]


# --------------------------------------------------------------------------------------------- rows that say nothing


def test_a_constant_response_leaves_nothing_to_learn():
    assert learning._degenerate(task_of(), None) is None
    for level in (0.0, 3.0, 1e6):
        task = task_of(y=np.full(40, level))
        with pytest.warns(FallbackWarning, match="constant"):
            average, (told,) = learning._degenerate(task, None)
        small = max(task.scale.variance, 1e-12 * (level**2 or 1.0))
        assert_allclose(average.noise_variances, small)
        assert 0 < average.kernels[0].variance < 1e-3 * small and "constant" in str(told)
        with pytest.warns(FallbackWarning):
            assert learning._degenerate(task, 0.7)[0].noise_variances[0] == 0.7
    task = task_of(y=np.full(40, 3.0), kernel=Matern(0.2, 50.0))
    with pytest.warns(FallbackWarning):
        flat = learning._degenerate(task, None)[0].kernels[0]
    assert flat.length_scale == 0.2 and flat.variance < 1e-12


def test_rows_at_one_place_have_a_mean_and_no_map():
    rng = np.random.default_rng(0)
    one, zero = np.ones(30), np.zeros(30)
    responses = Responses(Gaussian(), Rows(np.ones((30, 2)), one[:, None]), rng.normal(size=30), one, zero, one, zero)
    task = Task.of(Settings(), responses)
    with pytest.warns(FallbackWarning, match="one place"):
        average, _ = learning._degenerate(task, None)
    assert average.noise_variances[0] > 0
    with pytest.raises(InputError, match="nothing to learn"):
        learning._degenerate(replace(task, settings=Settings(noise_variance=0.0)), 0.0)


# ------------------------------------------------------------------------------------------ which doubt is carried how


def climb_to(kernel, **more) -> Climb:
    return Climb(search(quadratic((0.2, 0.2))), Tuned(kernel, NOISE, 0.0, 1, ()), (), **more)


@pytest.mark.parametrize(
    ("task", "kernel", "scheme", "integrable"),
    [
        (task_of(), Matern(), "exact", True),
        (task_of(), Matern((0.1, 0.2)), "exact", True),
        (task_of(), Matern() + Matern(0.1), "exact", False),
        (task_of(dim=4), Matern(), "exact", False),
        (task_of(dim=3), Matern(), "exact", True),
        (task_of(criterion="likelihood"), Matern(), "exact", False),
        (task_of(Poisson()), Matern(), "exact", False),
        (task_of(kernel=Matern(), n_frequencies=9), Matern(), "quasi", False),  # has an evidence of its own
        (task_of(n=limits.LEAST_FREEDOM), Matern(), "exact", False),  # too few for noise and field beside the mean
        (task_of(n=limits.LEAST_FREEDOM + 1), Matern(), "exact", True),
        (task_of(n=limits.LEAST_FREEDOM, error=0.1), Matern(), "exact", True),
    ],
)
def test_a_grid_holds_one_gaussian_field(task, kernel, scheme, integrable):
    assert learning._integrable(task, scheme_named(scheme), climb_to(kernel)) == integrable


def test_a_noise_that_is_given_needs_fewer_rows():
    climb = replace(climb_to(Matern()), search=search(quadratic((0.2,)), noise_variance=NOISE))
    assert learning._integrable(task_of(n=limits.LEAST_FREEDOM), EXACT, climb)


def test_stacks_and_features_that_are_made_once_are_not_averaged():
    task = task_of()
    two = Average((Matern(0.1), Matern(0.3)), np.array([0.1, 0.2]), np.array([0.7, 0.3]))
    for stack, n in ((two, 2), (Average.single(Matern(0.4), 0.3), 1)):
        found, told = learning._averaged(task, EXACT, climb_to(Matern(), stack=stack))
        assert found is stack and told.value == n
        assert learning._best(EXACT, climb_to(Matern(), stack=stack)) == stack.pairs[0]
        for scheme in ("learned", "leverage"):
            assert learning._best(scheme_named(scheme), climb_to(Matern(), stack=stack)) == (Matern(), NOISE)
        found, told = learning._averaged(task, scheme_named("learned"), climb_to(Matern(), stack=stack))
        assert found.pairs == [(Matern(), NOISE)] and "learned once" in str(told)
    assert learning._best(EXACT, (two, ())) == two.pairs[0]


def test_many_rows_that_say_little_are_averaged_as_few_are():
    task = task_of(Poisson(), n=limits.MAX_AVERAGING_ROWS)
    open_ended = replace(search(quadratic((0.2,), steepness=20.0)), prior=True)
    climb = Climb(open_ended, Tuned(Matern(0.2), NOISE, 0.0, 1, ()), ())
    found, told = learning._averaged(task, EXACT, climb)
    assert len(found.mass) > 1 and "say as much as fewer than" in str(told)
    for settled in (
        replace(climb, search=search(quadratic((0.2,)))),
        replace(climb, tuned=replace(climb.tuned, value=-1e300)),
    ):
        found, told = learning._averaged(task, EXACT, settled)
        assert len(found.mass) == 1 and told.value == 1


def test_no_noise_to_speak_of_is_an_answer():
    """At its lower bound the noise is told to be absent, and no hyperparameter is said to be stuck."""
    task = task_of(n=limits.MAX_AVERAGING_ROWS)
    for share, told in ((0.1, False), (10.0, True)):
        noise = limits.NO_OWN_EFFECT * task.scale.variance / share
        tuned = Tuned(Matern(), noise, 0.0, 1, ("length_scale", "noise_variance"))
        learned = learning._learned(task, EXACT, Climb(search(quadratic((0.2,))), tuned, ()))
        assert ("noise_variance" not in learned.at_bounds) == told and "length_scale" in learned.at_bounds
        assert any("none to speak of" in str(choice) for choice in learned.choices) == told


# ---------------------------------------------------------------------------------------------------- held-out blocks


@pytest.mark.parametrize("better", [True, False])
def test_held_out_rows_choose_only_what_they_find_better(monkeypatch, better):
    """The score is climbed from the best evidence, and where that gains nothing it stays."""
    start = Matern(0.3)

    def score(kernel, noise_variance):
        off = kernel.theta - np.log([0.2, 1.0]) if better else kernel.theta - start.theta
        return -float(off @ off) - np.log(noise_variance / NOISE) ** 2

    monkeypatch.setattr(learning, "fold_score", lambda *_: (score, "CRPS", 4))
    found = learning._by_folds(task_of(), EXACT, climb_to(start, stack=Average.single(start, NOISE)))
    assert_allclose(found.tuned.kernel.length_scale, 0.2 if better else 0.3, rtol=1e-2)
    assert found.stack is None and "CRPS of 4 held-out blocks" in str(found.choices[-1])
    assert score(found.tuned.kernel, found.tuned.noise_variance) >= score(start, NOISE) - 1e-9


# ------------------------------------------------------------------------------------------------- near and far


@pytest.mark.parametrize(
    ("gain", "taken"), [(limits.WORTH_SUM - 0.5, False), (limits.WORTH_SUM + 0.5, True), (-1.0, False)]
)
def test_a_near_and_a_far_field_must_be_worth_their_parameters(gain, taken):
    """An objective that is flat but for what a sum gains."""

    def objective(kernel, noise_variance):
        noise = np.log(noise_variance / NOISE)
        pull = 1e-3 * kernel.theta @ kernel.theta if isinstance(kernel, Sum) else 0.0
        slope = -2e-3 * kernel.theta if isinstance(kernel, Sum) else 0 * kernel.theta
        return float(gain * isinstance(kernel, Sum) - pull - noise**2), np.r_[slope, -2 * noise]

    task, first = task_of(Poisson()), Tuned(Matern(0.3), NOISE, 0.0, 1, ())
    found = laplace_climb._near_and_far(task, objective, first, None)
    assert (found is not None) == taken
    if found is not None:
        short, long = sorted(k.length_scale for k in found.tuned.kernel.leaves())
        assert short < long and "sum of two scales" in str(found.choices[0].value)
        assert {k.nu for k in found.tuned.kernel.leaves()} == {min(limits.SELECTED_SMOOTHNESS)}


# ----------------------------------------------------------------------------------------------------- rare cases


def presence(n: int, n_cases: int, link: str = "logit", size: float = 1.0) -> Responses:
    rng = np.random.default_rng(1)
    y = np.zeros(n)
    y[:n_cases] = 1.0
    one, zero = np.ones(n), np.zeros(n)
    rows = Rows(rng.uniform(size=(n, 2)), one[:, None])
    return Responses(Binomial(link=link), rows, rng.permutation(y), size * one, zero, one, zero)


@pytest.mark.parametrize("inverted", [False, True])
def test_rare_rows_are_all_kept_and_the_odds_set_right(monkeypatch, inverted):
    """Of many others a sample: with its offset, odds without covariates are those of all rows."""
    monkeypatch.setattr(limits, "MAX_LAPLACE_GRID_ROWS", 60)
    given = presence(800, 20)
    given = replace(given, y=1 - given.y) if inverted else given
    part = rare_cases.cases_and_others(given, 0)
    rare = 1 - part.y if inverted else part.y
    assert len(part) == 60 and rare.sum() == 20
    level = float(part.offset[0] - rare_cases.with_shared_trend(given).offset[0])
    assert_allclose(level, np.log(780 / 40) * (-1 if inverted else 1))
    # the maximum of the likelihood of all rows: odds of 20 to 780
    sampled_odds, all_odds = np.log(20 / 40), np.log(20 / 780)
    sign = -1 if inverted else 1
    assert_allclose(sign * sampled_odds - level, sign * all_odds)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (presence(800, 31), "more cases than half a grid"),
        (presence(800, 0), "no case"),
        (presence(60, 20), "few rows"),
        (presence(800, 20, link="probit"), "another link"),
        (presence(800, 20, size=3.0), "several trials"),
    ],
)
def test_rows_that_are_not_rare_presence_are_left_alone(monkeypatch, given, why):
    monkeypatch.setattr(limits, "MAX_LAPLACE_GRID_ROWS", 60)
    assert rare_cases.cases_and_others(given, 0) is None, why
    assert rare_cases.cases_and_others(presence(800, 30), 0) is not None


# ------------------------------------------------------------------------------------------------------- the search


def test_axes_that_share_a_scale_move_together():
    """Three chord axes and a time: two length scales are learned, and equal ones stay equal."""
    looked = Search(quadratic((0.2, 0.4, 0.1, 2.0)), replace(SCALE, extent=np.ones(4)), None, shared=(0, 0, 0, 1))
    assert looked.n_scales(4) == 2 and search(quadratic((0.2,))).n_scales(2) == 2
    assert replace(looked, shared=None).n_scales(4) == 4
    lengths = looked.maximise(Matern((0.5,) * 4), 0.1).kernel.length_scale
    assert lengths[0] == lengths[1] == lengths[2]
    assert_allclose(lengths, np.r_[np.full(3, np.cbrt(0.2 * 0.4 * 0.1)), 2.0], rtol=1e-2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
def test_what_cannot_be_computed_is_very_bad_and_moves_nothing(bad):
    def objective(kernel, noise_variance):
        if bad is None:
            raise np.linalg.LinAlgError
        return bad, np.zeros(len(kernel.theta) + 1)

    looked = search(objective)
    value, gradient = looked.evaluate(Matern(), 0.1)
    assert value == limits.FAILED_SEARCH and not gradient.any() and len(gradient) == 3
    assert looked.rank(Matern(), 0.1) == limits.FAILED_SEARCH
    assert looked.maximise(Matern(0.3), 0.1).failed

    def slopeless(kernel, noise_variance):
        return 0.0, np.full(len(kernel.theta) + 1, np.nan)

    assert search(slopeless).evaluate(Matern(), 0.1)[0] == limits.FAILED_SEARCH


def test_a_climb_goes_no_further_than_it_may():
    near = replace(search(quadratic((5.0, 5.0))), reach=0.5)
    found = near.maximise(Matern(0.2), NOISE)
    assert_allclose(found.kernel.length_scale, 0.2 * np.exp(0.5), rtol=1e-3)
    assert found.at_bounds == ()  # the reach is no bound
    assert search(quadratic((0.2, 0.2)), noise_variance=0.5).maximise(Matern(0.2), 0.5).noise_variance == 0.5


def test_a_domain_of_its_own_is_what_a_task_is_for():
    assert Domain(predict_at=np.ones((1, 2)), likely=np.zeros((1, 2))).wanted.sum() == 2
    assert Domain(likely=np.zeros((1, 2))).wanted.sum() == 0 and Domain().wanted is None


def test_weights_of_outliers_need_some_noise():
    """Student rows without noise of their own: the family's is taken, so that outliers are not followed."""
    from bochner.inference.tuning.reweighting import first_weights, gaussian_task

    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    y[:3] = 30.0
    task = task_of(Student(dispersion=0.3, dof=4.0), y=y, noise_variance=0.0)
    now = first_weights(task.responses)
    gaussian = gaussian_task(task, now)
    assert gaussian.settings.noise_variance == 0.3 and gaussian.responses.gaussian
    assert np.all(now.relative <= 1) and now.relative[:3].max() < 0.2 and np.median(now.relative) == 1
    assert_allclose(gaussian.responses.weight.sum(), 40)
    given = gaussian_task(replace(task, settings=Settings(noise_variance=0.7)), now)
    assert given.settings.noise_variance == 0.7
