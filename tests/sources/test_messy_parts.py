"""CSV as people write it, read in parts: as in one table, and what is amiss is named by file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner import SpatialRegressor, like
from bochner.exceptions import InputError
from bochner.geo.tables import read_table
from bochner.sources import Reading, Source, Wanted
from bochner.sources.csv_source import CsvSource
from bochner.sources.opening import open_source

from .conftest import FIXED

PLACES = {"coords": ["x", "y"]}


@pytest.fixture(scope="module")
def clean() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(400, 2)).round(6), columns=["x", "y"])
    frame["höhe"] = (3_000 * rng.uniform(size=400)).round(2)
    frame["z"] = np.sin(6 * frame.x).round(4)
    frame["land"] = np.where(frame.x > 0.5, "forêt", "pré")
    return frame


def decimal_commas(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, sep=";", decimal=",")


def thousands(frame: pd.DataFrame) -> str:
    """1.234,56 in one column, among quotes."""
    text = frame["höhe"].map(lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")))
    return frame.assign(höhe=text).to_csv(index=False, sep="\t", decimal=",")


WRITTEN = {
    "plain": (lambda f: f.to_csv(index=False), "utf-8"),
    "byte order mark": (lambda f: f.to_csv(index=False), "utf-8-sig"),
    "windows": (lambda f: f.to_csv(index=False, lineterminator="\r\n"), "cp1252"),
    "utf-16": (lambda f: f.to_csv(index=False, sep="\t"), "utf-16"),
    "utf-16 without a mark": (lambda f: f.to_csv(index=False), "utf-16-le"),
    "decimal commas": (decimal_commas, "cp1252"),
    "commas in quotes": (lambda f: f.to_csv(index=False, decimal=","), "utf-8"),
    "thousands": (thousands, "utf-8"),
    "empty lines": (lambda f: f.to_csv(index=False).replace("\n", "\n\n"), "utf-8"),
    "words for missing": (
        lambda f: f.assign(z=f.z.astype(object).where(f.x < 0.9, "n.d.")).to_csv(index=False),
        "utf-8",
    ),
}


def columns_of(source: Source) -> pd.DataFrame:
    names = source.names
    return pd.concat([pd.DataFrame(reading.columns) for reading in source.read(names)], ignore_index=True)


def same(found: pd.DataFrame, clean: pd.DataFrame) -> bool:
    return all(list(found[name]) == list(clean[name]) for name in clean)


@pytest.mark.parametrize("how", WRITTEN)
def test_parts_are_read_as_one_table_is(how: str, clean: pd.DataFrame, tmp_path: Path) -> None:
    write, encoding = WRITTEN[how]
    path = tmp_path / "rows.csv"
    path.write_bytes(write(clean).encode(encoding))
    whole = read_table(path).arrow.to_pandas()
    source = CsvSource([path], str(path), part_bytes=5_001)
    assert len(source.parts) > 2
    found = columns_of(source)
    assert list(found) == list(clean) == list(whole)
    for name in clean:
        assert (found[name].dtype == float) == (name != "land")
        assert found[name].isna().equals(whole[name].isna())
        assert (found[name] == whole[name]).mean() >= 0.85 and (found[name].dropna() == whole[name].dropna()).all()
    if how != "words for missing":
        assert same(found, clean)


def test_files_may_differ_in_order_and_dialect_but_not_in_columns(clean: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(clean.iloc[:200].to_csv(index=False))
    (tmp_path / "b.csv").write_bytes(decimal_commas(clean.iloc[200:][["z", "y", "x", "land", "höhe"]]).encode("cp1252"))
    found = columns_of(open_source(tmp_path))
    assert same(found, clean)
    (tmp_path / "c.csv").write_text("x,y,height\n1,2,3\n")
    with pytest.raises(InputError, match=r"c\.csv has columns \['x', 'y', 'height'\]"):
        columns_of(open_source(tmp_path))


def spoilt(clean: pd.DataFrame, path: Path) -> Path:
    """Line 152 has text for a number, line 302 two fields too few; an empty line stands before the last ones."""
    lines = clean.to_csv(index=False).splitlines()
    fields = lines[151].split(",")
    lines[151] = ",".join([*fields[:3], "broken", fields[4]])
    lines[301] = "0.5,0.5,1"
    lines.insert(350, "")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_rows_amiss_are_named_by_file_and_line(clean: pd.DataFrame, tmp_path: Path) -> None:
    path = spoilt(clean, tmp_path / "rows.csv")
    model = SpatialRegressor(**FIXED, **PLACES)
    with pytest.raises(InputError, match=r"rows\.csv has .* rows amiss .*line 152: z is 'broken'") as told:
        model.fit(CsvSource([path], str(path), part_bytes=4_000), target="z")
    assert "--drop-bad" in str(told.value)
    wanted = Wanted(("x", "y"), (), {"target": "z"})
    bad = 0
    for part in CsvSource([path], str(path), part_bytes=4_000).parts:
        try:
            wanted.usable(Reading(0, part.where, part.read(wanted.names), part))
        except InputError as error:
            bad += 1
            assert "line 152: z is 'broken'" in str(error) or "line 302: x is '3 fields instead of 5'" in str(error)
    assert bad == 2
    last = CsvSource([path], str(path), part_bytes=4_000).parts[-1]
    n = len(last.read(["x"])["x"])
    assert last.row_name(n - 1) == "line 402"  # the empty line counts


def test_rows_amiss_may_be_dropped_and_are_told(clean: pd.DataFrame, tmp_path: Path) -> None:
    path = spoilt(clean, tmp_path / "rows.csv")
    source = CsvSource([path], str(path), part_bytes=4_000)
    source.drop_bad = True
    model = SpatialRegressor(**FIXED, **PLACES).fit(source, target="z")
    good = clean.drop(index=[150, 300])
    whole = SpatialRegressor(**FIXED, **PLACES).fit(open_source(good), target="z")
    np.testing.assert_allclose(model.predict(clean[["x", "y"]]), whole.predict(clean[["x", "y"]]), rtol=1e-9)
    told = str(model.choices_["rows left out"])
    assert "2 of 400 rows are left out as invalid" in told and f"{path}, line 152: z is 'broken'" in told


def test_what_a_family_cannot_have_is_named_in_its_file(table: pd.DataFrame, tmp_path: Path) -> None:
    """By the row of the Parquet file, not that of the sample; dropped, the rest is fitted."""
    frame = table[["x", "y", "count"]].copy()
    frame.loc[[700, 1_600], "count"] = -1
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    given = {**FIXED, **PLACES, "family": "poisson"}
    with pytest.raises(InputError, match=r"rows\.parquet has .*row 701: y is -1.*needed is a count|Needed is a count"):
        SpatialRegressor(**given).fit(open_source(tmp_path / "rows.parquet", part_rows=500), target="count")
    source = open_source(tmp_path / "rows.parquet", part_rows=500, drop_bad=True)
    model = SpatialRegressor(**given).fit(source, target="count")
    assert "2 of 2,000 rows are left out as invalid" in str(model.choices_["rows left out"])


def test_a_place_off_the_earth_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    frame = table.rename(columns={"x": "lon", "y": "lat"})[["lon", "lat", "z"]].copy()
    frame.loc[5, "lat"] = 512.0
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InputError, match=r"rows\.csv has 1 of .*line 7: lon, lat are .*512"):
        SpatialRegressor(**FIXED).fit(tmp_path / "rows.csv", target="z")


def test_an_unknown_level_in_more_rows_is_named(table: pd.DataFrame, tmp_path: Path) -> None:
    frame = table[["x", "y", "z"]].assign(soil=np.where(table.height > 0, "clay", "sand"))
    model = SpatialRegressor(**FIXED, **PLACES, covariates=["soil"]).fit(open_source(frame), target="z")
    frame.iloc[:50].assign(soil=["loam" if i == 30 else "clay" for i in range(50)]).to_csv(
        tmp_path / "b.csv", index=False
    )
    with pytest.raises(InputError, match=r"b\.csv, line 32: 'soil' is 'loam', an unknown level"):
        like(model).partial_fit(tmp_path / "b.csv", target="z")


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("")
    with pytest.raises(InputError, match=r"rows\.csv is empty"):
        open_source(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("x,y,z\n")
    with pytest.raises(InputError, match=r"has columns \['x', 'y', 'z'\] but no rows"):
        SpatialRegressor(**FIXED, **PLACES).fit(tmp_path / "rows.csv", target="z")


def test_dates_are_read_alike_in_every_part(tmp_path: Path) -> None:
    """Days come first, as some row of the head shows and the first ones do not; one entry is no date."""
    days = pd.date_range("2020-01-06", periods=300, freq="D")
    table = pd.DataFrame({"x": np.arange(300.0), "day": days.strftime("%d.%m.%Y"), "z": 1.5})
    table.loc[200, "day"] = "soon"
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    wanted, source = Wanted(("x", "day"), (), {"target": "z"}, drop_bad=True), CsvSource([path], str(path), 1_000)
    found = [wanted.usable(reading) for reading in source.read(wanted.names)]
    read = np.concatenate([one.columns["day"] for one in found])
    np.testing.assert_array_equal(read, np.delete(days.to_numpy(dtype="datetime64[ns]"), 200))
    assert [text for one in found for text in one.amiss] == [f"{path}, line 202: day is 'soon'"]


def test_misprints_and_impossible_places_are_refused_in_one_message(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("lon,lat,z\n" + "".join(f"{k / 10},{k / 10},{k}\n" for k in range(20)) + "1,2,broken\n3,195,4\n")
    with pytest.raises(InputError, match=r"2 of 22 rows amiss .*line 22: z is 'broken'; line 23: .*195") as told:
        SpatialRegressor(**FIXED, coords=["lon", "lat"]).fit(open_source(path), target="z")
    assert "a place on Earth" in str(told.value)
