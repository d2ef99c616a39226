"""Which fields join a choice of kernels, and on which rows they are judged: by the domain, whatever its unit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bochner.families import Gaussian
from bochner.features import Rows
from bochner.inference import Domain, Responses, Settings
from bochner.inference.observed.task import Task
from bochner.inference.tuning import held_out_places, limits, many_dimensions, multiscale, single_field
from bochner.inference.tuning.search import Search, Tuned
from bochner.inference.tuning.stacking import Judged
from bochner.inference.tuning.sums import _share_of_order, _start
from bochner.kernels import Matern, Scale
from tests.inference.tuning.objectives import NOISE, quadratic

pytestmark = pytest.mark.every_case

NODES = np.argwhere(np.ones((13, 13), dtype=bool)).astype(float)
GAP = (NODES[:, 0] < 5) & (NODES[:, 1] < 6)


def task_of(coords: np.ndarray, domain: Domain, n_groups: int = 0) -> Task:
    n = len(coords)
    one, zero = np.ones(n), np.zeros(n)
    y = np.sin(coords[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(n)
    if n_groups:
        domain = replace(domain, groups=np.arange(n) % n_groups)
    return Task.of(Settings(), Responses(Gaussian(), Rows(coords, one[:, None]), y, one, zero, one, zero), None, domain)


# --------------------------------------------------------------------------------------------- who is a candidate


@pytest.mark.parametrize(
    ("told", "n_axes", "most_exact", "stacked"),
    [
        ({}, 2, 50, True),
        ({}, 2, 500, False),  # few rows have an evidence that can be trusted
        ({"groups": np.arange(139)}, 2, 50, False),
        ({"shared": (0, 0)}, 2, 50, False),
        ({"last_is_time": True}, 2, 50, False),
        ({}, 1, 50, False),
        ({}, 4, 50, False),
    ],
)
def test_kernels_are_stacked_in_gaps_of_space_alone(monkeypatch, told, n_axes, most_exact, stacked):
    monkeypatch.setattr(limits, "MAX_EXACT_TUNING_ROWS", most_exact)
    rows, wanted = NODES[~GAP], NODES[GAP]
    if n_axes == 1:
        rows, wanted = rows[:, :1] + rows[:, 1:] / 13, wanted[:, :1] + wanted[:, 1:] / 13
    if n_axes == 4:
        rows, wanted = (np.column_stack([part, np.zeros((len(part), 2))]) for part in (rows, wanted))
    task = task_of(rows, Domain(predict_at=wanted, **told))
    assert multiscale._may_be_stacked(task, task.responses.observations(), wanted) == stacked
    between = rows[:-1] / 2 + rows[1:] / 2
    assert not multiscale._may_be_stacked(task, task.responses.observations(), between)


@pytest.mark.parametrize("last_is_time", [False, True])
def test_a_time_asks_for_products_of_space_and_time(monkeypatch, last_is_time):
    single, product = Tuned(Matern(0.3), 0.01, 0.0, 1, ()), Tuned(Matern(0.9), 0.01, 0.0, 1, ())
    monkeypatch.setattr(multiscale, "single_field", lambda coarse, fine, task: (single, None))
    monkeypatch.setattr(multiscale, "fit_sum", lambda *_: (None, 0.0))
    monkeypatch.setattr(multiscale, "space_time_fields", lambda *_: [("a product of space and time", product)])
    task = task_of(np.random.default_rng(0).uniform(size=(60, 2)), Domain(last_is_time=last_is_time))
    looked = Search(quadratic((0.3,)), task.scale, None)
    _, told, _ = multiscale.select_multiscale(looked, looked, task)
    assert ("a product of space and time" in str(told)) == last_is_time


@pytest.mark.parametrize("extent", [(1.0,), (1.0, 1.0), (2.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0)])
def test_sides_alike_are_one_plane_which_may_be_stretched_any_way(extent):
    """In space depth may have a length scale of its own, too."""
    kernel, sides = Matern(0.2, 1.7, nu=0.8, learn_nu=True), np.array(extent)
    found = single_field._wider(kernel, sides)
    own, turned = ([k for k in found if (k.rotation is None) == straight] for straight in (True, False))
    assert len(turned) == (len(sides) > 1)
    assert len(own) == (len(limits.AXIS_STARTS) if len(sides) == 3 else 0)
    for k in found:
        assert (k.variance, k.nu, k.learn_nu) == (1.7, 0.8, True)
    for k, share in zip(own, limits.AXIS_STARTS, strict=False):
        assert_allclose(k.length_scale, share * sides)
    for k in turned:
        assert np.ptp(k.length_scale) > 0 and np.all(np.atleast_1d(k.rotation) != 0)  # there is a direction to follow
        assert_allclose(np.exp(np.mean(np.log(k.length_scale))), 0.2)
        assert single_field.stretch(k) < 2


@pytest.mark.parametrize(
    ("lengths", "shared", "there"),
    [
        ((0.3, 0.3, 0.02), (0, 0, 1), True),
        ((0.3, 0.3, 0.28), (0, 0, 1), False),
        ((0.3, 0.3, 0.02), None, False),
        ((0.3, 0.3, 0.3, 0.02), (0, 0, 0, 1), False),
    ],
)
def test_the_axis_of_the_earth_has_a_length_of_its_own_where_it_gains(lengths, shared, there):
    """Asked of chord coordinates alone, and more than two nats must be gained."""
    dim = len(lengths)
    fine = Search(quadratic(lengths), Scale(np.ones(dim), 0.02, 1.0), None, shared=shared)
    single = fine.maximise(Matern(0.2), NOISE)
    found = single_field.axial_field(single, fine)
    assert (found is not None) == there
    if found is not None:
        assert_allclose(found.kernel.length_scale, lengths, rtol=0.05)
    assert single_field.axial_field(replace(single, kernel=Matern((0.2,) * dim)), fine) is None


@pytest.mark.parametrize(
    ("lengths", "taken"),
    [
        ((1.0, 1.0), 1.0),
        ((3.0, 1.0), 3**0.5),
        ((20.0, 1.0), (200**0.5, 2**0.5)),  # in the ratio of the sides
        ((90.0, 0.5), (90.0, 0.5)),
    ],
)
def test_one_field_is_taken_as_wide_as_it_gains(lengths, taken):
    """Along sides that differ: equal lengths, or as the sides; others must gain two nats; smoothness is learned."""
    targets = np.log(lengths)

    def objective(kernel, noise_variance):
        along = np.log(np.ones(2) * np.array(kernel.length_scale)) - targets
        rest = np.r_[np.log(kernel.variance), np.log(kernel.nu / 0.8) * kernel.learn_nu]
        noise = np.log(noise_variance / NOISE)
        slopes = -2 * (along if isinstance(kernel.length_scale, tuple) else np.array([along.sum()]))
        gradient = np.r_[slopes, -2 * rest[: 1 + kernel.learn_nu], -2 * noise]
        return float(-along @ along - rest @ rest - noise**2), gradient

    looked = Search(objective, Scale(np.array([10.0, 1.0]), 0.02, 1.0), None)
    found, far = single_field._single(looked, looked, lambda tuned: tuned.value)
    assert far is None
    assert isinstance(found.kernel.length_scale, tuple) == isinstance(taken, tuple)
    assert_allclose(found.kernel.length_scale, taken, rtol=0.1)
    assert found.kernel.nu == pytest.approx(0.8, rel=0.05) and found.noise_variance == pytest.approx(NOISE, rel=0.05)


@pytest.mark.parametrize(
    ("wrong", "kept"), [((1.0, 1.2, 0.9), [0, 1, 2]), ((1.0, 3.0, 0.2), [0]), ((4.0, 5.0), [0, 1])]
)
def test_kernels_whose_variances_are_far_off_are_not_believed(wrong, kept):
    """Errors that are so many times what each says of them; where all are far off, all stay."""
    rng = np.random.default_rng(0)
    errors = rng.standard_normal(2_000)
    sds = np.array([1 / w for w in wrong])[:, None] * np.ones(2_000)
    judged = Judged(errors, np.zeros_like(sds), sds, np.ones(2_000), np.arange(2_000))
    assert_array_equal(multiscale._credible(judged), kept)


# --------------------------------------------------------------------------------------- on which rows it is judged


def test_wanted_places_are_those_asked_for_or_all_over_the_box(monkeypatch):
    monkeypatch.setattr(limits, "MAX_WANTED_PLACES", 400)
    coords = np.random.default_rng(1).uniform((-2.0, 5.0), (3.0, 6.0), size=(300, 2))
    obs = task_of(coords, Domain()).responses.observations()
    spread = held_out_places.wanted_places(obs, Domain(), 0)
    assert 100 <= len(spread) <= 400
    low, high = coords.min(axis=0), coords.max(axis=0)
    assert np.all((spread >= low) & (spread <= high))
    assert np.all(np.ptp(spread, axis=0) > 0.95 * (high - low))
    asked = np.random.default_rng(2).uniform(size=(390, 2))
    assert_array_equal(held_out_places.wanted_places(obs, Domain(predict_at=asked), 0), asked)
    many = np.random.default_rng(2).uniform(size=(1_000, 2))
    some = held_out_places.wanted_places(obs, Domain(likely=many), 0)
    assert len(np.unique(some, axis=0)) == 400 and {tuple(p) for p in some} <= {tuple(p) for p in many}


@pytest.mark.parametrize(("full", "n_places"), [(True, 169), (False, int(GAP.sum()))])
def test_an_image_is_wanted_where_it_is_empty_and_everywhere_if_it_is_full(full, n_places):
    rows = NODES if full else NODES[~GAP]
    assert len(held_out_places._everywhere(rows, np.random.default_rng(0))) == n_places


@pytest.mark.parametrize("n_groups", [5, 12, 40])
def test_rows_of_a_group_are_held_out_together(monkeypatch, n_groups):
    """Of few groups each is held out once; of many, some tenths."""
    monkeypatch.setattr(limits, "MANY_GROUPS", 30)
    coords = np.random.default_rng(3).uniform(size=(120, 2))
    task = task_of(coords, Domain(), n_groups)
    folds = held_out_places.task_folds(task.responses.observations(), task.domain, 0)
    held = []
    for train, test in folds:
        groups = task.domain.groups
        assert not np.intersect1d(groups[train], groups[test]).size
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(120))
        held.append(np.unique(groups[test]))
    counts = np.bincount(np.concatenate(held), minlength=n_groups)
    assert counts.max() == 1
    assert len(folds) == (limits.N_GAP_FOLDS if n_groups >= 30 else min(10, n_groups))
    assert counts.all() or n_groups >= 30
    assert max(map(len, held)) - min(map(len, held)) <= 1


def test_too_few_groups_are_cut_as_rows_are():
    coords = np.random.default_rng(3).uniform(size=(120, 2))
    task = task_of(coords, Domain(), limits.LEAST_GROUPS - 1)
    plain = task_of(coords, Domain())
    for (_, one), (_, other) in zip(
        *(held_out_places.task_folds(t.responses.observations(), t.domain, 0) for t in (task, plain)), strict=True
    ):
        assert_array_equal(one, other)


def test_places_without_a_shape_hold_out_single_rows():
    """Rows at one place have no gaps between them: tenths of the rows are held out, each row at most once."""
    task = task_of(np.ones((90, 2)), Domain(predict_at=np.ones((1, 2))))
    folds = held_out_places.task_folds(task.responses.observations(), task.domain, 0)
    assert len(folds) == limits.N_GAP_FOLDS
    held = np.concatenate([test for _, test in folds])
    assert len(np.unique(held)) == len(held) == 9 * limits.N_GAP_FOLDS
    for train, test in folds:
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(90))


@pytest.mark.parametrize("unit", [1 / 3, 1e3])
def test_gaps_of_an_image_are_the_same_in_every_unit(unit):
    folds = []
    for size in (1.0, unit):
        task = task_of(size * NODES[~GAP], Domain(predict_at=size * NODES[GAP]))
        assert task.grid is not None
        folds.append(held_out_places.task_folds(task.responses.observations(), task.domain, 0, task.grid))
    for (_, one), (_, other) in zip(*folds, strict=True):
        assert_array_equal(one, other)


def test_predecessors_lie_as_far_as_wanted_places_from_data():
    """Held out at random: as near as rows lie to each other, all rows are taken. In a wide gap: few of them."""
    gap = np.abs(NODES - 6).max(axis=1) <= 4
    shares = [
        _share_of_order(NODES, [(np.flatnonzero(~test), np.flatnonzero(test))])
        for test in (np.arange(169) % 7 == 0, gap)
    ]
    assert shares[0] == 1.0
    # rows of the gap are 1 to 5 nodes from its rim, most of them 2 or less: (2 / 2) ** 2 at the median
    away = np.median([min(5 - abs(p - 6).max(), 5) for p in NODES[gap]])
    assert_allclose(shares[1], min(1.0, (2 / away) ** 2))


def test_a_sum_starts_with_the_variance_of_the_single_field():
    start = _start(SimpleNamespace(kernel=Matern(0.3, 2.5)), 10.0, 0.2, 1.0, 0.5)
    fields = list(start.leaves())
    assert [f.length_scale for f in fields] == [0.2, 1.0, 5.0]
    assert_allclose(sum(f.variance for f in fields), 2.5 * sum(limits.SUM_SHARES))


# ------------------------------------------------------------------------------------------------- many dimensions


@pytest.mark.parametrize("n", [11, 100, 20_000])
def test_held_out_rows_are_a_part_of_all(n):
    train, test = many_dimensions._fold(n, 0)
    assert len(test) == min(limits.ARD_HELD_OUT, n // 5)
    assert_array_equal(np.sort(np.r_[train, test]), np.arange(n))
    assert not np.array_equal(test, np.arange(len(test)))  # drawn, not the first


def test_a_sample_has_as_many_rows_as_it_may(monkeypatch):
    obs = task_of(np.random.default_rng(0).uniform(size=(40, 5)), Domain()).obs
    assert len(many_dimensions._sample(obs, 40, 0)) == len(many_dimensions._sample(obs, 41, 0)) == 40
    some = many_dimensions._sample(obs, 25, 0)
    assert len(np.unique(some.rows.coords, axis=0)) == 25
    assert {tuple(p) for p in some.rows.coords} <= {tuple(p) for p in obs.rows.coords}


@pytest.mark.parametrize("sides", [(1.0, 1.0, 1.0, 1.0), (1.0, 50.0, 1.0, 0.2)])
def test_every_axis_finds_its_own_length(sides):
    """Whatever unit an axis has, and the smoothness that the objective likes."""
    lengths = np.array([0.3, 2.0, 0.5, 1.0]) * np.array(sides)
    for liked in (0.5, 1.5, 2.5):
        objective = quadratic(lengths, lambda kernel, nu=liked: 3.0 * (kernel.nu == nu))
        coarse = Search(objective, Scale(np.array(sides), 0.02, 1.0), None)
        kernel, noise = many_dimensions._scales(coarse, 4)
        assert kernel.nu == liked
        assert_allclose(kernel.length_scale, lengths, rtol=0.1)
        assert noise == pytest.approx(NOISE, rel=0.1)


@pytest.mark.parametrize("dim", [limits.TREES_DIMENSIONS - 1, limits.TREES_DIMENSIONS])
def test_trees_are_compared_in_many_dimensions(dim):
    """On the rows held out: a step is theirs, and the value is their error in ours."""
    rng = np.random.default_rng(5)
    task = task_of(rng.uniform(size=(300, dim)), Domain())
    y = np.where(task.obs.rows.coords[:, 0] > 0.5, 1.0, -1.0)
    task = replace(task, obs=replace(task.obs, y=y))
    fold = many_dimensions._fold(300, 0)
    ours = y[fold[1]] + 0.5
    told = many_dimensions._against_trees(task, fold, y[fold[1]], ours)
    assert len(told) == (dim >= limits.TREES_DIMENSIONS)
    for choice in told:
        assert choice.value < 0.6 and "this field with 0.5" in str(choice) and "60 held-out rows" in str(choice)


def test_rows_along_a_line_are_wanted_along_it():
    """Next to nothing of their box is among them; in a plane that they fill all of it is wanted, whatever the unit."""
    rng = np.random.default_rng(0)
    along = rng.uniform(size=(600, 1)) * np.array([[1_000.0, 3_000.0]])
    wanted = held_out_places._everywhere(along, rng)
    assert len(wanted) > 300
    assert np.max(np.abs(3 * wanted[:, 0] - wanted[:, 1])) < 0.1 * 3_000
    filled = rng.uniform(size=(600, 2)) * np.array([1_000.0, 3_000.0])
    filled[filled[:, 0] > 400, 1] *= 0.5  # a corner without rows is wanted, too
    wanted = held_out_places._everywhere(filled, rng)
    assert np.mean((wanted[:, 0] > 500) & (wanted[:, 1] > 1_800)) > 0.1


def test_a_grid_that_is_mostly_empty_is_a_region_and_no_image():
    nodes = np.argwhere(np.ones((40, 40), dtype=bool)).astype(float)
    band = nodes[np.abs(nodes[:, 0] - nodes[:, 1]) < 5]
    wanted = held_out_places._everywhere(band, np.random.default_rng(0))
    assert np.max(np.abs(wanted[:, 0] - wanted[:, 1])) < 10
    image = nodes[np.abs(nodes[:, 0] - nodes[:, 1]) < 15]
    wanted = held_out_places._everywhere(image, np.random.default_rng(0))
    assert len(wanted) == len(nodes) - len(image)
