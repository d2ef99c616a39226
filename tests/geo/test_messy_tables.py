"""Tables as people have them: decimal commas, other encodings, Excel, degrees and minutes, words for a gap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner.geo import read_places
from bochner.geo.entries import as_number

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
