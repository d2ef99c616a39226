"""What is wrong with a source is told with the name of the file; what was computed before is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor, estimate_fit
from bochner.exceptions import ColumnError, InputError, MemoryLimitError, PartError
from bochner.sources import ArraySource, Batches

from .conftest import FIXED, write_parts


def fit(data: object, **given: object) -> SpatialRegressor:
    return SpatialRegressor(**FIXED, coords=["x", "y"]).fit(data, target="z", **given)


def test_a_generator_is_refused_with_what_to_pass(table: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="a function that makes a new one"):
        fit(part for part in [table])


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"the folder {tmp_path} has no file"):
        fit(str(tmp_path))


def test_a_file_of_another_schema_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    table.rename(columns={"z": "other"}).to_parquet(folder / "part-3.parquet")
    with pytest.raises(InputError, match=r"part-3\.parquet has no column 'z'"):
        fit(str(folder))


def test_a_file_of_another_type_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    table.assign(z="warm").to_parquet(folder / "part-3.parquet")
    with pytest.raises(InputError, match=r"part-3\.parquet holds .* in column 'z'"):
        fit(str(folder))


@pytest.mark.parametrize("kept", [0.4, 0.98])
def test_a_truncated_file_is_named(table: pd.DataFrame, tmp_path: Path, kept: float) -> None:
    folder = write_parts(table, tmp_path / "rows")
    path = folder / "part-2.parquet"
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(InputError, match=r"part-2\.parquet cannot be read"):
        fit(str(folder))


def test_damage_inside_a_file_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    """The footer is whole, the rows before it are not."""
    folder = write_parts(table, tmp_path / "rows")
    path = folder / "part-2.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"part-2\.parquet, row group 0.* cannot be read"):
        fit(str(folder))


def test_a_part_of_missing_rows_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    table.iloc[:100].assign(z=np.nan).to_parquet(folder / "part-4.parquet")
    with pytest.raises(InputError, match=r"every row of .*part-4\.parquet.* has a missing value, 'z'"):
        fit(str(folder))


def test_some_missing_rows_are_left_out_and_counted(table: pd.DataFrame) -> None:
    frame = table.copy()
    frame.loc[::4, "z"] = np.nan
    model = fit(ArraySource({n: frame[n].to_numpy() for n in frame}, part_rows=500))
    assert "500 with a missing value are left out" in model.choices_["rows"]


def test_a_source_that_changes_between_passes_is_named(table: pd.DataFrame) -> None:
    """The second time that its batches begin, one value is another."""
    begun = []

    def batches() -> list[pd.DataFrame]:
        begun.append(1)
        changed = table.copy()
        if len(begun) > 2:  # the first time is to see the names
            changed.loc[1_500, "z"] += 1
        return [changed.iloc[i : i + 500] for i in range(0, 2_000, 500)]

    with pytest.raises(InputError, match="batch 3 of the batches changed between two passes"):
        fit(batches)


def test_a_source_that_shrinks_tells_by_how_much(table: pd.DataFrame) -> None:
    begun = []

    def batches() -> list[pd.DataFrame]:
        begun.append(1)
        return [table.iloc[:1_000], table.iloc[1_000 : 2_000 if len(begun) < 3 else 1_900]]

    with pytest.raises(InputError, match=r"batch 1 .*had 1,000 rows, and has 900 now"):
        fit(batches)


def test_columns_that_are_not_there_are_told(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    with pytest.raises(ColumnError, match="did you mean 'height'"):
        SpatialRegressor(coords=["x", "y"], covariates=["heigth"]).fit(str(folder), target="z")
    with pytest.raises(InputError, match="name the column"):
        SpatialRegressor().fit(str(folder))
    with pytest.raises(InputError, match="needed is the name of its column"):
        fit(str(folder), offset=np.zeros(2_000))


def test_what_cannot_be_summed_is_refused(table: pd.DataFrame) -> None:
    source = Batches([table])
    with pytest.raises(PartError, match="features='exact'"):
        SpatialRegressor(features="exact").fit(source, target="z")
    with pytest.raises(PartError, match="learns a weight of each row"):
        SpatialRegressor(family="student").fit(source, target="z")
    with pytest.raises(InputError, match="it is for sources"):
        SpatialRegressor().fit(table[["x", "y"]], table["z"], checkpoint="here")


def test_an_estimate_comes_before_the_work(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    found = estimate_fit(str(folder), target="z", n_frequencies=100, coords=["x", "y"])
    assert (found.n_rows, found.passes, found.n_columns) == (2_000, 2, 200)
    assert "2,000 rows in" in str(found) and found.seconds > 0
    counts = estimate_fit(str(folder), target="count", family="poisson", coords=["x", "y"])
    assert counts.passes > 2


def test_more_than_the_limit_is_refused_with_what_to_change(table: pd.DataFrame, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "rows")
    with pytest.raises(MemoryLimitError, match=r"take fewer waves \(n_frequencies\)"):
        estimate_fit(str(folder), target="z", n_frequencies=2_000, memory_limit="50MB", coords=["x", "y"])
