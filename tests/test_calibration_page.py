"""The page of calibration: what people wrote on it is written by what makes it, and so is not lost when it is made."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="a source distribution has no benchmarks")


def test_the_page_holds_the_words_of_what_makes_it():
    spec = importlib.util.spec_from_file_location("calibration_page", ROOT / "benchmarks" / "calibration_page.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    cell = {"regime": "held", "family": "gaussian", "scheme": "exact", "n": 50, "check": [], "spread": 1.0}
    made = maker.text_of(
        maker.cells_of([{**cell, "latent": 0.95, "new": 0.95, "latent_ranks": [10] * 10, "new_ranks": [10] * 10}] * 2),
        "calibration.svg",
    )
    assert maker.OUTSIDE in page and maker.OUTSIDE in made
