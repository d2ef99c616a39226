"""Blocks: labels, sizes, and folds that never split one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from bochner.exceptions import InputError
from bochner.validation import BlockKFold, blocks_of

every_dimension = pytest.mark.parametrize("dim", [1, 2, 3])


@every_dimension
@pytest.mark.parametrize("origin", [None, 0.0])
def test_blocks_are_no_wider_than_their_side(dim: int, origin: float | None, rng: np.random.Generator) -> None:
    coords, side = rng.normal(size=(500, dim)), np.linspace(0.3, 0.9, dim)
    blocks = blocks_of(coords, side, origin)
    assert_array_equal(np.unique(blocks), np.arange(blocks.max() + 1))
    for block in range(blocks.max() + 1):
        assert (np.ptp(coords[blocks == block], axis=0) <= side).all()


def test_blocks_from_an_origin_are_floors() -> None:
    coords = np.array([[-0.1, 0.1], [0.1, 0.1], [0.9, 0.9], [1.0, 0.0], [5.0, 5.0]])
    assert_array_equal(blocks_of(coords, 1.0, origin=[0.0, 0.0]), [0, 1, 1, 2, 3])


@pytest.mark.parametrize("side", [0.1, 0.3, 1 / 7, 5.0])
@pytest.mark.parametrize("n", [1, 4, 9])
def test_extent_of_whole_blocks_makes_no_sliver(side: float, n: int) -> None:
    coords = 1e3 + np.linspace(0, n * side, 20 * n + 1)
    assert blocks_of(coords, side).max() + 1 == n


@given(
    coords=arrays(
        np.float64,
        st.tuples(st.integers(5, 60), st.integers(1, 3)),
        elements=st.integers(-64_000, 64_000).map(lambda i: i / 64),
    ),
    n_splits=st.integers(2, 5),
    balance=st.booleans(),
    shuffle=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_folds_partition_rows_and_keep_blocks_whole(
    coords: np.ndarray, n_splits: int, balance: bool, shuffle: bool
) -> None:
    splitter = BlockKFold(n_splits, balance=balance, shuffle=shuffle)
    if len(np.unique(coords, axis=0)) < n_splits:
        with pytest.raises(InputError, match="place"):
            list(splitter.split(coords))
        return
    tests = [test for _, test in splitter.split(coords)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(coords)))
    blocks = blocks_of(coords, splitter.describe(coords).block_size)
    assert sum(len(np.unique(blocks[test])) for test in tests) == blocks.max() + 1


def test_places_that_no_block_can_part_count_as_one() -> None:
    coords = np.array([-1.0, 2.0, 7e-29, 0.0, 1.0])[:, None]
    with pytest.raises(InputError, match=r"4 place\(s\) that are more than 3e-12 apart"):
        list(BlockKFold(5).split(coords))
    assert len(list(BlockKFold(4).split(coords))) == 4


@every_dimension
@pytest.mark.parametrize("seed", range(5))
def test_balanced_folds_differ_by_one_block_at_most(dim: int, seed: int, rng: np.random.Generator) -> None:
    coords = rng.normal(size=(700, dim))
    splitter = BlockKFold(5, block_size=0.5, random_state=seed)
    largest = np.bincount(blocks_of(coords, 0.5)).max()
    assert np.ptp(splitter.describe(coords).n_test) <= largest


def test_unbalanced_folds_have_as_many_blocks(rng: np.random.Generator) -> None:
    coords = rng.normal(size=(700, 2))
    blocks = blocks_of(coords, 0.5)
    n_blocks = [len(np.unique(blocks[test])) for _, test in BlockKFold(5, block_size=0.5, balance=False).split(coords)]
    assert np.ptp(n_blocks) <= 1


@every_dimension
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
def test_chosen_blocks_are_several_per_fold(dim: int, stretch: float, rng: np.random.Generator) -> None:
    coords = rng.uniform(size=(5000, dim))
    coords[:, 0] *= stretch
    assert 30 <= BlockKFold(5).describe(coords).n_blocks <= 100


def test_chosen_blocks_hold_clustered_rows(rng: np.random.Generator) -> None:
    villages = np.repeat(rng.uniform(size=(8, 2)), 50, axis=0) * 1000
    coords = villages + rng.normal(size=villages.shape)
    assert BlockKFold(5).describe(coords).n_blocks >= 30


def test_shape_counts_blocks_along_each_axis(rng: np.random.Generator) -> None:
    summary = BlockKFold(2, shape=(3, 4)).describe(rng.uniform(size=(2000, 2)) * [3, 8])
    assert summary.n_blocks == 12
    assert_allclose(summary.block_size, (1, 2), rtol=0.02)
    assert str(summary).startswith("12 blocks of ")


def test_an_axis_without_extent_is_no_trouble() -> None:
    coords = np.column_stack([np.arange(50.0), np.full(50, 3.0)])
    assert BlockKFold(5).describe(coords).n_blocks >= 20
    assert BlockKFold(5, shape=(10, 1)).describe(coords).n_blocks == 10


@pytest.mark.parametrize(
    ("splitter", "coords", "hint"),
    [
        (BlockKFold(5), np.ones((10, 2)), "one place"),
        (BlockKFold(5), [[0.0], [1.0], [1.0]], "2 place"),
        (BlockKFold(5, block_size=9.0), np.arange(20.0), "make 3 block"),
        (BlockKFold(5, block_size=99.0), np.arange(20.0), r"larger than the extent.*block_size="),
        (BlockKFold(5, block_size=0.0), np.arange(20.0), "> 0"),
        (BlockKFold(5, block_size=[1.0, 2.0]), np.arange(20.0), "one for each of 1 axes"),
        (BlockKFold(5, shape=2.5), np.arange(20.0), "whole numbers"),
        (BlockKFold(5, shape=3), np.arange(20.0), "make 3 block"),
    ],
)
def test_impossible_blocks_are_refused_with_a_hint(splitter: BlockKFold, coords: np.ndarray, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        list(splitter.split(coords))


def test_size_and_shape_together_are_refused() -> None:
    with pytest.raises(InputError, match="keep one"):
        BlockKFold(block_size=1.0, shape=3)


@pytest.mark.parametrize("coords", [np.empty((0, 2)), np.empty((3, 0))])
def test_blocks_of_nothing_are_refused(coords: np.ndarray) -> None:
    with pytest.raises(InputError, match="at least one"):
        blocks_of(coords, 1.0)
