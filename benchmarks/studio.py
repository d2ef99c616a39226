"""The studio in a real browser: first paint, file to map, frames of the threshold slider, memory of the page.

    python benchmarks/studio.py [--side 1000] [--visits 3]

Needs the extra `studio`, playwright and Chromium. A studio of its own is started on a temporary folder. `first paint`
is what the browser reports, of the first visit after the start and of the median of more; `file to map` is a survey of
60 rows, from the drop to a drawn map, with the model left to the library. The slider is moved once a frame over a map
of side x side pixels, which is sent as the server sends it: frames per second, the slowest of twenty, and the time that
the processors worked for one, which other work on the machine does not change.
Memory is that of the page's process with that map, as the system counts it. Targets: 1 s, 30 frames, 500 MB.
Chromium draws without a GPU here, so a desktop is quicker.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.conftest import FLAGS  # noqa: E402
from tests.studio.browsing import drop, large_map, messy_table, running_studio  # noqa: E402

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> None:
    """Measure, and print a table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--visits", type=int, default=3)
    options = parser.parse_args()
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, running_studio(Path(folder) / "projects") as address:
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=program, args=list(FLAGS))
            for name, value in measured(chromium, address, Path(folder), options):
                print(f"{name:44s} {value}", flush=True)
            chromium.close()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{'load of the machine, processors':44s} {load:.1f}, {os.cpu_count()}")


def measured(chromium: Any, address: str, folder: Path, options: argparse.Namespace) -> Any:
    """Names and values, one after the other."""
    paints = [painted(chromium, address) for _ in range(1 + options.visits)]
    yield "first paint, first visit", f"{paints[0]:.2f} s"
    yield f"first paint, median of {options.visits} more", f"{np.median(paints[1:]):.2f} s"
    page, seconds = mapped(chromium, address, folder)
    yield "file to map, 60 rows", f"{seconds:.1f} s"
    enlarge(page, options.side)
    before = browser_seconds()
    frames = np.array(page.evaluate((ROOT / "tests/studio/slide.js").read_text()))
    busy = 1000 * (browser_seconds() - before) / len(frames)
    size = f"{options.side} x {options.side}"
    slow = np.quantile(frames[5:], 0.95)
    yield f"slider, {size}", f"{1000 / frames[5:].mean():.0f} frames/s, slow ones {slow:.0f} ms"
    yield f"slider, {size}, CPU of the browser", f"{busy:.0f} ms a frame"
    yield f"page with {size}, process", f"{renderer_bytes() / 1e6:.0f} MB"
    yield f"page with {size}, JavaScript heap", f"{page.evaluate('performance.memory.usedJSHeapSize') / 1e6:.0f} MB"


def painted(chromium: Any, address: str) -> float:
    """Seconds to the first paint of a new visitor."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    seconds = page.evaluate(PAINT) / 1000
    context.close()
    return float(seconds)


def mapped(chromium: Any, address: str, folder: Path) -> tuple[Any, float]:
    """A page with the map of a survey, and the seconds from the drop of its file."""
    page = chromium.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.set_default_timeout(300_000)
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    started = time.perf_counter()
    drop(page, "#drop", messy_table(folder / "survey.csv"))
    page.check("#drop-bad")
    page.click("#fit")
    page.wait_for_selector("#map-card #map")
    return page, time.perf_counter() - started


def enlarge(page: Any, side: int) -> None:
    """The same page with a map of side x side pixels."""
    page.route(re.compile(r"/fits/\d+/map$"), lambda route: route.fulfill(json=large_map(side)))
    page.reload()
    page.wait_for_selector("#map-card #map")
    page.wait_for_selector("#check-body .tiles")
    page.wait_for_timeout(1000)


def renderer_bytes() -> int:
    """Resident memory of the largest process that draws pages."""
    return max(one.memory_info().rss for one in browser_processes() if "--type=renderer" in one.cmdline())


def browser_seconds() -> float:
    """Time that the processors worked for the browser: on a busy machine the better measure."""
    return float(sum(one.cpu_times().user + one.cpu_times().system for one in browser_processes()))


def browser_processes() -> list[Any]:
    """Processes of Chromium."""
    import psutil

    return [one for one in psutil.Process().children(recursive=True) if "chrom" in one.name()]


if __name__ == "__main__":
    main()
