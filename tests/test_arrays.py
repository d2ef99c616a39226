"""Narrow tables are gone through as long rows: the same numbers, whatever the shape and the layout."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bochner.arrays import box_of, rowwise

TABLES = {
    "few rows": lambda rng: rng.normal(size=(3, 2)),
    "whole groups": lambda rng: rng.normal(size=(1_024, 2)),
    "and some more": lambda rng: rng.normal(size=(1_337, 3)),
    "one column": lambda rng: rng.normal(size=(1_337, 1)),
    "columns of a wider table": lambda rng: rng.normal(size=(1_337, 5))[:, 1:3],
    "by columns": lambda rng: np.asfortranarray(rng.normal(size=(1_337, 3))),
    "backwards": lambda rng: rng.normal(size=(1_337, 2))[::-1],
}


@pytest.mark.parametrize("name", TABLES)
def test_narrow_tables(name):
    rng = np.random.default_rng(0)
    table = TABLES[name](rng)
    row = rng.normal(size=table.shape[1])
    assert_array_equal(rowwise(np.subtract, table, row), table - row)
    assert_array_equal(rowwise(np.multiply, table, row), table * row)
    low, high = box_of(table)
    assert_array_equal(low, table.min(axis=0))
    assert_array_equal(high, table.max(axis=0))


def test_no_rows():
    assert rowwise(np.subtract, np.zeros((0, 2)), np.ones(2)).shape == (0, 2)
