"""Tables as people have them: decimal commas, other encodings, Excel, degrees and minutes, words for a gap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner.exceptions import InputError
from bochner.geo import read_places
from bochner.geo.entries import as_number
from bochner.geo.kinds import is_category
from bochner.geo.lonlat import is_lonlat, lonlat_axes
from bochner.geo.tables import read_table
from bochner.sources.csv_source import CsvSource

FRENCH = """village;latitude;longitude;examinés;positifs;altitude
Bouaké;7,69;-5,03;120;33;1 234,5
Korhogo;9,46;-5,63;98;12;N/A
Man;7,41;-7,55;101;40;1.021,0
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_french_table_is_read_in_every_encoding(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(FRENCH.encode(encoding))
    places = read_places(tmp_path / "a.csv")
    assert places.coords == ("longitude", "latitude")
    assert_allclose(places.coordinates()[0], [-5.03, 7.69])
    assert_allclose(places.numbers(["altitude"]).to_numpy().ravel(), [1234.5, np.nan, 1021.0])
    assert list(places.frame["village"]) == ["Bouaké", "Korhogo", "Man"] and "examinés" in places.names
    told = " ".join(places.notes)
    assert "decimal commas" in told and "'N/A'" in told


def test_workbook_is_read(tmp_path):
    frame = pd.DataFrame({"lon": [1.5, 2.5], "lat": [4.0, 5.0], "name": ["a", "b"], "y": ["1,5", "n/a"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    places = read_places(tmp_path / "a.xlsx")
    assert_allclose(places.coordinates(), [[1.5, 4], [2.5, 5]])
    assert_allclose(places.numbers(["y"]).to_numpy().ravel(), [1.5, np.nan])


def test_degrees_minutes_and_seconds_are_degrees(tmp_path):
    rows = ['"12°30\'00""S","5°06\'N",1', '"12 15 36 S","5°12\'N",2', '"-12.5","5.25",3']
    (tmp_path / "a.csv").write_text("\n".join(["lat,lon,y", *rows]))
    places = read_places(tmp_path / "a.csv")
    assert_allclose(places.coordinates(), [[5.1, -12.5], [5.2, -12.26], [5.25, -12.5]])
    assert any("degrees, minutes and seconds" in note for note in places.notes)


@pytest.mark.parametrize(
    ("text", "commas", "number"),
    [("1,234", False, 1234), ("1,234", True, 1.234), ("1,234,567.5", False, 1234567.5), ("-0,5", True, -0.5),
     ("1 234 567", False, 1234567), ("1'234.5", False, 1234.5), ("3.2e5", False, 3.2e5), ("ND12", False, None),
     ("12;5", True, None), ("1.234.567", True, 1234567), ("N 12 30", False, 12.5), ("12°61'", False, None),
     ("2020-01-02", False, None), ("12:30", False, 12.5)],
)  # fmt: skip
def test_numbers_as_people_write_them(text, commas, number):
    found = as_number(text, commas)
    assert found == (None if number is None else pytest.approx(number))


def test_text_stays_text(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,kind,when,code\n1,2,clay,2020-01-02,A1\n2,3,sand,2020-01-03,B2\n3,4,NA,,C3\n")
    frame = read_places(tmp_path / "a.csv").frame
    assert list(frame["kind"][:2]) == ["clay", "sand"] and list(frame["code"]) == ["A1", "B2", "C3"]
    assert frame["kind"].isna().tolist() == [False, False, True]


def written(tmp_path, text: str):
    """A CSV, read whole and in parts; both have the same columns."""
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    whole, source = read_table(tmp_path / "a.csv"), CsvSource([tmp_path / "a.csv"], "a.csv")
    frame = whole.arrow.to_pandas()
    once = [name for name in source.names if source.names.count(name) == 1]
    parts = next(iter(source.read(once))).columns
    for name in once:
        assert [None if v is None or v != v else v for v in parts[name]] == [
            None if v is None or v != v else v for v in frame[name]
        ]
    assert [note for note in source.notes if "dates" not in note] == list(whole.notes)
    return frame, " ".join(whole.notes)


def test_points_part_thousands_beside_decimal_commas(tmp_path):
    frame, told = written(
        tmp_path, "lon;lat;pop;height;share\n-2,44;7,93;2.329;1.5;0.125\n-0,25;9,2;12.531;2.125;0.250\n"
    )
    assert frame["pop"].tolist() == [2329, 12531]
    assert frame["height"].tolist() == [1.5, 2.125]  # a column that mixes has decimals
    assert frame["share"].tolist() == [0.125, 0.25]  # and so has one below one
    assert "decimal commas are read in lon, lat; points part thousands in pop" in told


def test_points_are_decimals_where_no_comma_is(tmp_path):
    frame, told = written(tmp_path, "lon;lat;pop\n2.441;7.933;2.329\n0.248;9.198;2.531\n")
    assert frame["pop"].tolist() == [2.329, 2.531] and not told


def test_thousands_are_not_undone_by_another_column(tmp_path):
    frame, told = written(tmp_path, 'lon,lat,pop,answers\n-2.44,7.93,"8,654","1,2"\n-0.25,9.2,"6,732","1,2"\n')
    assert frame["pop"].tolist() == [8654, 6732]
    assert "thousands separators are read in pop" in told and "decimal commas are read in answers" in told
    frame, told = written(tmp_path, 'x,y,temp,depth\n"1,5","2,25","20,766","8,654"\n"2,5","3,75","18,627","6,732"\n')
    assert frame["temp"].tolist() == [20.766, 18.627] and frame["depth"].tolist() == [8.654, 6.732]


def test_lists_of_answers_stay_text(tmp_path):
    frame, _ = written(tmp_path, 'x,y,answers\n1,2,"1,2"\n2,3,"1,2,3"\n3,4,"2,3"\n')
    assert frame["answers"].tolist() == ["1,2", "1,2,3", "2,3"]


def test_words_of_a_category_are_levels_and_gaps_are_told(tmp_path):
    frame, told = written(
        tmp_path, "x,y,land,z\n1,2,none,1\n2,3,forest,none\n3,4,NA,3\n4,5,unknown,4\n5,6,-,5\n6,7,,6\n"
    )
    assert frame["land"].isna().tolist() == [False, False, True, False, True, True]
    assert frame["land"].tolist()[:2] == ["none", "forest"] and frame["land"][3] == "unknown"
    assert_allclose(frame["z"].astype(float), [1, np.nan, 3, 4, 5, 6])
    assert "'-', 'NA' in land stand for missing values" in told and "'none' in z stands for missing values" in told


def test_codes_with_leading_zeros_stay_text(tmp_path):
    frame, _ = written(tmp_path, "x,y,site,region,n\n1,2,00001,01,5\n2,3,00002,10,6\n3,4,00003,NA,7\n")
    assert frame["site"].tolist() == ["00001", "00002", "00003"] and frame["n"].tolist() == [5, 6, 7]
    assert frame["region"].tolist()[:2] == ["01", "10"] and frame["region"].isna()[2]
    assert is_category(frame["site"]) and is_category(frame["region"])
    many = pd.Series([f"{k:03}" for k in range(50)])
    assert is_category(many) and not is_category(many.str.lstrip("0"))


def test_names_are_read_without_blanks_around_them(tmp_path):
    frame, _ = written(tmp_path, "\ufeff lon ,lat , temp\n1,2,3\n2,3,4\n")
    assert list(frame) == ["lon", "lat", "temp"]


def test_two_columns_of_one_name_do_not_end_tidying(tmp_path):
    frame, told = written(tmp_path, "lon;lat;q;q\n-2,44;7,93;1;2\n-0,25;9,2;1;2\n")
    assert frame["lon"].tolist() == [-2.44, -0.25] and frame.iloc[:, 3].tolist() == [2, 2]
    assert "decimal commas are read in lon, lat." in told


def test_minus_signs_directions_and_percentages(tmp_path):
    text = "lon,lat,change,prev,part,zone\n2.44W,7.93N,−2.4,73.6%,5%,4N\n0.25E,9.2S,1.5,15%,0.2,3S\n"
    frame, told = written(tmp_path, text)
    assert_allclose(frame[["lon", "lat"]].to_numpy(), [[-2.44, 7.93], [0.25, -9.2]])
    assert frame["change"].tolist() == [-2.4, 1.5] and frame["prev"].tolist() == [0.736, 0.15]
    assert frame["part"].tolist() == ["5%", "0.2"] and frame["zone"].tolist() == ["4N", "3S"]
    assert "minus signs such as − are read in change" in told and "percentages are read in prev as shares" in told


@pytest.mark.parametrize(
    ("lat", "lon"),
    [("decimalLatitude", "decimalLongitude"), ("LATNUM", "LONGNUM"), ("Latitude (deg)", "Longitude (deg)"),
     ("lat_wgs84", "lon_wgs84"), ("GPS_lat", "GPS_lng"), ("site latitude", "site longitude")],
)  # fmt: skip
def test_degrees_are_known_by_unusual_names(tmp_path, lat, lon):
    (tmp_path / "a.csv").write_text(f"population,{lat},{lon},z\n5,7.93,-2.44,1\n6,9.2,-0.25,2\n")
    places = read_places(tmp_path / "a.csv")
    assert places.coords == (lon, lat) and places.crs is not None
    assert is_lonlat([lat, lon]) and lonlat_axes([lat, lon]) == (1, 0)
    named = read_places(tmp_path / "a.csv", coords=[lat, lon])
    assert named.coords == (lon, lat) and any("taken as degrees" in note for note in named.notes)


def test_unusual_names_of_other_numbers_are_no_degrees(tmp_path):
    (tmp_path / "a.csv").write_text("gps_long,gps_lat,z\n512345,9123456,1\n512399,9123499,2\n")
    assert read_places(tmp_path / "a.csv").crs is None
    for names in (["population", "colony"], ["lon_km", "lat_km"], ["lat_utm", "long_utm"], ["x", "y"]):
        assert not is_lonlat(names)


def test_rows_among_dates_are_named_and_dates_are_no_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,date\n1,2,25/06/2015\n2,3,26/06/2015\n3,4,soon\n4,5,unknown\n")
    places = read_places(tmp_path / "a.csv")
    assert places.bad_rows(["x", "y", "date"]) == {2: "date is 'soon', no date among dates"}
    with pytest.raises(InputError, match=r"'date' of a\.csv is a column of dates"):
        places.numbers(["date"])
