"""Which back end runs, and what is said when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from bochner import nufft
from bochner.exceptions import InputError, MissingExtraError
from bochner.nufft import backends


@pytest.fixture
def installed(monkeypatch):
    """Pretend that only some back ends can run."""
    monkeypatch.delenv(backends.VARIABLE, raising=False)

    def pretend(*names):
        present = {*names, "built-in"}
        monkeypatch.setattr(backends, "obstacle", lambda name: "" if name in present else "not installed")

    return pretend


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        (("finufft", "jax-finufft", "ducc0"), "ducc0"),
        (("finufft", "jax-finufft"), "finufft"),
        (("jax-finufft",), "jax-finufft"),
        ((), "built-in"),
    ],
)
def test_first_that_is_installed_runs(installed, present, chosen):
    """ducc0, finufft, jax-finufft, built-in, in this order, and those passed over are named."""
    installed(*present)
    choice = nufft.backend()
    assert choice.name == chosen
    for passed in backends.ORDER[: backends.ORDER.index(chosen)]:
        assert f"{passed}: not installed" in choice.reason
    assert str(choice) == f"{choice.name} ({choice.reason})"


def test_variable_forces_and_argument_wins(installed, monkeypatch):
    """BOCHNER_NUFFT beats the order, backend= beats BOCHNER_NUFFT, and both are told."""
    installed("finufft", "ducc0")
    monkeypatch.setenv(backends.VARIABLE, "finufft")
    assert nufft.backend().name == "finufft" and backends.VARIABLE in nufft.backend().reason
    choice = nufft.backend("built-in")
    assert choice.name == "built-in" and "backend=" in choice.reason
    assert nufft.Plan(np.zeros((1, 1)), 3, eps=1e-6, backend="built-in").backend == "built-in"
    monkeypatch.setenv(backends.VARIABLE, "")
    assert nufft.backend().name == "ducc0"


@pytest.mark.parametrize("name", ["finufft", "jax-finufft", "ducc0"])
def test_missing_back_end_says_what_to_install(installed, monkeypatch, name):
    """Forced by argument or by variable."""
    installed()
    with pytest.raises(MissingExtraError, match="pip install"):
        nufft.type1(np.zeros((1, 1)), np.ones(1), 3, eps=1e-6, backend=name)
    monkeypatch.setenv(backends.VARIABLE, name)
    with pytest.raises(ImportError, match=backends.VARIABLE):
        nufft.backend()


def test_unknown_back_end_names_the_known(monkeypatch):
    """A typing error in the variable is not passed over."""
    monkeypatch.setenv(backends.VARIABLE, "finuft")
    with pytest.raises(InputError, match=r"BOCHNER_NUFFT.*ducc0, finufft, jax-finufft, built-in"):
        nufft.backend()


def test_broken_installation_is_passed_over(monkeypatch):
    """A package that is there but cannot be imported counts as an obstacle, with its reason."""
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda package: object())
    monkeypatch.setitem(sys.modules, "finufft", None)  # makes the import raise
    assert "import failed" in backends.obstacle.__wrapped__("finufft")


def test_import_loads_no_back_end():
    """`import bochner.nufft` is free."""
    program = "import sys, bochner.nufft; print({'finufft', 'ducc0', 'jax', 'scipy.sparse'} & set(sys.modules))"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, "-c", program], env=path, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
