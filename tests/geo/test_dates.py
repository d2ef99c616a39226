"""Dates as people write them: one order for a whole column, or a refusal that says what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bochner.exceptions import InputError
from bochner.geo.kinds import instants, is_time, misfits, order_of


def days(*entries: str) -> pd.Series:
    return pd.Series(entries, name="date", dtype=object)


@pytest.mark.parametrize(
    ("entries", "order", "read"),
    [
        (("2015-07-01", "2015-6-30"), "", ("2015-07-01", "2015-06-30")),
        (("2015/07/01", "2015-06"), "", ("2015-07-01", "2015-06-01")),
        (("01.07.2015", "02.08.2015"), "day first", ("2015-07-01", "2015-08-02")),
        (("01.07.15", "02.08.98"), "day first", ("2015-07-01", "1998-08-02")),
        (("01/07/2015", "25/06/2015"), "day first", ("2015-07-01", "2015-06-25")),
        (("01/07/15", "06/25/15"), "month first", ("2015-01-07", "2015-06-25")),
        (("01-07-2015", "25-06-2015"), "day first", ("2015-07-01", "2015-06-25")),
        (("01/07/2015", "2015-06-25", "13/07/2015"), "day first", ("2015-07-01", "2015-06-25", "2015-07-13")),
        (("02-Sep-2015", "Oct 3, 2015"), "", ("2015-09-02", "2015-10-03")),
        (("01/01/2015", "02/02/2015"), "", ("2015-01-01", "2015-02-02")),
        (("6/30/2015 3:15 PM", "7/1/2015 12:05 AM"), "month first", ("2015-06-30T15:15", "2015-07-01T00:05")),
    ],
)
def test_one_order_is_found_for_the_whole_column(entries, order, read):
    column = days(*entries)
    assert is_time(column) and order_of(column, "date") == order
    np.testing.assert_array_equal(instants(column, "date"), np.array(read, dtype="datetime64[ns]"))


def test_dates_of_either_order_are_refused_unless_the_order_is_known():
    column = days("01/07/2015", "02/08/2015")
    with pytest.raises(InputError, match=r"'01/07/2015' is 1 July 2015 or 7 January 2015.*yyyy-mm-dd"):
        instants(column, "date")
    assert str(instants(column, "date", "day first")[0])[:10] == "2015-07-01"
    assert str(instants(column, "date", "month first")[0])[:10] == "2015-01-07"


def test_entries_among_dates_that_are_none_are_named():
    column = days("2015-07-01", "2015-07-02", "soon", None)
    assert is_time(column) and misfits(column).tolist() == [False, False, True, False]
    with pytest.raises(InputError, match=r"'date' is a column of dates, and 1 of 4 .*'soon' in row 3"):
        instants(column, "date")
    with pytest.raises(InputError, match=r"read day first, as the training rows are.*'06/25/2015' in row 1"):
        instants(days("06/25/2015"), "date", "day first")


@pytest.mark.parametrize("entries", [("2014-15", "2011-12"), ("12-05-03", "01-02-05"), ("1.5", "2.5"), ("a", "b")])
def test_what_only_resembles_dates_is_none(entries):
    assert not is_time(days(*entries))


def test_eight_digits_are_dates_by_the_name_of_their_column():
    numbers = [20150902, 20151021]
    assert is_time(pd.Series(numbers, name="sampleDate")) and is_time(pd.Series(numbers, name="day", dtype=float))
    assert not is_time(pd.Series(numbers, name="households"))
    assert not is_time(pd.Series([20150902, 20151340], name="date"))
    assert str(instants(pd.Series(numbers), "date")[1])[:10] == "2015-10-21"
