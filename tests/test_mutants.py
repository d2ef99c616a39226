"""The faults of `make mutants`: every one is a program, differs from the source, and would be noticed."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

import bochner.geo.earth  # noqa: F401 - dataclasses look their module up

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "mutants.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no benchmarks")


@pytest.fixture(scope="module")
def mutants():
    import sys

    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutants"]


def test_every_fault_is_another_program(mutants):
    path = mutants.SOURCE / "geo" / "earth.py"
    plain = ast.unparse(ast.parse(path.read_text()))
    faults = mutants.mutants_of(path)
    assert len(faults) > 100
    for fault in faults[::7]:
        source = mutants.mutated(path, fault)
        ast.parse(source)
        assert source != plain
        assert len(source.splitlines()) == len(plain.splitlines())


@pytest.mark.slow
def test_the_sample_is_that_of_its_seed(mutants):
    first, again, other = (mutants.sampled(30, seed, "") for seed in (0, 0, 1))
    assert first == again != other
    assert {fault.file.split("/")[0] for fault in first} <= set(mutants.ROOMS)


def test_a_fault_of_the_curvature_changes_it(mutants):
    path = mutants.SOURCE / "geo" / "earth.py"
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "w2 = 1 - E2" in text)
    faults = [fault for fault in mutants.mutants_of(path) if fault.line == line]
    assert len(faults) >= 3
    for fault in faults:
        space = {"__name__": "bochner.geo.earth"}
        exec(compile(mutants.mutated(path, fault), "earth", "exec"), space)
        meridian, vertical = space["curvature_radii"](45.0)
        assert abs(meridian - 6367.382) + abs(vertical - 6388.838) > 1


def test_what_cannot_matter_is_no_fault(mutants, tmp_path, monkeypatch):
    """Sizes of blocks, and what words an error; the condition of the error, and a count that is no block, stay."""
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(
        "def f(n, y):\n"
        "    size = max(1, limits.ROWS // (2 * n))\n"
        "    every = max(1, n // limits.MOST)\n"
        "    if n > 3:\n"
        "        near = y[0] + 1\n"
        "        raise ValueError(near)\n"
        "    return size * every\n"
    )
    assert {fault.line for fault in mutants.mutants_of(path)} == {3, 4, 7}
