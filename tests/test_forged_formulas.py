"""Formulas: what formulaic would run as Python is refused, in a formula and in a model file that holds one."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from bochner import SpatialRegressor, load
from bochner.exceptions import ArchiveError, InputError
from bochner.layout import parse_formula

USUAL = (
    *("log(b + 1)", "a:b", "`odd name`", "C(x, contr.treatment(base='a'))", "poly(x, degree=2)", "bs(x, df=4)"),
    *("I(a**2)", "{a*2}", "(a+b)**2", "a % b", "np.log1p(x)", "I(a > 3)", "Q('odd name')", "bs(x, knots=[1,2])"),
    *("a*b - a", "größe", "C(`odd name`)"),
)
RUNNING = (
    *("__import__('os')", "a.b", "a[0]", "(lambda: 0)()", "f'{1}'", "I(f'{1}')", "eval('1')", "np.load('x')"),
    *("np.lib.x(1)", "x(1)", "I((1).real)", "I(x.__class__)", "hashed(x)", "I([].append(1))", "I('a'.join)"),
    *("I(b'x')", "{exec}", "x;y", "I(x if y else z)", "I([i for i in x])", "C(x)(y)", "I(`x`(1))", "I('''x''')"),
)


@pytest.mark.parametrize("term", USUAL)
def test_columns_and_transforms_are_taken(term):
    assert parse_formula(f"y ~ {term} + gp(a, b)").terms


@pytest.mark.parametrize("term", RUNNING)
def test_what_would_run_is_refused(term):
    with pytest.raises(InputError, match="neither a column nor a transform"):
        parse_formula(f"y ~ {term} + gp(a, b)")


def test_a_forged_formula_runs_nothing(tmp_path):
    """The terms of a model file are evaluated when it predicts: they are held to the same words."""
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("formulaic")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(1, 2, size=(30, 4)), columns=["lon", "lat", "z", "y"])
    SpatialRegressor.from_formula("y ~ log(z) + gp(lon, lat)", tune=None).fit(table).save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    code = f"log(z + 0*__import__('os').mkdir('{tmp_path / 'ran'}'))"
    manifest = parts["manifest.json"].decode().replace("log(z)", json.dumps(code)[1:-1])
    with zipfile.ZipFile(tmp_path / "bad", "w") as file:
        for name, data in {**parts, "manifest.json": manifest.encode()}.items():
            file.writestr(name, data)
    with pytest.raises(ArchiveError, match="neither a column nor a transform"):
        load(tmp_path / "bad").predict(table)
    assert not (tmp_path / "ran").exists()
