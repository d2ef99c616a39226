"""A browser, for the tests of every page; and what a quick run takes of the laws."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

# the same examples each time, however slow the machine: what a change broke is seen where it was made
settings.register_profile("same each time", derandomize=True, deadline=None)
settings.load_profile("same each time")

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


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, which a shell lets programs in its background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# registries times dimensions times sizes: thousands of cases, of which a quick run takes one in six
ROOMS = (
    *("laws", "nufft", "estimators", "inference", "posterior", "properties", "agreement", "paper", "validation"),
    *("kernels", "frequencies", "features", "moments", "solvers", "neighbours", "diagnostics", "maps"),
)
SAMPLED = (*(f"tests/{room}/" for room in ROOMS), "tests/test_tutorial.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the slow tests (``make test``) every law is tried on a sixth of its cases, the same each time."""
    if config.option.markexpr != "not slow" or config.option.keyword:
        return
    seen: set[str] = set()
    kept, left = [], []
    for item in items:
        law = item.nodeid.split("[")[0]
        always = not law.startswith(SAMPLED) or law not in seen or item.get_closest_marker("every_case") is not None
        seen.add(law)
        (kept if always or crc32(item.nodeid.encode()) % 6 == 0 else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: nothing of it is looked through each time that garbage is collected."""
    gc.collect()
    gc.freeze()
