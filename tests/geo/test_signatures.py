"""Files that are named like tables and are something else."""

from __future__ import annotations

import pytest

from bochner.exceptions import InputError
from bochner.geo import read_table


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document"),
        (b"PK\x03\x04\x14\x00", "a zip archive or a workbook"),
        (b"\n<!DOCTYPE html><html><p>log in</p></html>", "a web page"),
        (b"lon,lat\n\x00\x01\x02\x80\n", "binary data"),
    ],
)
def test_a_file_that_is_no_text_is_told_as_what_it_is(tmp_path, head, told):
    path = tmp_path / "villages.csv"
    path.write_bytes(head)
    with pytest.raises(InputError, match=told) as refused:
        read_table(path)
    assert str(refused.value).isprintable() and "villages.csv" in str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_text_in_any_usual_encoding_is_read(tmp_path, encoding):
    path = tmp_path / "villages.csv"
    path.write_text("nom,lon,lat\nÉté,1.5,2.5\n", encoding=encoding)
    assert read_table(path).names == ["nom", "lon", "lat"]
