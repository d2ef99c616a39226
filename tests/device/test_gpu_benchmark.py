"""`benchmarks/gpu.py` where there is no device: a line that says why, and no failure unless one is asked for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no benchmarks")


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--must",), 2), (("--must", "--only", "dense"), 2)])
def test_without_a_device_it_is_said_that_nothing_is_measured(options, code, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("gpu_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr("bochner.device.accelerator.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["gpu.py", *options])
    with pytest.raises(SystemExit) as stop:
        module.main()
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (code, "")
    assert said.err.startswith("nothing is measured: device='cuda' needs PyTorch") and said.err.count("\n") == 1
