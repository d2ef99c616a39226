"""A browser, for the tests of every page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

# of Debian's Chromium: nothing is asked of the network, of the GPU or of a profile
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; tests that need it are skipped, with the reason, where it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed (Debian, Ubuntu: apt install chromium), so no page can be opened")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield chromium
        chromium.close()
